from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.speculation.drafter.checkpoint import choose_device, load_drafter
from engine.speculation.drafter.config_file import shape_of
from engine.speculation.drafter.loading import SCALES
from engine.speculation.drafter.matrices import Int8Rows, WeightForm
from engine.speculation.drafter.model import most_held
from engine.values.errors import DrafterUnusable
from tests.unit.engine.speculation.drafter.checkpoints import LLAMA_68M, SMALL, random_llama, reference_logits, save

_TOKENS = list(range(40, 70))
_WEIGHTS = "model.safetensors"


def _edit_config(folder: Path, **changes: Any) -> None:
    file = folder / "config.json"
    config = json.loads(file.read_text())
    file.write_text(json.dumps({key: value for key, value in (config | changes).items() if value is not ...}))


def _edit_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    weights = load_file(folder / _WEIGHTS)
    change(weights)
    save_file(weights, folder / _WEIGHTS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save(random_llama(), tmp_path / "a drafter")


def test_a_checkpoint_in_several_files_is_the_same_drafter(tmp_path: Path, folder: Path) -> None:
    sharded = save(random_llama(), tmp_path / "sharded", max_shard_size="50KB")
    assert len(list(sharded.glob("*.safetensors"))) > 1
    one, several = load_drafter(folder, "cpu"), load_drafter(sharded, "cpu")
    np.testing.assert_array_equal(one.model.read(_TOKENS), several.model.read(_TOKENS))
    assert one.fingerprint == several.fingerprint
    assert (one.name, several.name) == ("a drafter", "sharded")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_any_kind_of_float_is_read_as_32_bits_on_a_cpu(tmp_path: Path, dtype: torch.dtype) -> None:
    model = random_llama()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(weight.to(dtype))  # rounded
    save(model, tmp_path)
    _edit_weights(tmp_path, lambda weights: weights.update({name: weights[name].to(dtype) for name in weights}))
    drafter = load_drafter(tmp_path, "cpu", form=WeightForm.DENSE).model
    assert drafter.weights.final_norm.dtype is torch.float32
    expected = reference_logits(model, _TOKENS)[-1].numpy()
    np.testing.assert_allclose(drafter.read(_TOKENS), expected, atol=2e-4)


def test_names_without_their_usual_beginning_are_those_of_the_same_drafter(tmp_path: Path, folder: Path) -> None:
    bare = save(random_llama(), tmp_path / "bare")
    weights = load_file(bare / _WEIGHTS)
    save_file(
        {name.removeprefix("model."): weight for name, weight in weights.items()},
        bare / _WEIGHTS,
        metadata={"format": "pt"},
    )
    usual, unusual = load_drafter(folder, "cpu"), load_drafter(bare, "cpu")
    np.testing.assert_array_equal(usual.model.read(_TOKENS), unusual.model.read(_TOKENS))
    assert usual.fingerprint == unusual.fingerprint


def test_old_config_files_that_leave_out_what_was_usual_are_understood(folder: Path) -> None:
    """As that of Llama-68M, from before grouped heads and rope_parameters."""
    model = random_llama(num_key_value_heads=6)
    save(model, folder)
    _edit_config(folder, num_key_value_heads=..., head_dim=..., rope_parameters=..., attention_bias=..., mlp_bias=...)
    drafter = load_drafter(folder, "cpu", form=WeightForm.DENSE).model
    np.testing.assert_allclose(drafter.read(_TOKENS), reference_logits(model, _TOKENS)[-1].numpy(), atol=2e-4)


def _trim(folder: Path, outputs: int) -> None:
    _edit_config(folder, num_output_tokens=outputs)


@pytest.mark.parametrize("form", list(WeightForm))
def test_a_trimmed_head_guesses_the_first_tokens_only(folder: Path, form: WeightForm) -> None:
    whole = load_drafter(folder, "cpu", form=form).model.read(_TOKENS).copy()
    _trim(folder, 100)
    trimmed = load_drafter(folder, "cpu", form=form)
    assert trimmed.model.shape.outputs == 100
    assert trimmed.model.read([*_TOKENS[:-1]]).shape == (100,)
    np.testing.assert_allclose(trimmed.model.read(_TOKENS[-1:]), whole[:100], atol=0.05)


def _store_as_int8(folder: Path) -> None:
    def change(weights: dict[str, torch.Tensor]) -> None:
        for name in [name for name, weight in weights.items() if weight.ndim == 2]:
            rows = Int8Rows.of(weights[name])
            weights[name], weights[name + SCALES] = rows.values, rows.scales

    _edit_weights(folder, change)


def test_int8_rows_are_stored_as_they_run(folder: Path) -> None:
    made_here = load_drafter(folder, "cpu", form=WeightForm.INT8).model.read(_TOKENS).copy()
    dense = load_drafter(folder, "cpu", form=WeightForm.DENSE).model.read(_TOKENS).copy()
    _store_as_int8(folder)
    np.testing.assert_array_equal(load_drafter(folder, "cpu", form=WeightForm.INT8).model.read(_TOKENS), made_here)
    np.testing.assert_allclose(load_drafter(folder, "cpu", form=WeightForm.DENSE).model.read(_TOKENS), dense, atol=0.1)


def test_rounding_to_8_bits_hardly_changes_what_is_guessed(folder: Path) -> None:
    exact, rounded = (load_drafter(folder, "cpu", form=form).model for form in (WeightForm.DENSE, WeightForm.INT8))
    pairs = [(exact.read([token]).copy(), rounded.read([token]).copy()) for token in _TOKENS]
    spread = np.std([first for first, _ in pairs])
    assert np.mean([np.abs(first - second).mean() for first, second in pairs]) < 0.05 * spread


def test_widths_that_the_int8_product_cannot_take_stay_dense(tmp_path: Path) -> None:
    """torch's product reads beyond such matrices."""
    model = random_llama(hidden_size=40, num_attention_heads=5, num_key_value_heads=5, head_dim=8, intermediate_size=72)
    drafter = load_drafter(save(model, tmp_path), "cpu", form=WeightForm.INT8).model
    np.testing.assert_allclose(drafter.read(_TOKENS), reference_logits(model, _TOKENS)[-1].numpy(), atol=0.1)
    np.testing.assert_allclose(drafter.read([5]), reference_logits(model, [*_TOKENS, 5])[-1].numpy(), atol=0.1)


def test_other_kinds_of_quantization_are_refused(folder: Path) -> None:
    _store_as_int8(folder)
    _edit_weights(folder, lambda weights: weights.pop("model.layers.0.mlp.down_proj.weight" + SCALES) is None)
    assert "quantized in an unknown way" in _refusal(folder)


def test_scales_must_fit_the_rows_and_be_numbers(folder: Path) -> None:
    name = "model.layers.0.mlp.down_proj.weight" + SCALES
    _store_as_int8(folder)
    _edit_weights(folder, lambda weights: weights.update({name: weights[name][:-1].clone()}))
    assert "has a different shape" in _refusal(folder)
    _edit_weights(folder, lambda weights: weights.update({name: torch.full((48,), torch.nan)}))
    assert _refusal(folder)


def test_the_fingerprint_changes_with_the_weights_and_the_shape(tmp_path: Path, folder: Path) -> None:
    original = load_drafter(folder, "cpu").fingerprint
    _edit_config(folder, rms_norm_eps=1e-3)
    assert load_drafter(folder, "cpu").fingerprint != original
    other = save(random_llama(), tmp_path / "other")
    _edit_weights(other, lambda weights: weights["model.layers.2.mlp.down_proj.weight"].add_(0.001))
    assert load_drafter(other, "cpu").fingerprint != original


def _refusal(folder: Path) -> str:
    with pytest.raises(DrafterUnusable) as caught:
        load_drafter(folder, "cpu")
    sentence = str(caught.value)
    assert sentence.endswith(".")
    return sentence


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert "There is no folder" in _refusal(tmp_path / "nowhere")


def test_a_folder_without_a_config_is_refused(tmp_path: Path) -> None:
    assert "config.json" in _refusal(tmp_path)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model_type": "gpt2"}, "gpt2"),
        ({"model_type": ...}, "Llama-type"),
        ({"model_type": "mistral", "sliding_window": 4096}, "sliding-window"),
        ({"model_type": "mistral"}, "sliding-window"),
        ({"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 64}, "sliding-window"),
        ({"hidden_act": "gelu"}, "gelu"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}}, "yarn"),
        ({"rope_parameters": ..., "rope_scaling": {"type": "dynamic", "factor": 2.0}}, "dynamic"),
        ({"rope_parameters": {"rope_type": "linear"}}, "rope_scaling"),
        ({"rope_parameters": {"rope_type": "linear", "factor": -1}}, "rope_scaling"),
        ({"rope_parameters": [1]}, "rope_parameters"),
        ({"rope_parameters": {"rope_theta": "big"}}, "rope_theta"),
        ({"partial_rotary_factor": 0.5}, "rotated by position"),
        ({"hidden_size": 10**9}, "hidden_size"),
        ({"vocab_size": -5}, "vocab_size"),
        ({"num_hidden_layers": True}, "num_hidden_layers"),
        ({"num_hidden_layers": 10**7}, "num_hidden_layers"),
        ({"intermediate_size": ...}, "intermediate_size"),
        ({"max_position_embeddings": "many"}, "max_position_embeddings"),
        ({"num_key_value_heads": 4}, "attention heads"),
        ({"head_dim": 7}, "attention heads"),
        ({"rms_norm_eps": "small"}, "rms_norm_eps"),
        ({"intermediate_size": 81}, "a different shape"),
        ({"vocab_size": 1000}, "a different shape"),
        ({"num_hidden_layers": 4}, "lack"),
        ({"tie_word_embeddings": False}, "lack"),
        ({"attention_bias": True}, "lack"),
        ({"vocab_size": 100}, "more tokens than its model"),
    ],
)
def test_a_config_of_something_else_is_refused(folder: Path, changes: dict[str, Any], reason: str) -> None:
    _edit_config(folder, **changes)
    assert reason in _refusal(folder)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_config_is_refused(folder: Path, content: bytes) -> None:
    (folder / "config.json").write_bytes(content)
    assert "damaged" in _refusal(folder)


@pytest.mark.parametrize("kept", [0, 5, 100, 4000, -1])
def test_weights_that_were_cut_short_are_refused(folder: Path, kept: int) -> None:
    file = folder / _WEIGHTS
    file.write_bytes(file.read_bytes()[:kept])
    assert "cut short or damaged" in _refusal(folder)


def test_missing_weights_are_refused(folder: Path) -> None:
    (folder / _WEIGHTS).unlink()
    assert _WEIGHTS in _refusal(folder)


def test_weights_that_could_run_programs_are_not_touched(folder: Path) -> None:
    (folder / _WEIGHTS).unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04")
    assert "convert them to safetensors" in _refusal(folder)


@pytest.mark.parametrize(
    "index",
    [{}, {"weight_map": {}}, {"weight_map": {"a": "../b.safetensors"}}, {"weight_map": {"a": ".."}}],
)
def test_a_senseless_index_is_refused(folder: Path, index: dict[str, Any]) -> None:
    (folder / _WEIGHTS).unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "damaged" in _refusal(folder)


def test_a_missing_part_is_named(folder: Path) -> None:
    (folder / _WEIGHTS).unlink()
    index = {"weight_map": {"model.norm.weight": "model-00001-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "lacks model-00001-of-00002.safetensors" in _refusal(folder)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(folder: Path, value: float) -> None:
    _edit_weights(folder, lambda weights: weights["model.layers.1.mlp.up_proj.weight"][3, 4].fill_(value))
    assert "is not a number" in _refusal(folder)


def test_quantized_weights_are_refused(folder: Path) -> None:
    name = "model.layers.0.mlp.up_proj.weight"
    _edit_weights(folder, lambda weights: weights.update({name: weights[name].to(torch.int8)}))
    assert "quantized" in _refusal(folder)


def test_a_folder_without_a_tokenizer_is_refused(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    assert "tokenizer.json" in _refusal(folder)


def test_there_is_always_a_device() -> None:
    assert choose_device() in {"cuda", "mps", "cpu"}


def test_the_wanted_one_is_taken() -> None:
    assert choose_device("cpu") == "cpu"


@pytest.mark.parametrize("wanted", ["tpu", "", "cuda:99", "cpu:0; rm"])
def test_an_absent_one_is_refused_and_the_present_ones_are_named(wanted: str) -> None:
    with pytest.raises(DrafterUnusable, match=r"choose .*cpu\.$"):
        choose_device(wanted)


_DENSE_160M = LLAMA_68M | {"num_hidden_layers": 12}
_DEEP_410M = LLAMA_68M | {"num_hidden_layers": 24, "hidden_size": 1024, "num_attention_heads": 16}

_HUGE = {"vocab_size": 500_000, "hidden_size": 16_384, "intermediate_size": 65_536, "num_hidden_layers": 128}


def test_a_small_folder_with_a_huge_config_is_refused(tmp_path: Path) -> None:
    """Its weights have other names, so that transformers would be asked to make up a model of that size."""
    folder = save(random_llama(), tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | _HUGE))
    (folder / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    with pytest.raises(DrafterUnusable, match=r"describes [\d,]+ weights, and 10 bytes"):
        load_drafter(folder, "cpu")


def test_a_model_or_a_cache_beyond_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save(random_llama(), tmp_path)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=200_000))
    load_drafter(folder, "cpu", max_held=64)
    with pytest.raises(DrafterUnusable, match="choose a smaller drafter"):
        load_drafter(folder, "cpu")


@pytest.mark.parametrize(
    ("changes", "most"),
    [(LLAMA_68M, 2048), (_DENSE_160M, 2048), (_DEEP_410M, 2048), (SMALL, 640), ({"num_hidden_layers": 120}, 640)],
)
def test_known_drafters_hold_as_much_as_they_can(changes: dict[str, Any], most: int) -> None:
    assert most_held(shape_of({"model_type": "llama", **SMALL, **changes}, "a drafter")) == most


def test_a_cache_is_bounded_where_the_weights_are_few() -> None:
    narrow = {"hidden_size": 64, "num_attention_heads": 256, "num_key_value_heads": 256, "head_dim": 2}
    shape = shape_of({"model_type": "llama", **SMALL, **narrow, "num_hidden_layers": 128}, "a drafter")
    assert most_held(shape) * 128 * 256 * 2 * 8 <= 128 << 20


@pytest.mark.parametrize(
    "changes",
    [
        {"head_dim": 1024},
        {"num_attention_heads": 512, "num_key_value_heads": 512, "head_dim": 1024},
        {"intermediate_size": 48 * 40},
        {"vocab_size": 600_000},
        {"rms_norm_eps": 10**400},
        {"rope_theta": 10**400, "rope_parameters": None},
        {"rope_parameters": {"rope_type": "linear", "factor": 1e30}},
        {"quantization_config": {"quant_method": "anything"}},
        {"hidden_act": "gelu" * 1_000_000},
        {"model_type": {"llama": "qwen2"}},
        {"model_type": "\u202e" + "x" * 1_000_000},
    ],
)
def test_what_a_config_cannot_mean_is_said_in_a_short_sentence(changes: dict[str, Any]) -> None:
    with pytest.raises(DrafterUnusable, match=r"^.{20,200}\.$") as caught:
        shape_of({"model_type": "llama", **SMALL, **changes}, "a drafter")
    assert str(caught.value).isprintable()


def _pipe(file: Path) -> None:
    os.mkfifo(file)


def _endless(file: Path) -> None:
    file.symlink_to("/dev/zero")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
@pytest.mark.parametrize("make", [_pipe, _endless])
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "chat_template.jinja", "model.safetensors"])
def test_a_pipe_or_a_device_is_no_file_of_a_drafter(tmp_path: Path, name: str, make: Callable[[Path], None]) -> None:
    folder = save(random_llama(), tmp_path)
    (folder / name).unlink(missing_ok=True)
    make(folder / name)
    with pytest.raises(DrafterUnusable, match=r"is not a file|cut short"):
        load_drafter(folder, "cpu")


@pytest.mark.parametrize(
    "content", ['{"a": [' + "[]," * 1_200_000 + "0]}", '{"a": 1}' + " " * (5 << 20), "[" * 100_000]
)
def test_a_small_file_that_takes_much_memory_is_refused(tmp_path: Path, content: str) -> None:
    folder = save(random_llama(), tmp_path)
    (folder / "tokenizer_config.json").write_text(content)
    with pytest.raises(DrafterUnusable, match="is damaged"):
        load_drafter(folder, "cpu")


def test_a_file_that_is_a_hole_holds_no_weights(tmp_path: Path) -> None:
    folder = save(random_llama(vocab_size=200_000, hidden_size=96), tmp_path)
    file = folder / "model.safetensors"
    size = file.stat().st_size
    os.truncate(file, 8 + int.from_bytes(file.read_bytes()[:8], "little"))
    os.truncate(file, size)
    if 512 * file.stat().st_blocks < size:
        with pytest.raises(DrafterUnusable, match="cut short"):
            load_drafter(folder, "cpu")


def test_a_header_of_megabytes_is_not_read(tmp_path: Path) -> None:
    folder = save(random_llama(), tmp_path)
    names = {
        f"model.layers.{number}.x": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for number in range(90_000)
    }
    header = json.dumps(names).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(1_000_000))
    with pytest.raises(DrafterUnusable, match="cut short or damaged"):
        load_drafter(folder, "cpu")
