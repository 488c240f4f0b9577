"""Which proposer drafted which characters of a reply, while its tokens become text."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from engine.messages.origins import TARGET
from engine.messages.replies import OriginRun
from engine.numerics.draft import Draft


class TextOrigins:
    """Characters that are decoded but may not be shown yet wait here, as runs with the keys of their origins.

    A character that is made of several tokens belongs to the one that completes it.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, str]] = deque()
        self._all: list[tuple[int, str]] = []

    def note(self, num_characters: int, origin: str) -> None:
        """So many more characters are known."""
        if num_characters > 0:
            _append(self._waiting, num_characters, origin)

    def release(self, num_characters: int) -> tuple[OriginRun, ...]:
        """The first of those that wait are text now; at most as many as wait."""
        released: list[tuple[int, str]] = []
        waiting = self._waiting
        while num_characters > 0:
            length, origin = waiting.popleft()
            if length > num_characters:
                waiting.appendleft((length - num_characters, origin))
                length = num_characters
            _append(released, length, origin)
            _append(self._all, length, origin)
            num_characters -= length
        return as_runs(released)

    @property
    def runs(self) -> tuple[OriginRun, ...]:
        """Of all that was released."""
        return as_runs(self._all)


def origin_of(draft: Draft, place: int) -> str:
    """The key of the proposer that drafted the token at this place; the target's behind the draft."""
    for proposer, length in draft.parts:
        if place < length:
            return proposer
        place -= length
    return TARGET.key


def as_runs(pairs: Iterable[tuple[int, str]]) -> tuple[OriginRun, ...]:
    return tuple(OriginRun(length, origin) for length, origin in pairs)


def _append(runs: list[tuple[int, str]] | deque[tuple[int, str]], num_characters: int, origin: str) -> None:
    if runs and runs[-1][1] == origin:
        runs[-1] = (runs[-1][0] + num_characters, origin)
    else:
        runs.append((num_characters, origin))
