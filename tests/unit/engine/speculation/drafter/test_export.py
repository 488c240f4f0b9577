"""A drafter that is written for other programs computes there what it computes here, with what it learned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from tokenizers import Tokenizer, decoders, models
from tokenizers.pre_tokenizers import ByteLevel

from engine.speculation.drafter.adapter import Adapter, LowRank, matrix_sizes
from engine.speculation.drafter.checkpoint import load_drafter
from engine.speculation.drafter.export_check import check_folder, check_gguf, check_vllm
from engine.speculation.drafter.folder_export import write_folder
from engine.speculation.drafter.gguf import load_gguf
from engine.speculation.drafter.gguf_export import GgufOrder, in_8_bits, write_gguf
from engine.speculation.drafter.gguf_shape import read_gguf_model
from engine.speculation.drafter.gguf_weights import dense_weights
from engine.speculation.drafter.interface import FloatRow
from engine.speculation.drafter.matrices import WeightForm
from engine.speculation.drafter.merged import MergedDrafter
from engine.speculation.drafter.shape import LlamaShape
from engine.speculation.model.files.gguf_header import read_header
from engine.values.errors import AdapterUnusable, DrafterUnusable
from engine.values.stop_signal import StopSignal
from tests.fakes.tiny_models import tiny_llama, tiny_qwen2
from tests.unit.engine.speculation.drafter.checkpoints import random_llama, save

_TOKENS = [1, *range(100, 140)]
_SAMPLES = [_TOKENS, _TOKENS[10:20]]
_STRETCHED = {
    "rope_type": "llama3",
    "rope_theta": 10_000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}


def learned(shape: LlamaShape, head: bool = True) -> Adapter:
    dice = torch.Generator().manual_seed(1)
    return Adapter(
        {
            name: LowRank(
                torch.randn((4, inputs), generator=dice) / inputs**0.5, torch.randn((outputs, 4), generator=dice) / 10
            )
            for name, (outputs, inputs) in matrix_sizes(shape).items()
            if head or name != "head"
        }
    )


def of_file(path: Path, adapter: Adapter | None, num_tokens: int | None = None) -> MergedDrafter:
    model = read_gguf_model(path)
    return MergedDrafter(
        "tiny", model.shape, dense_weights(model), adapter, num_tokens or model.shape.vocabulary, _SAMPLES
    )


def of_folder(folder: Path, num_tokens: int, with_adapter: bool = True) -> MergedDrafter:
    model = load_drafter(folder, "cpu", form=WeightForm.DENSE).model
    adapter = learned(model.shape) if with_adapter else None
    return MergedDrafter("tiny", model.shape, model.weights, adapter, num_tokens, _SAMPLES)


def few_tokens() -> Tokenizer:
    """A token for each byte."""
    tokenizer = Tokenizer(models.BPE({sign: token for token, sign in enumerate(sorted(ByteLevel.alphabet()))}, []))
    tokenizer.pre_tokenizer, tokenizer.decoder = ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return tokenizer


def in_llama_cpp(path: Path) -> FloatRow:
    drafter, _ = load_gguf(path, path.stem, True, StopSignal())
    return drafter.read(_TOKENS).copy()


@pytest.mark.parametrize("make", [tiny_llama, tiny_qwen2])
@pytest.mark.parametrize("bits", [8, 16])
def test_a_file_with_what_was_learned(make: Callable[[Path], Path], bits: int, tmp_path: Path) -> None:
    path, out = make(tmp_path / "tiny.gguf"), tmp_path / "out.gguf"
    model = read_gguf_model(path)
    drafter = of_file(path, learned(model.shape))
    write_gguf(out, drafter, GgufOrder(path, model, bits))
    want = drafter.computed().read(_TOKENS)
    assert np.abs(in_llama_cpp(out) - want).max() < (0.2 if bits == 8 else 0.02) * np.abs(want).max()
    assert np.abs(in_llama_cpp(path) - want).max() > 0.3 * np.abs(want).max()  # it has learned something
    assert "of 2 likeliest next tokens are the same" in check_gguf(out, drafter).proven[0]
    assert read_header(out).length("tokenizer.ggml.tokens") == model.shape.vocabulary
    with pytest.raises(AdapterUnusable, match="does not compute the same"):
        check_gguf(path, drafter)


def test_what_has_not_changed_is_copied_as_it_is(tmp_path: Path) -> None:
    path, out = tiny_llama(tmp_path / "tiny.gguf"), tmp_path / "out.gguf"
    model = read_gguf_model(path)
    drafter = of_file(path, None)
    write_gguf(out, drafter, GgufOrder(path, model, 8))
    before, after = read_header(path), read_header(out)
    data, written = path.read_bytes(), out.read_bytes()
    assert before.tensors.keys() == after.tensors.keys()
    for name, place in before.tensors.items():
        new = after.tensors[name]
        assert data[place.start :][: place.num_bytes] == written[new.start :][: new.num_bytes]
    assert after.values["general.name"] == "tiny, drafter"
    assert {key: value for key, value in after.values.items() if key.startswith("tokenizer.")} == {
        key: value for key, value in before.values.items() if key.startswith("tokenizer.")
    }


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tie_word_embeddings": False, "attention_bias": True, "mlp_bias": True},
        {"rope_parameters": _STRETCHED},
        {"rope_parameters": {"rope_type": "linear", "rope_theta": 5000.0, "factor": 4.0}},
    ],
)
def test_a_folder_becomes_a_file_and_a_folder(changes: dict[str, Any], tmp_path: Path) -> None:
    """The file takes its vocabulary from the target's, which has a few tokens more."""
    target = tiny_llama(tmp_path / "target.gguf")
    num_tokens = read_gguf_model(target).shape.vocabulary
    # llama.cpp takes heads of 16 and more numbers.
    model = random_llama(vocab_size=num_tokens - 2, hidden_size=64, num_attention_heads=4, **changes)
    folder = save(model, tmp_path / "drafter", few_tokens())
    drafter = of_folder(folder, num_tokens)
    out, copy = tmp_path / "out.gguf", tmp_path / "copy"
    write_gguf(out, drafter, GgufOrder(target, None, 16))
    assert check_gguf(out, drafter).proven
    own = drafter.computed().read(_TOKENS)
    row = in_llama_cpp(out)
    assert len(row) == num_tokens
    assert np.abs(row[: len(own)] - own).max() < 0.02 * np.abs(own).max()
    copy.mkdir()
    write_folder(copy, drafter, folder, "card")
    assert check_folder(copy, drafter).proven
    assert "lm_head.weight" in load_file(copy / "model.safetensors")  # an addition to the head unties it
    assert load_drafter(copy, "cpu").model.shape.vocabulary == num_tokens


@pytest.mark.parametrize("make", [tiny_llama, tiny_qwen2])
def test_a_file_becomes_a_folder(make: Callable[[Path], Path], tmp_path: Path) -> None:
    path = make(tmp_path / "tiny.gguf")
    drafter = of_file(path, learned(read_gguf_model(path).shape, head=False))
    folder = tmp_path / "folder"
    folder.mkdir()
    write_folder(folder, drafter, path, "card")
    assert check_folder(folder, drafter).proven
    assert ("lm_head.weight" in load_file(folder / "model.safetensors")) == (make is tiny_qwen2)
    with pytest.raises(AdapterUnusable, match="transformers does not compute the same"):
        check_folder(folder, of_file(path, None))


def test_tokens_that_it_cannot_guess_are_never_likely(tmp_path: Path) -> None:
    folder = save(random_llama(), tmp_path / "drafter")
    (folder / "config.json").write_text(
        (folder / "config.json").read_text().replace("{", '{"num_output_tokens": 100,', 1)
    )
    drafter = of_folder(folder, 520)
    head = dict(drafter.named())["lm_head.weight"]
    assert head.shape == (520, 48)
    states = torch.randn(1000, 48)
    logits = states @ head.T
    assert (logits[:, 100:] == logits[:, 100:101]).all()
    assert (logits[:, 100:101] == logits[:, :100]).any(1).all()  # as the least likely of the others


def test_other_programs_are_told_of_shapes_they_do_not_know(tmp_path: Path) -> None:
    path = tiny_qwen2(tmp_path / "tiny.gguf")
    drafter = of_file(path, None)
    odd = MergedDrafter(
        "odd",
        LlamaShape(**{**_fields(drafter.shape), "qkv_bias": False, "attention_out_bias": True}),
        drafter.own,
        None,
        drafter.num_tokens,
        _SAMPLES,
    )
    (tmp_path / "folder").mkdir()
    with pytest.raises(DrafterUnusable, match="biases"):
        write_folder(tmp_path / "folder", odd, path, "card")


def _fields(shape: LlamaShape) -> dict[str, Any]:
    return {name: getattr(shape, name) for name in LlamaShape.__dataclass_fields__}


_FAKE_VLLM = """
import pathlib
class LLM:
    def __init__(self, model, **options):
        assert pathlib.Path(model, "config.json").exists(), "no config in it"
"""


def test_vllm_is_asked_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "not installed" in check_vllm(tmp_path).unproven[0]
    (tmp_path / "vllm.py").write_text(_FAKE_VLLM)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(DrafterUnusable, match="no config in it"):
        check_vllm(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    assert check_vllm(tmp_path).proven == ("vLLM loads it.",)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6), st.integers(1, 4), st.floats(1e-2, 100), st.integers(0, 2**32))
def test_eight_bits_lose_nothing_on_average(rows: int, blocks: int, size: float, seed: int) -> None:
    numbers = np.random.default_rng(seed).normal(0, size, (rows, 32 * blocks)).astype(np.float32)
    stored = in_8_bits(numbers, seed).reshape(rows, blocks, 34)
    scales = stored[..., :2].copy().view(np.float16).astype(np.float32)
    read = (stored[..., 2:].view(np.int8) * scales).reshape(rows, -1)
    assert np.abs(read - numbers).max() <= scales.max() * 1.2 + 1e-7  # a step, and what float16 makes of it
