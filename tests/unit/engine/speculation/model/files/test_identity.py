"""What makes a target the same, and what makes it another one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.speculation.model.files import identity
from engine.speculation.model.files.identity import file_identity
from tests.fakes.gguf import write


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of which by far not all is read."""
    monkeypatch.setattr(identity, "_HEADER_BYTES", 1000)
    monkeypatch.setattr(identity, "_SAMPLE_BYTES", 100)
    path = tmp_path / "large.gguf"
    path.write_bytes(bytes(100_000))
    return path


def test_a_file_stays_the_same_wherever_it_is_and_whenever_it_was_written(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf")
    before = file_identity(path)
    assert before.startswith("file:")
    os.utime(path, ns=(1, 1))
    assert file_identity(path.rename(tmp_path / "b.gguf")) == before
    assert file_identity(write(tmp_path / "copy.gguf")) == before


def test_another_header_of_the_same_size_is_another_target(tmp_path: Path) -> None:
    one, other = write(tmp_path / "a.gguf"), write(tmp_path / "b.gguf", {"general.name": "Tina"})
    assert one.stat().st_size == other.stat().st_size
    assert file_identity(one) != file_identity(other)


def test_other_weights_of_the_same_size_are_another_target(large: Path) -> None:
    before = file_identity(large)
    content = bytearray(large.read_bytes())
    for start, end in ((0, 1), (999, 1000), (99_999, 100_000), (50_000, 60_000)):
        changed = bytearray(content)
        changed[start:end] = b"x" * (end - start)
        large.write_bytes(changed)
        assert file_identity(large) != before, (start, end)
    large.write_bytes(content)
    assert file_identity(large) == before
    large.write_bytes(bytes(100_001))
    assert file_identity(large) != before


def test_little_of_a_large_file_is_read(large: Path) -> None:
    before = file_identity(large)
    with large.open("r+b") as file:
        file.seek(1001)
        file.write(b"x" * 4000)  # before the first sample
    assert file_identity(large) == before


def test_every_part_counts_and_none_may_be_missing(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"big-{part:05}-of-00003.gguf") for part in (1, 2, 3)]
    before = file_identity(paths[0])
    assert before
    paths[2].write_bytes(paths[2].read_bytes() + b"x")
    assert file_identity(paths[0]) not in ("", before)
    paths[1].unlink()
    assert file_identity(paths[0]) == ""


@pytest.mark.parametrize("name", ["gone.gguf", "folder.gguf", "nul\0.gguf"])
def test_what_cannot_be_read_has_no_identity(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.gguf").mkdir()
    assert file_identity(tmp_path / name) == ""
