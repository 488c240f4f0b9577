"""The user goes first: what a program asked for gives way to what the user wants of the target meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.values.errors import NotPossible
from engine.values.requests import Call, Waits
from engine.values.stop_signal import StopSignal


class Precedence:
    """Implements `replies.writing.Breaks`. The chat thread calls all methods but `note`."""

    def __init__(
        self, waiting: Callable[[], Mapping[StopSignal, Call]], carry_out: Callable[[StopSignal], None]
    ) -> None:
        """`waiting`: what has not begun, first posted first; `carry_out` does so with one of these, at once."""
        self._waiting = waiting
        self._carry_out = carry_out
        self._signal: StopSignal | None = None
        self._is_noted = True  # whether the user may be waiting: the queue is not searched at each round

    def note(self, call: Call) -> None:
        """It was posted. Any thread."""
        if call.method.door.waits is Waits.USER:
            self._is_noted = True
            if self._signal is not None:
                self._signal.set()

    def signal(self, stop: StopSignal) -> StopSignal:
        """Is set with `stop`, and as soon as the user waits."""
        self._signal = signal = stop.follower()
        if self.is_due:
            signal.set()
        return signal

    @property
    def is_due(self) -> bool:
        if self._is_noted:
            self._is_noted = False  # before looking, and never after it: what is posted meanwhile is noted again
            if any(each.method.door.waits is Waits.USER for each in self._waiting().values()):
                self._is_noted = True
        return self._is_noted

    def give_way(self) -> None:
        """Carries out what the user waits for. Raises NotPossible where nothing can go on after that."""
        while self.is_due:
            stop, first = next(
                each for each in self._waiting().items() if each[1].method.door.waits is not Waits.PROGRAM
            )
            if not first.method.door.goes_between:
                raise NotPossible(
                    "Slipstream needed its model for something else before this was finished; ask again in a moment."
                )
            self._carry_out(stop)
