"""The text of a reply: made from the bytes of its tokens, with the origin of each character, and its kind."""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import Iterable, Sequence

from engine.speculation.numerics.draft import Draft
from engine.values.origins import TARGET
from engine.values.replies import OriginRun, TextKind

_CODE_SHARE = 0.4  # of the characters except spaces
_NUMBERS_SHARE = 0.3
_LIST_SHARE = 0.5  # of the lines outside code that are not empty
_MIN_ITEMS = 3

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_ITEM = re.compile(r"\s*(?:[-*+•]\s|\d{1,9}[.)]\s|\|)")
_RULE = re.compile(r"[\s|:=*_-]+")  # a divider, or the line under the head of a table
_NUMBER_SIGNS = frozenset("0123456789+-*/=<>^%×÷±≤≥≈√∑∫")


class TextStream:
    """Releases text as early as possible: never half a character, and nothing that may become a stop string.

    Invalid UTF-8 becomes U+FFFD.
    """

    def __init__(self, stop_strings: Sequence[str] = ()) -> None:
        self._stop_strings = tuple(stop_strings)
        self._undecoded = b""  # the beginning of a character
        self._withheld = ""
        self.num_decoded = 0  # complete characters, withheld and dropped ones included
        self.stopped = False  # at a stop string; it and what follows are dropped

    def push(self, piece: bytes) -> str:
        data = self._undecoded + piece
        text, num_read = codecs.utf_8_decode(data, "replace")
        self._undecoded = data[num_read:]
        self.num_decoded += len(text)
        return self._release(text)

    def finish(self) -> str:
        """The rest of the text, without an incomplete character at its end."""
        text, self._withheld = self._withheld, ""
        return text

    def _release(self, text: str) -> str:
        if self.stopped:
            return ""
        if not self._stop_strings:
            return text
        self._withheld += text
        found = [place for stop in self._stop_strings if (place := self._withheld.find(stop)) >= 0]
        if found:
            self.stopped = True
            released, self._withheld = self._withheld[: min(found)], ""
            return released
        keep = max(overlap(self._withheld, stop) for stop in self._stop_strings)
        released = self._withheld[: len(self._withheld) - keep]
        self._withheld = self._withheld[len(released) :]
        return released


def num_whole(pieces: Sequence[bytes], num_characters: int) -> int:
    """The number of pieces, from the first on, that lie wholly within the first `num_characters` of their text."""
    decoder, count, whole = _new_decoder(), 0, 0
    for place, piece in enumerate(pieces, 1):
        count += len(decoder.decode(piece))
        if count > num_characters:
            break
        if not decoder.getstate()[0]:  # no character waits for its other bytes
            whole = place
    return whole


class TextOrigins:
    """Holds the origins of decoded characters, as runs of keys, until their text is released.

    A character made of several tokens has the origin of the last one.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, str]] = deque()
        self._all: list[tuple[int, str]] = []

    def note(self, num_characters: int, origin: str) -> None:
        """That many more characters are decoded."""
        if num_characters > 0:
            _append(self._waiting, num_characters, origin)

    def release(self, num_characters: int, counts: bool = True) -> tuple[OriginRun, ...]:
        """The origins of the next characters, which must be decoded. Those that do not count are not among `runs`."""
        waiting = self._waiting
        if len(waiting) == 1 and waiting[0][0] == num_characters:  # as usual: all that is decoded is released
            ((_, origin),) = waiting
            waiting.clear()
            if counts:
                _append(self._all, num_characters, origin)
            return (OriginRun(num_characters, origin),)
        released: list[tuple[int, str]] = []
        while num_characters > 0:
            length, origin = waiting.popleft()
            if length > num_characters:
                waiting.appendleft((length - num_characters, origin))
                length = num_characters
            _append(released, length, origin)
            if counts:
                _append(self._all, length, origin)
            num_characters -= length
        return as_runs(released)

    @property
    def runs(self) -> tuple[OriginRun, ...]:
        """The origins of everything released so far that counts."""
        return as_runs(self._all)


def origin_of(draft: Draft, place: int) -> str:
    """The key of the proposer that drafted the token at this place; the target's after the draft."""
    for proposer, length in draft.parts:
        if place < length:
            return proposer
        place -= length
    return TARGET.key


def fitted_runs(runs: Sequence[OriginRun], length: int) -> tuple[OriginRun, ...]:
    """Runs fitted to `length` characters: the excess is cut off at the end, and what is missing is the target's own."""
    fitted: list[OriginRun] = []
    for run in runs:
        size = min(run.num_characters, length)
        length -= size
        if size:
            fitted.append(OriginRun(size, run.origin))
    return (*fitted, OriginRun(length, TARGET.key)) if length else tuple(fitted)


def as_runs(pairs: Iterable[tuple[int, str]]) -> tuple[OriginRun, ...]:
    return tuple(OriginRun(length, origin) for length, origin in pairs)


def _append(runs: list[tuple[int, str]] | deque[tuple[int, str]], num_characters: int, origin: str) -> None:
    if runs and runs[-1][1] == origin:
        runs[-1] = (runs[-1][0] + num_characters, origin)
    else:
        runs.append((num_characters, origin))


def text_kind(text: str) -> TextKind:
    """A rough rule: code if two fifths are in fences; outside of them, numbers if three tenths are digits or operators,
    and lists if half of the lines, and at least three, are items or rows of a table; else prose."""
    code, rest = _split_at_fences(text)
    num_code, num_rest = _num_signs(code), _num_signs(rest)
    if num_code and num_code >= _CODE_SHARE * (num_code + num_rest):
        return TextKind.CODE
    lines = [line for line in rest.split("\n") if line.strip() and not _RULE.fullmatch(line)]
    items = [line for line in lines if _ITEM.match(line)]
    words = "".join(_ITEM.sub("", line, count=1) for line in lines)  # the numbers of a list do not count
    if sum(sign in _NUMBER_SIGNS for sign in words) >= _NUMBERS_SHARE * max(1, _num_signs(words)):
        return TextKind.NUMBERS
    if len(items) >= _MIN_ITEMS and len(items) >= _LIST_SHARE * len(lines):
        return TextKind.LISTS
    return TextKind.PROSE


def _split_at_fences(text: str) -> tuple[str, str]:
    """The text inside and outside of fences; an unclosed one ends with the text."""
    inside: list[str] = []
    outside: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif fence and mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        else:
            (inside if fence else outside).append(line)
    return "\n".join(inside), "\n".join(outside)


def _num_signs(text: str) -> int:
    return len(text) - sum(map(text.count, " \n\t\r"))


def _new_decoder() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder("utf-8")(errors="replace")


def overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` with which `stop` begins, but not all of it."""
    return next((n for n in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:n])), 0)
