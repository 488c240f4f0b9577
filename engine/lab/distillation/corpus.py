"""Files of conversations to learn from, and of the target's distributions in their replies.

A corpus is a file, or a folder of files, with one JSON object on each line, `{"ids": [...], "a": n}`: the tokens of a
whole conversation as the target read and wrote it, and the index where the reply begins. Where the target's template
is not ChatML a line also holds its `"turns"`: `[{"role", "text"}]`. A file may be packed with xz.

Labels are in safetensors files: `records` (the lines of the corpus file, int32), and for all reply tokens of these
lines in order `tokens` (int32, [n, k]) and `log_probabilities` (float16, [n, k]): natural logarithms, at temperature 1.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from engine.lab.distillation.work import write_whole
from engine.speculation.learning.samples import CorpusLesson, Labels
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import FileUnusable

NUM_LIKELIEST = 24  # tokens of a label

_TURN = re.compile(r"<\|im_start\|>(system|user|assistant)\n(.*?)<\|im_end\|>\n", re.DOTALL)


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
    if ids.min() < 0 or ids.max() >= len(pieces):
        raise ValueError
    given = record.get("turns")
    if isinstance(given, list):
        turns = tuple(ChatTurn(Role(turn["role"]), str(turn["text"])) for turn in given)
    else:
        prompt = b"".join(pieces[token] for token in ids[:start]).decode("utf-8", "replace")
        turns = tuple(ChatTurn(Role(role), text) for role, text in _TURN.findall(prompt))
    return CorpusLesson(number, turns, ids, start)


def write_labels(path: Path, lines: Sequence[int], labels: Sequence[Labels]) -> None:
    """Raises FileUnusable."""
    tokens = np.concatenate([label.tokens for label in labels])
    logs = np.concatenate([label.log_probabilities for label in labels])
    write_whole(path, save({"records": np.array(lines, np.int32), "tokens": tokens, "log_probabilities": logs}))


def read_labels(files: Sequence[Path], lessons: Mapping[int, CorpusLesson]) -> dict[int, Labels]:
    """The labels by line; `lessons` are those of the corpus file that the labels belong to. Raises FileUnusable."""
    found: dict[int, Labels] = {}
    for path in files:
        try:
            content = load_file(path)
            lines, tokens, logs = content["records"], content["tokens"], content["log_probabilities"]
            start = 0
            for line in lines.tolist():
                end = start + len(lessons[line].reply)
                found[line] = Labels(tokens[start:end], logs[start:end])
                start = end
            if tokens.shape != logs.shape or tokens.ndim != 2 or start != len(tokens):
                raise ValueError("the labels are of other conversations")
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            raise FileUnusable(f"The labels in {path} do not fit the corpus ({error}); remove the file.") from error
    return found
