"""A config.json that asks for more than there is, is refused before anything is allocated."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from engine.drafter.checkpoint import load_drafter
from engine.errors import DrafterUnusable
from tests.unit.engine.drafter.checkpoints import random_llama, save

_HUGE = {"vocab_size": 2_000_000, "hidden_size": 16_384, "intermediate_size": 65_536, "num_hidden_layers": 128}


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
