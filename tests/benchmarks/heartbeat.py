"""How long the interface thread is blocked: by how much a timer that should beat every millisecond is late.

Each time by the clock comes with the time that the thread itself computed. Where both are long, our own work blocked
the thread; where only the first is, it waited for Python's lock or for a processor core.
"""

from __future__ import annotations

from time import perf_counter, thread_time

from PySide6.QtCore import QObject, Qt, QTimer, Slot


class Heartbeat(QObject):
    """Beats from `start` to `stop`."""

    def __init__(self) -> None:
        super().__init__()
        self._late_ms: list[float] = []
        self._own_ms: list[float] = []
        self._last = 0.0
        self._last_own = 0.0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(1)
        self._timer.timeout.connect(self._beat)

    def start(self) -> None:
        """Starts again."""
        self._late_ms = []
        self._own_ms = []
        self._last = perf_counter()
        self._last_own = thread_time()
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()
        if not self._late_ms:  # all the time in one go
            self._beat()

    @property
    def num_beats(self) -> int:
        return len(self._late_ms)

    def longest_ms(self) -> float:
        return max(self._late_ms)

    def longest_own_ms(self) -> float:
        """The most that the interface thread computed between two beats."""
        return max(self._own_ms)

    def percentile_ms(self, share: float) -> float:
        return _percentile(self._late_ms, share)

    def percentile_own_ms(self, share: float) -> float:
        return _percentile(self._own_ms, share)

    @Slot()
    def _beat(self) -> None:
        now, own = perf_counter(), thread_time()
        self._late_ms.append(max(0.0, (now - self._last) * 1000 - 1))
        self._own_ms.append((own - self._last_own) * 1000)
        self._last = now
        self._last_own = own


def _percentile(values: list[float], share: float) -> float:
    return sorted(values)[int(share * len(values))]
