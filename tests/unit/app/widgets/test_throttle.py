from __future__ import annotations

from time import perf_counter, sleep

import pytest
from pytestqt.qtbot import QtBot

from app.widgets.throttle import Throttle

pytestmark = pytest.mark.usefixtures("qapp")


class Runs:
    def __init__(self, cost_s: float = 0.0) -> None:
        self.times: list[float] = []
        self._cost_s = cost_s

    def __call__(self) -> None:
        sleep(self._cost_s)
        self.times.append(perf_counter())


def test_the_first_request_runs_at_once() -> None:
    runs = Runs()
    Throttle(runs).request()
    assert len(runs.times) == 1


def test_a_burst_is_joined_into_one_more_run(qtbot: QtBot) -> None:
    runs = Runs()
    throttle = Throttle(runs, interval_ms=20)
    for _ in range(100):
        throttle.request()
    assert len(runs.times) == 1
    qtbot.waitUntil(lambda: len(runs.times) == 2)
    assert runs.times[1] - runs.times[0] >= 0.018


def test_without_a_request_nothing_runs_again(qtbot: QtBot) -> None:
    runs = Runs()
    throttle = Throttle(runs, interval_ms=1)
    throttle.request()
    qtbot.waitUntil(lambda: not throttle._timer.isActive())
    assert len(runs.times) == 1


def test_slow_runs_leave_the_thread_free_for_longer(qtbot: QtBot) -> None:
    runs = Runs(cost_s=0.03)
    throttle = Throttle(runs, interval_ms=1, rest_factor=3)
    throttle.request()
    throttle.request()
    qtbot.waitUntil(lambda: len(runs.times) == 2)
    assert runs.times[1] - runs.times[0] >= 0.09


def test_cancel_forgets_what_waits(qtbot: QtBot) -> None:
    runs = Runs()
    throttle = Throttle(runs, interval_ms=20)
    throttle.request()
    throttle.request()
    throttle.cancel()
    throttle.request()  # at once, for nothing is being waited for
    assert len(runs.times) == 2
    throttle.request()
    qtbot.waitUntil(lambda: len(runs.times) == 3)


def test_a_failed_run_does_not_end_the_throttling() -> None:
    def fail() -> None:
        raise ValueError("broken")

    throttle = Throttle(fail)
    with pytest.raises(ValueError, match="broken"):
        throttle.request()
    throttle.request()  # waits for its turn instead of failing at once
