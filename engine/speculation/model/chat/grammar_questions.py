"""Questions between a process and the one that works on grammars. Imports little: each child does it again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from engine.values.sentences import template

OPENING_S = 20.0  # of processor time, for a vocabulary
BEGINNING_S = 2.0  # for a grammar; ordinary ones take milliseconds
STEP_S = 0.5  # ordinary ones take less than a millisecond

TOO_MUCH = template(
    "The reply format takes too much time or memory; make it simpler, above all where parts that may be empty are "
    "repeated."
)

Line = tuple[int, ...]  # tokens, one after the other


def packed_vocabulary(pieces: Sequence[bytes], special: Iterable[int]) -> bytes:
    """A line of JSON, and all tokens in one."""
    told = {"lengths": [*map(len, pieces)], "special": sorted(special)}
    return json.dumps(told).encode() + b"\n" + b"".join(pieces)


def unpacked_vocabulary(data: bytes) -> tuple[list[bytes], list[int]]:
    told, _, joined = data.partition(b"\n")
    known = json.loads(told)
    pieces, place = [], 0
    for length in known["lengths"]:
        pieces.append(joined[place : place + length])
        place += length
    return pieces, known["special"]


def lines_within(lines: Iterable[Sequence[int]], reaches: Iterable[int]) -> list[Line]:
    """The beginnings of these lines, as far as each reaches; each once, the empty one first."""
    begun = (tuple(line[:end]) for line, reach in zip(lines, reaches, strict=True) for end in range(reach + 1))
    return [*dict.fromkeys([(), *begun])]
