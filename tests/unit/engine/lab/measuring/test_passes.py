from __future__ import annotations

from collections.abc import Sequence

import pytest

from engine.lab.measuring.machine import PassProbe
from engine.speculation.model.interface import FloatRows
from engine.values.stop_signal import StopSignal
from tests.fakes.clock import FakeClock
from tests.fakes.target import FakeTarget


class TimedTarget(FakeTarget):
    """A pass takes `base` seconds and one for each different token."""

    def __init__(self, clock: FakeClock, context_size: int = 512, max_tokens: int = 8) -> None:
        super().__init__(context_size=context_size, max_tokens=max_tokens)
        self.base = 1.0
        self._clock = clock

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        self._clock.spend(self.base + len(set(tokens)))
        return super().evaluate(tokens, num_rows, stop)


def test_passes_are_told_as_multiples_of_one_over_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    target = TimedTarget(FakeClock(monkeypatch))
    target.evaluate([7, 8, 9], 1, StopSignal())
    probe = PassProbe(target)
    assert probe.costs == {}
    for base in (1.0, 3.0, 2.0):  # the machine's speed drifts; the median of the ratios counts
        target.base = base
        probe.measure(StopSignal())
    assert probe.costs == pytest.approx({1: 1.0, 2: 4 / 3, 4: 6 / 3, 8: 10 / 3})
    assert target.held == [7, 8, 9]


def test_only_passes_that_the_target_can_make_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = PassProbe(TimedTarget(FakeClock(monkeypatch), max_tokens=4))
    probe.measure(StopSignal())
    assert set(probe.costs) == {1, 2, 4}
    full = PassProbe(TimedTarget(FakeClock(monkeypatch), context_size=4))
    full.measure(StopSignal())
    assert full.costs == {}
    for forgetful in (FakeTarget(can_roll_back=False), FakeTarget(max_rollback=7)):
        probe = PassProbe(forgetful)
        probe.measure(StopSignal())
        assert probe.costs == {}
