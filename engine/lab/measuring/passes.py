"""What passes of a target cost beside each other, seen between the replies of a measurement."""

from __future__ import annotations

from statistics import median

from engine.stop_signal import StopSignal
from engine.target.interface import Target
from engine.target.passes import sample_tokens, time_pass

NUM_ROWS = (1, 2, 4, 8)
_REPEATS = 2  # the first builds the graph of this size


class PassProbe:
    """V(n) for a few n, once after each question: so the drift of the machine's speed falls on all of them alike."""

    def __init__(self, target: Target) -> None:
        self._target = target
        limits = target.limits
        longest = min(limits.max_rows, limits.max_tokens) if limits.rolls_back_freely else 0
        self._sizes = [num_rows for num_rows in NUM_ROWS if num_rows <= longest]
        self._tokens = sample_tokens(target, max(NUM_ROWS))
        self._seconds: dict[int, list[float]] = {num_rows: [] for num_rows in self._sizes}

    def measure(self, stop: StopSignal) -> None:
        """Passes after what the target holds, which it holds again afterwards. Raises Interrupted."""
        if self._target.limits.context_size - self._target.num_held < max(self._sizes, default=0):
            return
        for num_rows in self._sizes:
            self._seconds[num_rows].append(
                min(time_pass(self._target, self._tokens[:num_rows], stop) for _ in range(_REPEATS))
            )

    @property
    def costs(self) -> dict[int, float]:
        """V(n) as multiples of V(1); empty where nothing was measured."""
        return {
            num_rows: median(s / single for s, single in zip(seconds, self._seconds[1], strict=False))
            for num_rows, seconds in self._seconds.items()
            if seconds
        }
