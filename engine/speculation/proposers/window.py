"""What a drafter holds of a text that may be longer than it can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.speculation.drafter.interface import Drafter
from engine.speculation.numerics.draft import common_prefix_length

_ROOM_SHARE = 8  # of what the drafter can hold, an eighth is for drafts
_FRONT_SHARE = 16  # and a sixteenth for the beginning, which says whose turn it is, and what the chat is about
_LEAST_ALIKE = 16  # tokens in a row: fewer occur twice by chance


@dataclass(frozen=True, slots=True)
class _Plan:
    """How to come to hold a part of a text."""

    tokens: list[int]  # that part
    num_certain: int  # of these, from the first on
    dropped: tuple[tuple[int, int], ...]  # parts of what is held that are dropped one after another: from, to
    num_alike: int  # of `tokens`: those held then, from the first on


class ReadingWindow:
    """The tokens that a drafter holds: the beginning of the text, and its end.

    Where the text grows beyond what it can hold, a part behind the beginning is dropped, and what comes after moves
    forward in the drafter's cache, unread (llama.cpp's context shift; StreamingLLM, arXiv 2309.17453). Another text, as
    the prompt of the next reply, is looked for in what is held wherever it stands, so that only what is new is read,
    though the same part is missing, or the target has dropped its oldest turns, or earlier thoughts. A drafter that
    cannot move what it holds reads the end again, half of what it can hold at a time. What a drafter holds decides what
    it guesses, never what may be written.
    """

    def __init__(self, drafter: Drafter) -> None:
        self._drafter = drafter
        self.held: list[int] = []
        self.num_certain = 0  # of these, held for good while the reply goes on

    def num_unread_of(self, text: Sequence[int]) -> int:
        """The number of tokens to be read before it holds the end of another text. Changes nothing."""
        plan = self._plan(text, 0, 0)
        return len(plan.tokens) - plan.num_alike

    def num_unread_after(self, num_more: int) -> int:
        """The number of tokens to be read once that many more follow those held for good."""
        if self.num_certain + num_more <= self._most or self._drafter.can_drop:
            return num_more
        return self._drafter.max_held // 2

    def begin(self) -> None:
        """The next tokens are the beginning of another text."""
        self.num_certain = 0

    def clear(self) -> None:
        """The drafter holds nothing any more."""
        self.held.clear()

    def forget_end(self) -> None:
        """Forgets what the drafter does not hold any more."""
        del self.held[self._drafter.num_held :]

    def unread(self, tokens: Sequence[int], num_certain: int) -> list[int]:
        """What is to be read, at least one token, so that `tokens` follow those held for good, as the first
        `num_certain` of them are to be."""
        held, before = self.held, self.num_certain
        if not before or before + len(tokens) > self._most:
            plan = self._plan([*held[:before], *tokens], before, before + num_certain)
            for start, end in plan.dropped:
                self._drafter.drop(start, end)
                del held[start:end]
            tokens, num_alike, self.num_certain = plan.tokens, plan.num_alike, plan.num_certain
            before = 0
        else:
            num_alike = before + common_prefix_length(held[before:], tokens)
            self.num_certain = before + num_certain
        self._drafter.roll_back(min(num_alike, before + len(tokens) - 1))
        num_kept = self._drafter.num_held
        found = [*held[num_kept:before], *tokens[max(0, num_kept - before) :]]
        del held[num_kept:]
        return found

    @property
    def _most(self) -> int:
        size = self._drafter.max_held
        return size - size // _ROOM_SHARE

    @property
    def _front(self) -> int:
        return self._drafter.max_held // _FRONT_SHARE

    def _plan(self, text: Sequence[int], num_known: int, num_certain: int) -> _Plan:
        """`num_known`: tokens at its beginning that are known to be held; `num_certain`: those to be held for good."""
        held, size, tokens = self.held, self._drafter.max_held, [*text]
        num_alike = num_known + common_prefix_length(held[num_known:], tokens[num_known:])
        dropped: list[tuple[int, int]] = []
        if not num_known and num_alike < min(len(held), len(tokens)):
            start, place, length = self._elsewhere(tokens, num_alike)
            if length:
                if start > num_alike:
                    dropped.append((num_alike, start))
                del tokens[num_alike:place]
                num_certain -= max(0, min(num_certain, place) - num_alike)
                num_alike += length
        if len(tokens) > self._most:
            moves = self._drafter.can_drop and num_alike > size // 2
            front = self._front
            end = front + len(tokens) - (self._most - size // 4 if moves else size // 2)
            if moves:
                dropped.append((front, min(end, num_alike)))
            del tokens[front:end]
            num_certain -= max(0, min(num_certain, end) - front)
            num_alike = max(front, num_alike - (end - front)) if moves else min(num_alike, front)
        return _Plan(tokens, num_certain, tuple(dropped), min(num_alike, len(tokens) - 1))

    def _elsewhere(self, tokens: Sequence[int], num_alike: int) -> tuple[int, int, int]:
        """Looks for the longest part of what is held behind the first `num_alike` tokens that the text can go on with
        there, where some of it has to be left out. Returns where that stands in what is held and in the text, and its
        length; 0: there is none."""
        held, size = self.held, self._drafter.max_held
        first = last = num_alike
        if len(tokens) > self._most:
            first = max(num_alike, len(tokens) - 2 * size)  # what stands further in front leaves too much to read
            last = max(num_alike, len(tokens) - size // 2)
        end = len(held) if self._drafter.can_drop else num_alike + _LEAST_ALIKE
        places: dict[tuple[int, ...], int] = {}
        for start in range(num_alike, min(end, len(held)) - _LEAST_ALIKE + 1):
            places.setdefault(tuple(held[start : start + _LEAST_ALIKE]), start)
        best, place = (0, 0, 0), first
        while place <= last:
            found = places.get(tuple(tokens[place : place + _LEAST_ALIKE]))
            length = 0 if found is None else common_prefix_length(held[found:], tokens[place:])
            if found is not None and length > best[2]:
                best = found, place, length
            place += max(1, length)
        return best
