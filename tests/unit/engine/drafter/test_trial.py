"""Drafters whose kernels nobody tried: in a process of their own, where they may end it."""

from __future__ import annotations

import mmap
import os
import threading
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from engine.drafter import trial
from engine.drafter.matrices import Int8Matrix, Int8Rows
from engine.errors import Cancelled, DrafterUnusable
from engine.target import child
from engine.target.child import Limits, ask_child
from tests.unit.engine.drafter.checkpoints import random_llama, save

_HEAD = "head"  # the only matrix, so the last bytes of the file are its last rows


def never() -> bool:
    return False


def _multiply(file: Path) -> str:
    """The rows as they lie in the mapped file; what is wrong with their products."""
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


@pytest.mark.parametrize("num_outputs", [49_159, 32_003])
def test_any_number_of_outputs_from_a_mapped_file_is_multiplied(tmp_path: Path, num_outputs: int) -> None:
    file = tmp_path / "head.safetensors"
    save_file({_HEAD: torch.randint(-127, 128, (num_outputs, 64), dtype=torch.int8)}, file)
    assert ask_child(_multiply, (file,), never) == ""


def _dies(*_arguments: object) -> str:
    os.abort()


def _hangs(*_arguments: object) -> str:
    threading.Event().wait()
    return ""


def test_a_child_that_dies_or_hangs_is_no_answer() -> None:
    assert ask_child(_dies, (), never) is None
    assert ask_child(_hangs, (), never, Limits(wall_s=0.01)) is None
    with pytest.raises(Cancelled):
        ask_child(_hangs, (), lambda: True)


def _keeps(num_bytes: int) -> str:
    return str(len(bytearray(num_bytes)))


def _computes() -> str:
    while True:
        pass


def _maps(file: Path) -> str:
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return str(sum(mapped[:: 1 << 12]))


def test_a_child_dies_at_its_limits_and_mapped_files_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = Limits(memory_bytes=64 << 20)
    assert ask_child(_keeps, (16 << 20,), never, small) == str(16 << 20)
    assert ask_child(_keeps, (256 << 20,), never, small) is None
    file = tmp_path / "weights"
    with file.open("wb") as opened:
        opened.truncate(512 << 20)
    assert ask_child(_maps, (file,), never, small) == "0"
    monkeypatch.setattr(child, "_START_S", 0.5)
    assert ask_child(_computes, (), never, Limits(processor_s=0.0)) is None


def test_a_drafter_is_tried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, tried = save(random_llama(), tmp_path / "drafter"), tmp_path / "tried"
    trial.try_out(folder, "cpu", tried, never)
    monkeypatch.setattr(trial, "look", _dies)
    trial.try_out(folder, "cpu", tried, never)  # it is known by now
    config = folder / "config.json"
    status = config.stat()
    config.write_text(config.read_text().replace("1", "2", 1))
    os.utime(config, ns=(status.st_atime_ns, status.st_mtime_ns))  # as large and as old as before
    with pytest.raises(DrafterUnusable, match="ended the process"):
        trial.try_out(folder, "cpu", tried, never)
    with pytest.raises(Cancelled, match="Loading the drafter"):
        trial.try_out(folder, "cpu", tried, lambda: True)


def test_what_is_wrong_is_said_in_its_own_sentence(tmp_path: Path) -> None:
    folder = save(random_llama(), tmp_path / "drafter")
    assert trial.look(folder, "cpu") == ""
    (folder / "model.safetensors").write_bytes(b"")
    assert "cut short or damaged" in trial.look(folder, "cpu")
