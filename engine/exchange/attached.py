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

from engine.errors import FileUnusable
from engine.messages.conversations import TextFile

MOST_BYTES = 1_000_000

_MARKED = (  # what a file may begin with; the longer ones first
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")  # not found in text


@contextmanager
def readable(path: Path, instead: str = "attach") -> Iterator[BinaryIO]:
    """The file, opened. Raises FileUnusable, also where reading it fails; `instead` is what to do with another one."""
    name = path.name
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # reading a pipe might never end
            raise FileUnusable(f"{name} is no file; {instead} a text file.")
        with path.open("rb") as file:
            yield file
    except FileNotFoundError as error:
        raise FileUnusable(f"{name} is not there any more; {instead} another file.") from error
    except PermissionError as error:
        raise FileUnusable(f"You may not read {name}; {instead} another file.") from error
    except OSError as error:
        raise FileUnusable(f"{name} cannot be read ({error.strerror}); {instead} another file.") from error


def check_size(file: BinaryIO, name: str, most: int, kind: str = "text of ") -> int:
    """In bytes. Raises FileUnusable where it is more than `most`."""
    size = os.fstat(file.fileno()).st_size
    if size > most:
        raise FileUnusable(f"{name} is {size / 1e6:.1f} MB; attach {kind}at most {most // 10**6} MB.")
    return size


def read_text(path: Path) -> TextFile:
    """Raises FileUnusable."""
    name = path.name
    with readable(path) as file:
        check_size(file, name, MOST_BYTES)
        raw = file.read(MOST_BYTES)
    text = decoded(raw)
    if text is None:
        raise FileUnusable(f"{name} is not a text file; attach plain text.")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise FileUnusable(f"{name} is empty; attach a file with text in it.")
    return TextFile(path, text, len(raw))


def decoded(raw: bytes) -> str | None:
    """In UTF-8, the encoding of its mark, or a Western European one; None for what is no text."""
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
