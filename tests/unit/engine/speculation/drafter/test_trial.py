"""Drafters whose kernels nobody tried: in a process of their own, where they may end it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from engine.speculation.drafter import trial
from engine.speculation.drafter.matrices import Int8Matrix, Int8Rows
from engine.speculation.model.apart.child import ask_child
from engine.values.errors import Cancelled, DrafterUnusable
from tests.unit.engine.speculation.drafter.checkpoints import random_llama, save

_HEAD = "head"  # the only matrix, so the last bytes of the file are its last rows


def never() -> bool:
    return False


def _multiply(*files: Path) -> str:
    """The rows as they lie in the mapped files; what is wrong with their products."""
    return " ".join(map(_products_of, files)).strip()


def _products_of(file: Path) -> str:
    torch.manual_seed(0)
    with safe_open(file, framework="pt") as tensors:
        values = tensors.get_tensor(_HEAD)
    scales = torch.rand(len(values)) + 0.5
    matrix = Int8Matrix(Int8Rows(values, scales))
    start = values.data_ptr()
    if start <= matrix.rows.values.data_ptr() < start + values.nbytes or len(matrix.rows.values) % 64:
        return "the rows are not whole blocks of our own"
    for num_rows in (1, 3, 16, 17, 300):
        rows = torch.randn(num_rows, values.shape[1])
        product = matrix.times(rows)[:, -5:].float()
        wanted = rows @ Int8Rows(values[-5:], scales[-5:]).dense().t()
        if not torch.allclose(product, wanted, atol=0.03 * float(wanted.abs().max())):
            return f"{num_rows} rows are wrong"
    return ""


def test_any_number_of_outputs_from_a_mapped_file_is_multiplied(tmp_path: Path) -> None:
    files = [tmp_path / f"{num_outputs}.safetensors" for num_outputs in (49_159, 32_003)]
    for file in files:
        save_file({_HEAD: torch.randint(-127, 128, (int(file.stem), 64), dtype=torch.int8)}, file)
    assert ask_child(_multiply, tuple(files), never) == ""


def test_a_drafter_is_tried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, tried = save(random_llama(), tmp_path / "drafter"), tmp_path / "tried"
    trial.try_out(folder, "cpu", tried, never)
    monkeypatch.setattr(trial, "look", os.abort)
    trial.try_out(folder, "cpu", tried, never)  # it is known by now
    config = folder / "config.json"
    status = config.stat()
    config.write_text(config.read_text().replace("1", "2", 1))
    os.utime(config, ns=(status.st_atime_ns, status.st_mtime_ns))  # as large and as old as before
    with pytest.raises(DrafterUnusable, match="crashed the process"):
        trial.try_out(folder, "cpu", tried, never)
    with pytest.raises(Cancelled, match="Loading the drafter"):
        trial.try_out(folder, "cpu", tried, lambda: True)


def test_what_cannot_be_noted_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, no_folder = save(random_llama(), tmp_path / "drafter"), tmp_path / "file"
    no_folder.touch()
    tried: list[object] = []

    def answer(*asked: object) -> str:
        tried.append(asked)
        return ""

    monkeypatch.setattr(trial, "ask_child", answer)
    for _ in range(2):
        trial.try_out(folder, "cpu", no_folder / "tried", never)
    assert len(tried) == 2


def test_what_is_wrong_is_said_in_its_own_sentence(tmp_path: Path) -> None:
    folder = save(random_llama(), tmp_path / "drafter")
    assert trial.look(folder, "cpu") == ""
    (folder / "model.safetensors").write_bytes(b"")
    assert "cut short or damaged" in trial.look(folder, "cpu")
