"""What passes of a target cost beside each other, seen between the replies of a measurement."""

from __future__ import annotations

from statistics import median

from engine.clock import now
from engine.stop_signal import StopSignal
from engine.target.interface import Target, TargetFeature

NUM_ROWS = (1, 2, 4, 8)
_REPEATS = 2  # the first builds the graph of this size


class PassProbe:
    """V(n) for a few n, once after each question: so the drift of the machine's speed falls on all of them alike."""

    def __init__(self, target: Target) -> None:
        self._target = target
        limits = target.limits
        can_roll_back = TargetFeature.ROLLBACK in target.features
        self._sizes = [n for n in NUM_ROWS if n <= min(limits.max_rows, limits.max_tokens)] if can_roll_back else []
        self._seconds: dict[int, list[float]] = {num_rows: [] for num_rows in self._sizes}

    def measure(self, stop: StopSignal) -> None:
        """Passes after what the target holds, which it holds again afterwards. Raises Interrupted."""
        if self._target.limits.context_size - self._target.num_held < max(self._sizes, default=0):
            return
        for num_rows in self._sizes:
            self._seconds[num_rows].append(min(self._time(num_rows, stop) for _ in range(_REPEATS)))

    @property
    def costs(self) -> dict[int, float]:
        """V(n) as multiples of V(1); empty where nothing was measured."""
        return {
            num_rows: median(s / single for s, single in zip(seconds, self._seconds[1], strict=False))
            for num_rows, seconds in self._seconds.items()
            if seconds
        }

    def _time(self, num_rows: int, stop: StopSignal) -> float:
        num_held, began = self._target.num_held, now()
        self._target.evaluate([0] * num_rows, num_rows, stop)
        seconds = now() - began
        self._target.roll_back(num_held)
        return seconds
