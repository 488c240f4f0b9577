"""Asks the user whether a tool may be called, and waits for the answer."""

from __future__ import annotations

import threading

from engine.values.stop_signal import StopSignal
from engine.values.tools import Permission

_LOOK_S = 0.05  # how often to look at the stop signal, which wakes no thread


class Asking:
    """Any thread may call any method."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._answers: dict[str, Permission | None] = {}  # by the ids of the calls that are asked for

    def begin(self, call_id: str) -> None:
        """Accepts an answer to this call from now on. Call it before the user is asked."""
        with self._lock:
            self._answers[call_id] = None

    def wait(self, call_id: str, stop: StopSignal) -> Permission | None:
        """None when it is stopped before there is an answer."""
        with self._lock:
            while self._answers[call_id] is None and not stop.is_set():
                self._lock.wait(_LOOK_S)
            answer = self._answers.pop(call_id)
        return None if stop.is_set() else answer  # a stop outweighs a permission given before it

    def answer(self, call_id: str, permission: Permission) -> None:
        """Does nothing if the call is not waiting or has been answered."""
        with self._lock:
            if call_id in self._answers and self._answers[call_id] is None:
                self._answers[call_id] = permission
                self._lock.notify_all()
