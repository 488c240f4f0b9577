"""A machine on which passes take what is given, by a clock of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

import pytest

from engine.speculation.decoding.figures import DecodingFigures
from engine.speculation.model.interface import FloatRows
from engine.speculation.numerics.draft_length import PassCosts
from engine.values.stop_signal import StopSignal
from tests.fakes.target import FakeTarget, says


@dataclass
class Machine:
    """Takes as long for a pass as its costs say, times how busy it is, more or less."""

    seconds: dict[int, float]  # by rows
    change_s: float = 0.0  # more for a pass over another number of rows than the one before
    noise: float = 0.0  # at most, as a share
    busy: float = 1.0
    now_s: float = 0.0
    _last_rows: int = 1
    _dice: Random = field(default_factory=lambda: Random(7))

    @classmethod
    def running(cls, monkeypatch: pytest.MonkeyPatch, seconds: dict[int, float], change_s: float = 0.0) -> Machine:
        """One whose clock is that of the engine."""
        machine = cls(seconds, change_s)
        monkeypatch.setattr("engine.values.clock.perf_counter", lambda: machine.now_s)
        return machine

    @property
    def costs(self) -> PassCosts:
        return PassCosts(self.seconds, self.change_s)

    def work(self, num_rows: int) -> None:
        costs = self.costs
        seconds = costs.of(num_rows) + (costs.change_s if num_rows != self._last_rows else 0.0)
        self._last_rows = num_rows
        self.now_s += seconds * self.busy * (1 + self.noise * self._dice.uniform(-1, 1))

    def ratio(self, figures: DecodingFigures) -> float:
        """To plain decoding, of a reply with these passes, if the machine is never busy."""
        costs = self.costs
        spent_s = sum(costs.of(rows) * number for rows, number in figures.passes.items())
        return figures.num_written * costs.of(1) / (spent_s + costs.change_s * figures.num_changes)


class TimedTarget(FakeTarget):
    """Its passes take what they take on that machine."""

    def __init__(self, machine: Machine, text: str, can_roll_back: bool = True) -> None:
        super().__init__(says(text), context_size=4096, max_tokens=64, can_roll_back=can_roll_back)
        self._machine = machine

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        self._machine.work(len(tokens))
        return super().evaluate(tokens, num_rows, stop)
