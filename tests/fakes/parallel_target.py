"""A working target with several sequences: the fake target's tokens, and rows computed from what a slot holds."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from engine.speculation.model.interface import FloatRow, Interrupted, TargetLimits
from engine.values.stop_signal import StopSignal
from tests.fakes.target import END, PIECES, FakeTarget, NextToken

RowAfter = Callable[[Sequence[int]], FloatRow]
_LETTERS = tuple(b"abcdefghij .?\n")


def babbles(tokens: Sequence[int]) -> FloatRow:
    """Random letters, sentences and ends, the same ones after the same tokens."""
    return _babbled(zlib.crc32(np.asarray(tokens, np.int32).tobytes()))


@lru_cache(8192)
def _babbled(seed: int) -> FloatRow:
    row = np.random.default_rng(seed).normal(size=len(PIECES)).astype(np.float32)
    row[[*_LETTERS, END]] += 5
    row.setflags(write=False)
    return row


def surely(next_token: NextToken) -> RowAfter:
    def row_after(tokens: Sequence[int]) -> FloatRow:
        row = np.zeros(len(PIECES), np.float32)
        row[next_token(tokens)] = 30
        return row

    return row_after


class FakeParallelTarget:
    """Implements `model.interface.ParallelTarget`."""

    def __init__(self, row_after: RowAfter = babbles, num_slots: int = 4, context_size: int = 768) -> None:
        self._one = FakeTarget()
        self._row_after = row_after
        self._rows = np.zeros((num_slots, len(PIECES)), np.float32)
        self.vocabulary = self._one.vocabulary
        self.description = self._one.description
        self.num_slots = num_slots
        self.limits = TargetLimits(context_size, context_size, 1, 0)
        self.is_closed = False
        self.held: dict[int, list[int]] = {}
        self.num_passes = 0
        self.on_evaluate: Callable[[], None] = lambda: None

    def tokenize(self, text: str) -> list[int]:
        return self._one.tokenize(text)

    def evaluate(self, tokens: Mapping[int, Sequence[int]], stop: StopSignal | None = None) -> dict[int, FloatRow]:
        self.num_passes += 1
        self.on_evaluate()
        if stop is not None and stop.is_set():
            self.held.clear()
            raise Interrupted
        assert tokens
        for place, slot in enumerate(sorted(tokens)):
            assert 0 <= slot < self.num_slots
            assert tokens[slot]
            held = self.held.setdefault(slot, [])
            held += tokens[slot]
            assert len(held) <= self.limits.context_size
            self._rows[place] = self._row_after(held)
        return dict(zip(sorted(tokens), self._rows, strict=False))

    def copy(self, slot: int, into: int) -> None:
        assert not self.held.get(into)
        self.held[into] = [*self.held[slot]]

    def drop(self, slot: int) -> None:
        self.held.pop(slot, None)

    def close(self) -> None:
        self.is_closed = True
        self.held.clear()
