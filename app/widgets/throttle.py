"""Joins bursts of requests into few runs: tokens may arrive faster than the screen can be painted."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from PySide6.QtCore import QObject, Qt, QTimer, Slot


class Throttle(QObject):
    """Runs a function at the first request, and then at most once per interval.

    The interval grows with the measured cost of the last run: with a `rest_factor` of 3 the function takes at most a
    quarter of the thread, however slow it is. After a request during an interval, one run follows at its end.
    """

    def __init__(
        self,
        run: Callable[[], None],
        interval_ms: int = 33,
        rest_factor: float = 3.0,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._run = run
        self._interval_ms = interval_ms
        self._rest_factor = rest_factor
        self._wanted = False
        self._timer = QTimer(self, singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_timeout)

    def request(self) -> None:
        if self._timer.isActive():
            self._wanted = True
        else:
            self._run_now()

    def cancel(self) -> None:
        self._wanted = False
        self._timer.stop()

    def _run_now(self) -> None:
        self._wanted = False
        started = perf_counter()
        try:
            self._run()
        finally:
            cost_ms = (perf_counter() - started) * 1000
            self._timer.start(max(self._interval_ms, int(cost_ms * self._rest_factor)))

    @Slot()
    def _on_timeout(self) -> None:
        if self._wanted:
            self._run_now()
