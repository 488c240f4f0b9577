"""What passes cost, measured on a target."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from engine.speculation.model.interface import FloatRows, Interrupted
from engine.speculation.proposers.costs import measure_passes
from engine.values.stop_signal import StopSignal
from tests.fakes.clock import FakeClock
from tests.fakes.target import FakeTarget


class CountingTarget(FakeTarget):
    """Remembers how many tokens each pass had, and takes its time."""

    def __init__(self, pass_s: float = 0.0, context_size: int = 512, max_tokens: int = 64) -> None:
        super().__init__(context_size=context_size, max_tokens=max_tokens)
        self.on_evaluate = lambda: time.sleep(pass_s)
        self.passes: list[int] = []

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        assert self.num_held == 0
        self.passes.append(len(tokens))
        return super().evaluate(tokens, num_rows, stop)


def test_passes_are_measured_on_the_target_which_holds_nothing_afterwards() -> None:
    target = CountingTarget()
    costs = measure_passes(target, StopSignal(), budget_s=10.0)
    assert set(target.passes) == set(range(1, 17))
    assert target.held == []
    assert all(costs.of(n) > 0 for n in range(1, 17))


def test_a_slow_target_is_timed_with_few_passes() -> None:
    target = CountingTarget(pass_s=0.02)
    costs = measure_passes(target, StopSignal(), budget_s=0.2)
    assert costs.of(1) >= 0.02
    assert target.passes in ([1, 4], [1, 4, 8])
    very_slow = CountingTarget(pass_s=0.05)
    measure_passes(very_slow, StopSignal(), budget_s=0.04)
    assert very_slow.passes == [1, 4]


def test_no_pass_is_longer_than_the_target_can_take() -> None:
    for target in (CountingTarget(context_size=12), CountingTarget(max_tokens=6)):
        measure_passes(target, StopSignal(), budget_s=10.0)
        assert max(target.passes) == 6


def test_a_measurement_that_was_stopped_leaves_nothing_behind() -> None:
    target, stop = FakeTarget(), StopSignal()
    passes = iter(range(100))
    target.on_evaluate = lambda: stop.set() if next(passes) == 5 else None
    with pytest.raises(Interrupted):
        measure_passes(target, stop, budget_s=10.0)
    assert target.held == []


class Experts(FakeTarget):
    """Reads weights for each different token of a pass, as a mixture of experts does."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(max_tokens=64)
        self._clock = clock

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        self._clock.spend(0.001 * len(set(tokens)))
        return super().evaluate(tokens, num_rows, stop)


def test_passes_are_measured_over_different_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = measure_passes(Experts(FakeClock(monkeypatch)), StopSignal(), budget_s=10.0)
    assert [costs.of(n) for n in (1, 4, 16)] == pytest.approx([0.001, 0.004, 0.016])
