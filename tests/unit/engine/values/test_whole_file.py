from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from engine.values.whole_file import NotAFile, plain_file, private_folder, whole_file


def test_a_file_takes_its_place_at_the_end_of_the_block(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_bytes(b"old")
    with whole_file(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_was_there_stays_when_the_block_fails(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), whole_file(path) as file:
        file.writelines([b"half of", None])  # type: ignore[list-item]
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    with whole_file(tmp_path / "notes.json"):
        pass
    assert (tmp_path / "notes.json").stat().st_mode & 0o077 == 0


def test_a_missing_folder_is_an_error_of_the_disk(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "missing" / "notes.json"):
        raise AssertionError


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_a_private_folder_is_private_whatever_the_umask_and_so_is_what_was_missing_above_it(tmp_path: Path) -> None:
    above = tmp_path / "there"
    above.mkdir(mode=0o755)
    before = os.umask(0)
    try:
        folder = private_folder(above / "a" / "b")
        private_folder(folder)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (above, above / "a", folder)] == [0o755, 0o700, 0o700]
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="exists"):
        private_folder(tmp_path / "file")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes and devices")
def test_nobody_waits_for_a_pipe_or_a_device(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(NotAFile):
            plain_file(path)
    with pytest.raises(OSError, match="directory"):
        plain_file(tmp_path)
    (tmp_path / "file").write_bytes(b"some")
    with plain_file(tmp_path / "file") as file:
        assert file.read() == b"some"
