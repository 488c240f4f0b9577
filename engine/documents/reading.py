"""Reads a document as text, whatever it holds: in a process of its own, which may take little memory and time."""

from __future__ import annotations

import json
from pathlib import Path

from engine.documents import apart
from engine.errors import Cancelled, FileUnusable
from engine.exchange.attached import check_size, read_text, readable
from engine.messages.conversations import TextFile
from engine.messages.prompts import MOST_TEXT
from engine.stop_signal import StopSignal
from engine.target.child import Limits, ask_child

_KINDS = {
    ".pdf": "pdf",
    ".docx": "docx",
    ".docm": "docx",
    ".dotx": "docx",
    ".odt": "odt",
    ".ott": "odt",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".csv": "csv",
    ".tsv": "csv",
}
_MOST_BYTES = {"html": apart.MOST_TEXT_BYTES, "csv": apart.MOST_TEXT_BYTES}
_MOST_OTHER_BYTES = 200_000_000
# With what the process has at first it stays below 300 MB; a manual of 400 pages takes 50. The time of the processor is
# limited where it reads (`apart.py`), so that a document is read on a busy machine, too.
_LIMITS = Limits(memory_bytes=224 << 20, wall_s=30.0)


def read_document(path: Path, stop: StopSignal) -> TextFile:
    """A document of a known kind, or any file of text. Raises FileUnusable, or Cancelled when `stop` gets set."""
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        return read_text(path)
    name = path.name
    with readable(path) as file:
        num_bytes = check_size(file, name, _MOST_BYTES.get(kind, _MOST_OTHER_BYTES), "")
    try:
        answer = ask_child(apart.read, (path, kind), stop.is_set, _LIMITS)
    except Cancelled:
        raise Cancelled(f"Reading {name} was cancelled.") from None
    if answer is None:
        raise FileUnusable(f"{name} takes too much time or memory to read, or is damaged; attach a part of it.")
    said = json.loads(answer)
    if refusal := said.get("refusal"):
        raise FileUnusable(f"{name} {refusal}")
    text = str(said["text"])[:MOST_TEXT]
    if not text.strip():
        raise FileUnusable(f"{name} is empty; attach a file with text in it.")
    return TextFile(path, text, num_bytes)
