"""Conversations to learn from, as turns of text and as the target's tokens.

A corpus is a file, or a folder of files, with one JSON object on each line, `{"ids": [...], "a": n}`: the tokens of a
whole conversation as the target read and wrote it, and the index where the reply begins. Where the target's template
is not ChatML a line also holds its `"turns"`: `[{"role", "text"}]`. A file may be packed with xz.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engine.errors import FileUnusable
from engine.messages.conversations import ChatTurn, Role

_TURN = re.compile(r"<\|im_start\|>(system|user|assistant)\n(.*?)<\|im_end\|>\n", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CorpusLesson:
    """A reply, and the turns it answers."""

    line: int  # of the file, from 0 on
    turns: tuple[ChatTurn, ...]
    ids: npt.NDArray[np.int32]  # the target's tokens of the whole conversation
    start: int  # where the reply begins in them

    @property
    def reply(self) -> npt.NDArray[np.int32]:
        return self.ids[self.start :]


def corpus_files(paths: Sequence[Path]) -> list[Path]:
    """The files themselves, and those of folders. Raises FileUnusable when there are none."""
    files = [file for path in paths for file in (_files_of(path) if path.is_dir() else [path])]
    if not files:
        raise FileUnusable("The corpus holds no conversation; choose another file or folder.")
    return list(dict.fromkeys(files))


def _files_of(folder: Path) -> list[Path]:
    return sorted(file for pattern in ("*.jsonl", "*.jsonl.xz") for file in folder.glob(pattern))


def read_lessons(path: Path, pieces: Sequence[bytes]) -> Iterator[CorpusLesson]:
    """The lessons of one file; `pieces` are the bytes of the target's tokens. Raises FileUnusable."""
    try:
        with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                if not line.strip():
                    continue
                try:
                    lesson = _lesson(number, json.loads(line), pieces)
                except (ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
                    raise FileUnusable(
                        f"Line {number + 1} of {path} is no conversation; repair or remove it."
                    ) from error
                if lesson.turns and len(lesson.reply):
                    yield lesson
    except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise FileUnusable(f"{path} cannot be read as a corpus ({error}); choose another file.") from error


def _lesson(number: int, record: dict[str, object], pieces: Sequence[bytes]) -> CorpusLesson:
    ids = np.array(record["ids"], np.int32)
    start = record["a"]
    if ids.ndim != 1 or isinstance(start, bool) or not isinstance(start, int) or not 0 < start <= len(ids):
        raise ValueError
    if not len(ids) or ids.min() < 0 or ids.max() >= len(pieces):
        raise ValueError
    given = record.get("turns")
    if isinstance(given, list):
        turns = tuple(ChatTurn(Role(turn["role"]), str(turn["text"])) for turn in given)
    else:
        prompt = b"".join(pieces[token] for token in ids[:start]).decode("utf-8", "replace")
        turns = tuple(ChatTurn(Role(role), text) for role, text in _TURN.findall(prompt))
    return CorpusLesson(number, turns, ids, start)
