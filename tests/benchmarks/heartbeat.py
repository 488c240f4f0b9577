"""How long the interface thread is held up: a timer that should beat every millisecond, and by how much it is late."""

from __future__ import annotations

from time import perf_counter

from PySide6.QtCore import QObject, Qt, QTimer, Slot


class Heartbeat(QObject):
    """Beats from `start` to `stop`."""

    def __init__(self) -> None:
        super().__init__()
        self._late_ms: list[float] = []
        self._last = 0.0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(1)
        self._timer.timeout.connect(self._beat)

    def start(self) -> None:
        """Begins anew."""
        self._late_ms = []
        self._last = perf_counter()
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()

    @property
    def num_beats(self) -> int:
        return len(self._late_ms)

    def longest_ms(self) -> float:
        return max(self._late_ms)

    def percentile_ms(self, share: float) -> float:
        return sorted(self._late_ms)[int(share * len(self._late_ms))]

    @Slot()
    def _beat(self) -> None:
        now = perf_counter()
        self._late_ms.append(max(0.0, (now - self._last) * 1000 - 1))
        self._last = now
