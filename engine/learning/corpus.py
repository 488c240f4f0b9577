"""Conversations to learn from, as turns of text.

A corpus file holds one JSON object on each line, `{"ids": [...], "a": n}`: the tokens of a whole conversation as the
target read and wrote it, in its ChatML template, and the index where the reply begins. It may be packed with xz.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import CorpusUnreadable
from engine.records import ChatTurn, Role

_TURN = re.compile(r"<\|im_start\|>(system|user|assistant)\n(.*?)<\|im_end\|>\n", re.DOTALL)
_END = "<|im_end|>"


@dataclass(frozen=True, slots=True)
class Lesson:
    """A reply, and the turns it answers."""

    turns: tuple[ChatTurn, ...]
    reply: str
    finished: bool  # whether the target ended the reply itself, or it was cut at its length


def read_lessons(path: Path, pieces: Sequence[bytes]) -> Iterator[Lesson]:
    """The lessons of one file; `pieces` are the bytes of the target's tokens. Raises CorpusUnreadable."""
    try:
        with lzma.open(path, "rt") if path.suffix == ".xz" else path.open() as lines:
            for number, line in enumerate(lines, 1):
                try:
                    record = json.loads(line)
                    ids, start = record["ids"], record["a"]
                    prompt, reply = (_text(ids[:start], pieces), _text(ids[start:], pieces))
                except (ValueError, KeyError, TypeError, IndexError) as error:
                    raise CorpusUnreadable(
                        f"Line {number} of {path} is no conversation; repair or remove it."
                    ) from error
                turns = tuple(ChatTurn(Role(role), text) for role, text in _TURN.findall(prompt))
                if turns and reply:
                    yield Lesson(turns, reply.removesuffix(_END), reply.endswith(_END))
    except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise CorpusUnreadable(f"{path} cannot be read as a corpus ({error}); choose another file.") from error


def _text(ids: Sequence[int], pieces: Sequence[bytes]) -> str:
    return b"".join(pieces[token] for token in ids).decode("utf-8", "replace")
