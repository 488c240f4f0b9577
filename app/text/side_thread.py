"""Work off the interface thread, whose outcome comes back to it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import RLock
from typing import TypeVar

from PySide6.QtCore import QObject, Qt, Signal, Slot
from shiboken6 import isValid

_logger = logging.getLogger("slipstream.window")
_Outcome = TypeVar("_Outcome")


class SideThread(QObject):
    """One thread, which begins with the first work. It is Python's: QThreadPool waits for its jobs in a destructor that
    holds the interpreter lock, which the job needs in order to end."""

    _done = Signal(object, object)  # whom to tell, and what

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thread = ThreadPoolExecutor(1, name)
        self._lifetime = Lifetime()
        self._done.connect(self._tell, Qt.ConnectionType.QueuedConnection)
        self.destroyed.connect(stopper(self._thread, self._lifetime))

    def do(self, work: Callable[[], _Outcome], then: Callable[[_Outcome], object] = lambda _outcome: None) -> None:
        """Runs the work, then calls `then` on the interface thread, unless the work failed, which is logged, or this
        object is gone."""
        self._thread.submit(self._work, work, then)

    def _work(self, work: Callable[[], object], then: Callable[..., object]) -> None:
        try:
            outcome = work()
        except Exception:
            _logger.exception("Work beside the interface failed.")
            return
        with self._lifetime.lock:  # it is not destroyed meanwhile
            if not self._lifetime.is_over and isValid(self):
                self._done.emit(then, outcome)

    @Slot(object, object)
    def _tell(self, then: Callable[..., object], outcome: object) -> None:
        then(outcome)


class Lifetime:
    """The lifetime of an object that works on another thread, as seen from there."""

    def __init__(self) -> None:
        self.lock = RLock()  # a receiver of the signal may request more at once
        self.is_over = False


def stopper(thread: ThreadPoolExecutor, lifetime: Lifetime) -> Callable[[], None]:
    def stop() -> None:
        with lifetime.lock:
            if (
                lifetime.is_over
            ):  # dropping the work that waits may end what it was for, while the thread's lock is held
                return
            lifetime.is_over = True
        thread.shutdown(wait=False, cancel_futures=True)

    return stop
