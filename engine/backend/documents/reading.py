"""Reads documents, as text, and pictures, whatever they hold: in a process of its own, which may take little memory
and time."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from engine.backend.documents import apart
from engine.backend.documents.attached import check_size, read_text, readable
from engine.speculation.model.apart.child import Limits, ask_child
from engine.values.conversations import TextFile
from engine.values.errors import Cancelled, FileUnusable
from engine.values.pictures import Picture
from engine.values.prompts import MOST_TEXT
from engine.values.sentences import Sentence, template, unpacked
from engine.values.stop_signal import StopSignal

_KINDS = {
    ".pdf": "pdf",
    ".docx": "docx",
    ".docm": "docx",
    ".dotx": "docx",
    ".odt": "odt",
    ".ott": "odt",
    ".odp": "odt",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".xltx": "xlsx",
    ".ods": "ods",
    ".ots": "ods",
    ".pptx": "pptx",
    ".pptm": "pptx",
    ".ppsx": "pptx",
    ".epub": "epub",
    ".rtf": "rtf",
    ".eml": "eml",
    ".ipynb": "ipynb",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".csv": "csv",
    ".tsv": "csv",
}
_MOST_BYTES = dict.fromkeys(("html", "csv", "rtf", "eml", "ipynb"), apart.MOST_TEXT_BYTES)
_MOST_OTHER_BYTES = 200_000_000
_PICTURES = re.compile(  # how they begin; what a file is called does not matter
    rb"(?P<png>\x89PNG\r\n\x1a\n)|(?P<jpeg>\xff\xd8\xff)|(?P<gif>GIF8[79]a)|(?P<webp>RIFF....WEBP)|"
    rb"(?P<bmp>BM.{12}[\x0c\x28\x34\x38\x40\x6c\x7c]\0\0\0)|(?P<tiff>II[*+]\0|MM\0[*+])|"
    rb"(?P<unknown>....ftyp(?:hei[cmsx]|hev[cmsx]|mif1|msf1|avi[fs]))",
    re.DOTALL,
)
_BEGINNING = 32  # bytes of it
_MOST_PICTURE_BYTES = 100_000_000
_TOO_LARGE_A_PICTURE = template("{name} is {size:.1f} MB; attach a picture of at most {most} MB.")
_TOO_LARGE_A_FILE = template("{name} is {size:.1f} MB; attach at most {most} MB.")
_AT_ONCE = 8  # pictures that one process looks at
# With what the process has at first it stays below 300 MB; a manual of 400 pages takes 50. The time of the processor is
# limited where it reads (`apart.py`), so that a document is read on a busy machine, too.
_LIMITS = Limits(memory_bytes=224 << 20, wall_s=30.0)


def read_attached(path: Path, stop: StopSignal) -> TextFile | Picture:
    """Reads any kind of file that can be attached. Raises FileUnusable, or Cancelled when `stop` gets set."""
    with readable(path) as file:
        kind = _kind_of(file.read(_BEGINNING))
        if kind is None:
            return read_document(path, stop)
        check_size(file, path.name, _MOST_PICTURE_BYTES, _TOO_LARGE_A_PICTURE)
    return _read_picture(path, kind, path.name, stop)


def read_picture(path: Path, data: bytes, stop: StopSignal) -> Picture:
    """One that was pasted; `path` is what it is called. Raises FileUnusable, or Cancelled when `stop` gets set."""
    kind = _kind_of(data[:_BEGINNING])
    if kind is None or len(data) > _MOST_PICTURE_BYTES:
        raise FileUnusable(
            "{name} is not a picture that Slipstream can read; save it as PNG or JPEG and attach that.", name=path.name
        )
    return _read_picture(data, kind, path.name, stop)


def check_pictures(pictures: Iterable[bytes], stop: StopSignal) -> list[tuple[int, int] | None]:
    """The widths and heights of pictures that `read_picture` made. None for any other, which may be malicious, and for
    those that share a process with one that takes too much. Raises Cancelled when `stop` gets set."""
    sizes: list[tuple[int, int] | None] = []
    waiting = iter(pictures)
    while some := list(islice(waiting, _AT_ONCE)):
        answer = ask_child(apart.sizes_of, (some,), stop.is_set, _LIMITS)
        sizes += [size and (size[0], size[1]) for size in json.loads(answer)] if answer else [None] * len(some)
    return sizes


def _kind_of(beginning: bytes) -> str | None:
    """The kind of a picture; None for other files."""
    found = _PICTURES.match(beginning)
    return found.lastgroup if found else None


def _read_picture(source: Path | bytes, kind: str, name: str, stop: StopSignal) -> Picture:
    if kind == "unknown":
        raise FileUnusable(
            "{name} is in a picture format that cannot be read; save it as PNG or JPEG and attach that.", name=name
        )
    said = _asked(apart.read_picture, source, kind, name, stop)
    if said is None:
        raise FileUnusable(
            "{name} is damaged, or takes too much time or memory to read; open it in another program, save "
            "it smaller as PNG, and attach that.",
            name=name,
        )
    return Picture(said["digest"], base64.b64decode(said["data"]), said["width"], said["height"])


def _asked(
    look: Callable[[Any, str], str], source: Path | bytes, kind: str, name: str, stop: StopSignal
) -> dict[str, Any] | None:
    """None where the child dies, or says nothing of it."""
    try:
        answer = ask_child(look, (source, kind), stop.is_set, _LIMITS)
    except Cancelled:
        raise Cancelled("Reading {name} was cancelled.", name=name) from None
    said: dict[str, Any] | None = json.loads(answer) if answer else None
    if said and (refusal := said.get("refusal")):
        refused = unpacked(refusal)
        values = refused.values if isinstance(refused, Sentence) else {}
        raise FileUnusable(getattr(refused, "template", refused), **{**values, "name": name})
    return said


def read_document(path: Path, stop: StopSignal) -> TextFile:
    """A document of a known kind, or any file of text. Raises FileUnusable, or Cancelled when `stop` gets set."""
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        return read_text(path)
    name = path.name
    with readable(path) as file:
        num_bytes = check_size(file, name, _MOST_BYTES.get(kind, _MOST_OTHER_BYTES), _TOO_LARGE_A_FILE)
    said = _asked(apart.read, path, kind, name, stop)
    if said is None:
        raise FileUnusable(
            "{name} takes too much time or memory to read, or is damaged; attach a part of it.", name=name
        )
    text = str(said["text"])[:MOST_TEXT]
    if not text.strip():
        raise FileUnusable("{name} is empty; attach a file with text in it.", name=name)
    return TextFile(path, text, num_bytes)
