"""Reads a file as text, to be attached to a prompt."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from engine.backend.documents.encodings import decoded
from engine.values.conversations import TextFile
from engine.values.errors import FileUnusable
from engine.values.sentences import template

MOST_BYTES = 1_000_000
_SAVED_AS = {  # what programs can make of their own files
    **dict.fromkeys((".doc", ".dot", ".wps", ".wpd", ".pages", ".sxw"), ".docx"),
    **dict.fromkeys((".xls", ".xlsb", ".xlt", ".numbers"), ".xlsx"),
    **dict.fromkeys((".ppt", ".pps", ".key"), ".pptx"),
    **dict.fromkeys((".mobi", ".azw", ".azw3", ".djvu", ".xps", ".pub", ".odg", ".vsd", ".vsdx", ".one"), "PDF"),
    ".msg": ".eml",
}
_ARCHIVES = (b"PK\3\4", b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!", b"BZh", b"\xfd7zXZ")
TOO_MUCH_TEXT = template("{name} is {size:.1f} MB; attach text of at most {most} MB.")


@contextmanager
def readable(path: Path) -> Iterator[BinaryIO]:
    """The file, opened. Raises FileUnusable, also where reading it fails."""
    name = path.name
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # reading a pipe might never end
            raise FileUnusable("{name} is not a file; choose a text file.", name=name)
        with path.open("rb") as file:
            yield file
    except FileNotFoundError as error:
        raise FileUnusable("{name} is no longer there; choose another file.", name=name) from error
    except PermissionError as error:
        raise FileUnusable("You may not read {name}; choose another file.", name=name) from error
    except OSError as error:
        raise FileUnusable(
            "{name} cannot be read ({reason}); choose another file.", name=name, reason=error.strerror
        ) from error


def check_size(file: BinaryIO, name: str, most: int, refusal: str = TOO_MUCH_TEXT) -> int:
    """The size in bytes. Raises FileUnusable if it is more than `most`."""
    size = os.fstat(file.fileno()).st_size
    if size > most:
        raise FileUnusable(refusal, name=name, size=size / 1e6, most=most // 10**6)
    return size


def _no_text(path: Path, raw: bytes) -> FileUnusable:
    """Says what the user can do with a file that is no text, as far as its name or beginning tells."""
    kind = _SAVED_AS.get(path.suffix.lower(), "")
    if kind:
        return FileUnusable("{name} cannot be read; save it as {kind} and attach that.", name=path.name, kind=kind)
    if raw.startswith(_ARCHIVES):
        return FileUnusable("{name} is an archive; unpack it and attach the files in it.", name=path.name)
    return FileUnusable("{name} is not a text file; attach plain text.", name=path.name)


def read_text(path: Path) -> TextFile:
    """Raises FileUnusable."""
    name = path.name
    with readable(path) as file:
        check_size(file, name, MOST_BYTES)
        raw = file.read(MOST_BYTES)
    text = decoded(raw)
    if text is None:
        raise _no_text(path, raw)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise FileUnusable("{name} is empty; attach a file with text in it.", name=name)
    return TextFile(path, text, len(raw))
