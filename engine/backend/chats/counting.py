"""Counts the tokens of what the user writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.backend.chats.target_in_use import TargetInUse
from engine.values.prompts import TokenCount

_SAMPLED = 2_000  # characters of a text that is too long to count all its tokens


@dataclass(frozen=True)
class Counting:
    """Does not wait for the reply in progress."""

    _target: Callable[[], TargetInUse | None]

    def count(self, text: str) -> TokenCount | None:
        """None if this program runs no target."""
        target = self._target()
        if target is None or target.local is None:
            return None
        number = target.count_tokens(text)
        if number is not None:
            return TokenCount(number)
        sample = text[len(text) // 2 :][:_SAMPLED]
        return TokenCount(None, round((target.count_tokens(sample) or 0) * len(text) / len(sample)))
