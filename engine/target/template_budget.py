"""What a chat template may still make, in memory and time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Self

from jinja2 import TemplateError

from engine.target.prompt_text import PromptText, said_in

# What one rendering may make, in characters. The templates of seventy models take a few thousand by themselves, and at
# most eight for each character that was said.
_ROOM = 16_000_000
_ROOM_PER_CHARACTER = 16
_SECONDS = 0.7  # of processor time, a multiple of what those templates take for a chat of 5,000 messages
_LOOK_EVERY = 20_000  # characters or steps: milliseconds
ITEM = 32  # characters take as long and as much memory as an item of a list
PIECE = 48  # … and as a short text with what is known of it
COMPARED_AT_ONCE = 4  # a power of two: of characters, in the time of a step
MAX_ITEMS = 100_000  # of range() and of what `*` makes
TOO_LARGE = "it makes values that are too large"


class Budget:
    """What is left of memory and time."""

    def __init__(self, num_said: int) -> None:
        """`num_said`: characters in the messages."""
        self._left = _ROOM + _ROOM_PER_CHARACTER * num_said
        self._end = time.thread_time() + _SECONDS
        self._taken, self._next_look = 0, _LOOK_EVERY

    def take(self, amount: int) -> None:
        """`amount`: of characters about to be made, or of steps. Raises TemplateError."""
        self._left -= amount
        self._taken += amount
        if self._taken > self._next_look or self._left < 0:
            if self._left < 0:
                raise TemplateError(TOO_LARGE)
            if time.thread_time() > self._end:
                raise TemplateError("it takes too long")
            self._next_look = self._taken + _LOOK_EVERY

    def give_back(self, amount: int) -> None:
        self._left += amount


class JoinedText(PromptText):
    """Gives back what it took when it is gone: templates may lengthen one text with every message."""

    __slots__ = ("_budget",)
    _budget: Budget

    def __new__(cls, parts: Sequence[str], budget: Budget) -> Self:
        self = super().__new__(cls, "".join(parts), b"".join(map(said_in, parts)))
        self._budget = budget
        return self

    def __del__(self) -> None:
        self._budget.give_back(len(self))
