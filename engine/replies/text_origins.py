"""Who thought of which characters of a reply, while its tokens become text."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from engine.messages.replies import Origin, OriginRun
from engine.numerics.draft import Draft

_ORIGINS = {"recall": Origin.RECALL, "": Origin.TARGET}  # by the name of who drafted; any other is a drafter


class TextOrigins:
    """Characters that are known but may not be shown yet wait here, as runs, with who thought of them.

    A character that is made of several tokens belongs to the one that completes it.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, Origin]] = deque()
        self._all: list[tuple[int, Origin]] = []

    def note(self, num_characters: int, origin: Origin) -> None:
        """So many more characters are known."""
        if num_characters > 0:
            _append(self._waiting, num_characters, origin)

    def release(self, num_characters: int) -> tuple[OriginRun, ...]:
        """The first of those that wait are text now; at most as many as wait."""
        released: list[tuple[int, Origin]] = []
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


def origin_of(draft: Draft, place: int) -> Origin:
    """Who guessed the token at that place of a draft."""
    for proposer, length in draft.parts:
        if place < length:
            return _ORIGINS.get(proposer, Origin.DRAFTER)
        place -= length
    return Origin.TARGET


def as_runs(pairs: Iterable[tuple[int, Origin]]) -> tuple[OriginRun, ...]:
    return tuple(OriginRun(length, origin) for length, origin in pairs)


def _append(runs: list[tuple[int, Origin]] | deque[tuple[int, Origin]], num_characters: int, origin: Origin) -> None:
    if runs and runs[-1][1] is origin:
        runs[-1] = (runs[-1][0] + num_characters, origin)
    else:
        runs.append((num_characters, origin))
