"""Work that waits while a reply is awaited, and gives way when one is requested."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from engine.speculation.model.interface import Interrupted
from engine.values.stop_signal import StopSignal

_T = TypeVar("_T")
_GLANCE_S = 0.1


class Quiet:
    """Any thread may call any method."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._num_waiting = 0
        self._running: set[StopSignal] = set()

    @contextmanager
    def broken(self) -> Iterator[None]:
        """A reply is awaited inside the block."""
        with self._changed:
            self._num_waiting += 1
            for signal in self._running:
                signal.set()
        try:
            yield
        finally:
            with self._changed:
                self._num_waiting -= 1
                self._changed.notify_all()

    def run(self, work: Callable[[StopSignal], _T], stop: StopSignal) -> _T:
        """What `work` returns. It begins when no reply is awaited, and begins again if one was requested meanwhile: its
        signal is then set, on which it must raise Interrupted. Raises Interrupted when `stop` is set."""
        while True:
            signal = self._begin(stop)
            try:
                return work(signal)
            except Interrupted:
                if stop.is_set():
                    raise
            finally:
                with self._changed:
                    self._running.discard(signal)

    def _begin(self, stop: StopSignal) -> StopSignal:
        with self._changed:
            while self._num_waiting and not stop.is_set():
                self._changed.wait(_GLANCE_S)
            if stop.is_set():
                raise Interrupted
            signal = StopSignal()
            self._running.add(signal)
            return signal
