"""Heads that read the thoughts of a `FakeTarget`."""

from __future__ import annotations

import numpy as np

from engine.speculation.drafter.interface import FloatRow
from tests.fakes.target import NUM_THOUGHTS, PIECES


class FakeHeads:
    """Implements `drafter.interface.Heads`: every head is sure of what the target is going to say."""

    hidden = NUM_THOUGHTS

    def __init__(self, sure: float = 0.9, error: int = 0) -> None:
        """`error`: added to every token."""
        self.asked: list[tuple[list[int], int]] = []  # states and pending tokens
        self._sure = sure
        self._error = error

    def guess(self, state: FloatRow, pending: int) -> tuple[list[list[int]], list[list[float]]]:
        thoughts = [int(token) for token in np.asarray(state)]
        self.asked.append((thoughts, pending))
        tokens = [[(token + more) % len(PIECES) for more in (self._error, self._error + 1)] for token in thoughts[1:]]
        return tokens, [[self._sure, (1 - self._sure) / 2] for _ in tokens]
