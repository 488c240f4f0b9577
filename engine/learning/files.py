"""Files that are whole or not there, and what is told when one cannot be written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import FileUnusable


def write_whole(path: Path, content: bytes) -> None:
    """The file gets its name when all of it is on the disk. Raises FileUnusable."""
    unfinished = path.with_name(path.name + ".part")
    with told_in_words(path.parent):
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)


@contextmanager
def told_in_words(folder: Path) -> Iterator[None]:
    """Around writing only: raises FileUnusable where the disk refuses."""
    try:
        yield
    except OSError as error:
        raise FileUnusable(
            f"{folder} cannot be written ({error.strerror or error}); make room or choose another folder, and start "
            "again: what is written already is kept."
        ) from error
