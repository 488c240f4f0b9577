"""A config.json that asks for more than there is, is refused before anything is allocated."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from engine.speculation.drafter.checkpoint import load_drafter
from engine.speculation.drafter.config_file import shape_of
from engine.speculation.drafter.model import most_held
from engine.values.errors import DrafterUnusable
from tests.unit.engine.speculation.drafter.checkpoints import LLAMA_68M, SMALL, random_llama, save

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
