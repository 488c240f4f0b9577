"""What a drafter in a GGUF file learns: torch trains it, llama.cpp applies it, and both compute the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from engine.speculation.drafter.adapter import Adapter, LowRank, matrix_sizes
from engine.speculation.drafter.gguf import GgufDrafter, load_gguf
from engine.speculation.drafter.gguf_adapter import adapter_file, check_tensors
from engine.speculation.drafter.gguf_shape import GgufModel, read_gguf_model
from engine.speculation.drafter.gguf_weights import addition_of, stored_weights
from engine.speculation.drafter.interface import LogitRow
from engine.speculation.drafter.shape import LlamaShape, Rope
from engine.speculation.learning.adapting import AdaptedModel
from engine.speculation.model.files.sources import starter_path
from engine.values.errors import AdapterUnusable, DrafterUnusable, TargetUnusable
from engine.values.stop_signal import StopSignal
from tests.fakes.tiny_models import tiny_gemma3, tiny_llama, tiny_mamba, tiny_qwen2, tiny_qwen3
from tests.gemma import gemma_path

_RANK = 4
_TOKENS = [1, *range(100, 140)]


def of_variant(**changes: Any) -> Callable[[LlamaShape], LlamaShape]:
    return lambda shape: replace(shape, variant=replace(shape.variant, **changes))


def of_windows(**changes: Any) -> Callable[[LlamaShape], LlamaShape]:
    def change(shape: LlamaShape) -> LlamaShape:
        assert shape.variant.windows is not None
        return of_variant(windows=replace(shape.variant.windows, **changes))(shape)

    return change


CHANGES = {
    "another gate": of_variant(gelu=False),
    "a plain embedding": of_variant(scales_embedding=False),
    "no windows": of_variant(windows=None),
    "larger windows": of_windows(num_tokens=9),
    "smaller windows": of_windows(num_tokens=7),
    "other layers": of_windows(period=7),
    "other rotations in windows": of_windows(rope=Rope(1_000_000.0)),
    "other rotations outside": lambda shape: replace(shape, rope=Rope(10_000.0)),
}


def some_adapter(model: GgufModel, size: float) -> Adapter:
    """As it comes out of the store; `size` is that of the additions."""
    dice = torch.Generator().manual_seed(1)
    parts = {
        name: LowRank(
            torch.randn((_RANK, inputs), generator=dice) / inputs**0.5,
            torch.randn((outputs, _RANK), generator=dice) * size,
        )
        for name, (outputs, inputs) in matrix_sizes(model.shape).items()
    }
    return Adapter.from_bytes(Adapter(parts).to_bytes(), model.shape)


def load(path: Path) -> GgufDrafter:
    return load_gguf(path, path.stem, True, StopSignal(), path.parent / "adapters")[0]


def in_torch(model: GgufModel, adapter: Adapter | None, tokens: Sequence[int] = _TOKENS) -> LogitRow:
    """Logits after the tokens."""
    trained = AdaptedModel(model.shape, stored_weights(model), _RANK, len(tokens))
    if adapter is not None:
        trained.start_from(adapter)
    with torch.no_grad():
        row: LogitRow = trained.logits(trained.states(tokens)[-1:])[0].numpy()
        return row


@pytest.mark.parametrize("make", [tiny_llama, tiny_qwen2, tiny_qwen3, tiny_gemma3])
def test_both_compute_the_same_with_it_and_without(make: Callable[[Path], Path], tmp_path: Path) -> None:
    """One has its embedding for its head and queries in llama.cpp's own order, the next biases and its own head."""
    path = make(tmp_path / "tiny.gguf")
    model, drafter = read_gguf_model(path), load(path)
    adapter = some_adapter(model, 0.1)
    plain = drafter.read(_TOKENS).copy()
    np.testing.assert_allclose(plain, in_torch(model, None), atol=0.05)  # torch computes with 8 bits of precision
    assert not drafter.refresh()
    drafter.offer(addition_of(model, adapter))
    assert drafter.refresh()
    assert drafter.num_held == 0
    learned = drafter.read(_TOKENS).copy()
    wanted = in_torch(model, adapter)
    assert np.abs(learned - plain).max() > 0.5
    np.testing.assert_allclose(learned, wanted, atol=0.05)
    assert drafter.refresh(is_original=True)
    np.testing.assert_array_equal(drafter.read(_TOKENS), plain)
    assert not drafter.refresh(is_original=True)
    assert drafter.refresh()
    np.testing.assert_array_equal(drafter.read(_TOKENS), learned)
    drafter.roll_back(len(_TOKENS) - 1)
    np.testing.assert_allclose(drafter.read(_TOKENS[-1:]), learned, atol=5e-3)  # 8 bits of states, too
    drafter.offer(None)
    assert drafter.refresh()
    np.testing.assert_array_equal(drafter.read(_TOKENS), plain)
    assert not [*(tmp_path / "adapters").iterdir()], "what was learned is left nowhere"


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_gemma_does_otherwise_counts(change: Callable[[LlamaShape], LlamaShape], tmp_path: Path) -> None:
    """So that the tolerance above would show what is wrong."""
    path = tiny_gemma3(tmp_path / "tiny.gguf")
    model, drafter = read_gguf_model(path), load(path)
    wrong = in_torch(replace(model, shape=change(model.shape)), None)
    assert np.abs(drafter.read(_TOKENS) - wrong).max() > 0.2


@pytest.mark.gemma
def test_gemma_learns_behind_its_windows(tmp_path: Path) -> None:
    model = read_gguf_model(gemma_path())
    drafter, vocabulary = load_gguf(gemma_path(), "Gemma", True, StopSignal(), tmp_path)
    text = " ".join(f"On day {day} the boat leaves at {day + 4} with {day * 3} people." for day in range(40))
    tokens = vocabulary.encode(text.encode())
    assert tokens is not None
    assert len(tokens) > 512
    adapter, plain = some_adapter(model, 0.05), drafter.read(tokens).copy()
    error = (plain - in_torch(model, None, tokens)).std()
    assert error < 0.1 * plain.std()
    drafter.offer(addition_of(model, adapter))
    drafter.refresh()
    learned, wanted = drafter.read(tokens).copy(), in_torch(model, adapter, tokens)
    assert (learned - wanted).std() < 0.25 * (learned - plain).std()
    assert learned.argmax() == wanted.argmax()


@pytest.mark.starter
def test_the_starter_takes_it_up_and_gives_it_back(tmp_path: Path) -> None:
    model = read_gguf_model(starter_path())
    drafter = load_gguf(starter_path(), "starter", True, StopSignal(), tmp_path)[0]
    adapter = some_adapter(model, 0.15)
    plain = drafter.read(_TOKENS).copy()
    drafter.offer(addition_of(model, adapter))
    drafter.refresh()
    learned, wanted = drafter.read(_TOKENS).copy(), in_torch(model, adapter)
    error, effect = (learned - wanted).std(), (learned - plain).std()
    assert error < 0.25 * effect, "llama.cpp rounds states to 8 bits, torch to those of bfloat16"
    drafter.offer(None)
    drafter.refresh()
    np.testing.assert_array_equal(drafter.read(_TOKENS), plain)


def test_what_llama_cpp_would_end_the_process_over_is_kept_from_it(tmp_path: Path) -> None:
    model = read_gguf_model(tiny_llama(tmp_path / "tiny.gguf"))
    tensors = dict(addition_of(model, some_adapter(model, 0.1)).tensors)
    check_tensors(model, tensors)
    name = "blk.0.attn_q.weight.lora_"
    for hostile in (
        {f"token_embd.weight.lora_{each}": tensors[name + each] for each in "ab"},
        {f"output.weight.lora_{each}": tensors[name + each] for each in "ab"},
        {f"blk.0.attn_norm.weight.lora_{each}": tensors[name + each] for each in "ab"},
        {name + "a": tensors[name + "a"]},
        {name + "a": tensors[name + "a"][:, :32], name + "b": tensors[name + "b"]},
        {name + "a": tensors[name + "a"], name + "b": tensors[name + "b"][:, :2]},
        {name + "a": tensors[name + "a"][:0], name + "b": tensors[name + "b"][:, :0]},
    ):
        others = {each: tensor for each, tensor in tensors.items() if not each.startswith(name)}
        with pytest.raises(AdapterUnusable, match="belongs to another drafter"):
            check_tensors(model, others | hostile)
    broken = tensors[name + "a"].copy()
    broken[0, 0] = np.nan
    with pytest.raises(AdapterUnusable, match="contains no numbers"):
        check_tensors(model, tensors | {name + "a": broken})
    of_another = some_adapter(read_gguf_model(tiny_qwen2(tmp_path / "qwen2.gguf")), 0.1)
    with pytest.raises(AdapterUnusable, match="belongs to another drafter"):
        Adapter.from_bytes(of_another.to_bytes(), model.shape)


def test_a_file_that_llama_cpp_refuses_costs_only_what_was_learned(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tiny_llama(tmp_path / "tiny.gguf")
    model, drafter = read_gguf_model(path), load(path)
    plain = drafter.read(_TOKENS).copy()
    addition = addition_of(model, some_adapter(model, 0.1))
    with adapter_file(tmp_path, "qwen2", addition.tensors) as file, pytest.raises(TargetUnusable, match="mismatch"):
        drafter._model.use_adapter(file)
    drafter.offer(replace(addition, architecture="qwen2"))
    assert drafter.refresh()
    assert "goes on without what it has learned" in caplog.text
    np.testing.assert_array_equal(drafter.read(_TOKENS), plain)


def test_only_models_that_are_known_in_every_part_learn(tmp_path: Path) -> None:
    for path in (tiny_mamba(tmp_path / "mamba.gguf"), tiny_gemma3(tmp_path / "capped.gguf", cap=30.0)):
        with pytest.raises(DrafterUnusable, match="not a Llama-type model"):
            read_gguf_model(path)
