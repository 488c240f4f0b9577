"""Reads a file as text, to be attached to a prompt."""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from engine.values.conversations import TextFile
from engine.values.errors import FileUnusable
from engine.values.sentences import template

MOST_BYTES = 1_000_000
TOO_MUCH_TEXT = template("{name} is {size:.1f} MB; attach text of at most {most} MB.")

_MARKED = (  # what a file may begin with; the longer ones first
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")  # not found in text


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


def read_text(path: Path) -> TextFile:
    """Raises FileUnusable."""
    name = path.name
    with readable(path) as file:
        check_size(file, name, MOST_BYTES)
        raw = file.read(MOST_BYTES)
    text = decoded(raw)
    if text is None:
        raise FileUnusable("{name} is not a text file; attach plain text.", name=name)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise FileUnusable("{name} is empty; attach a file with text in it.", name=name)
    return TextFile(path, text, len(raw))


def decoded(raw: bytes) -> str | None:
    """The text, in UTF-8, the encoding of its byte order mark, or a Western European one; None for what is not text."""
    for mark, encoding in _MARKED:
        if raw.startswith(mark):
            return _as(raw, encoding)
    if _CONTROLS.search(raw):
        return None
    for encoding in ("utf-8", "cp1252", "latin-1"):
        if (text := _as(raw, encoding)) is not None:
            return text
    return None


def _as(raw: bytes, encoding: str) -> str | None:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        return None
