"""The program's own files and folders: files are written as a whole or not at all, reading one never waits, and
folders are this user's alone."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, readable by this user alone. It takes the place of `path` at the end of the block, when all of
    it is on the disk; where the block raises, what was there before stays. Raises OSError."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".part", dir=path.absolute().parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def private_folder(path: Path) -> Path:
    """The folder, made where it is missing: it and what is missing above it are for this user alone, whatever the
    umask. What is there stays as it is. Raises OSError."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
    if not path.is_dir():
        path.mkdir()  # says what is there
    return path


class NotAFile(OSError):
    """It is a pipe, a device or a folder."""


def plain_file(path: Path) -> BinaryIO:
    """The file, opened to be read. A pipe or a device, where reading would wait or never end, raises NotAFile; raises
    OSError for whatever else cannot be opened."""
    opened = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    if stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
        return opened
    opened.close()
    raise NotAFile(errno.EINVAL, "it is not a file", str(path))


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
