"""A thread that carries out commands one after the other. No Qt, no knowledge of what the commands mean."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

from engine.commands import Command
from engine.errors import MendableError
from engine.events import Event, Failed
from engine.stop_signal import StopSignal

_logger = logging.getLogger("slipstream.worker")

Handle = Callable[[Command, StopSignal], None]
Emit = Callable[[Event], None]


class Worker:
    """Runs `handle` for every posted command on a thread of its own, and says in an event when one failed.

    Whatever a command raises, the next one is carried out. `on_end` runs on the thread when it ends.
    """

    def __init__(self, name: str, handle: Handle, emit: Emit, on_end: Callable[[], None] = lambda: None) -> None:
        self._handle = handle
        self._emit = emit
        self._on_end = on_end
        self._inbox: queue.SimpleQueue[tuple[Command, StopSignal] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._unfinished: set[StopSignal] = set()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def post(self, command: Command) -> StopSignal:
        """Queues the command. Setting the returned signal ends it early, also when it has not begun yet."""
        stop = StopSignal()
        with self._lock:
            if self._closing:
                stop.set()
                return stop
            self._unfinished.add(stop)
        self._inbox.put((command, stop))
        return stop

    def close(self, timeout_s: float) -> bool:
        """Ends everything that was posted. False if the thread is still busy after `timeout_s`."""
        with self._lock:
            self._closing = True
            for stop in self._unfinished:
                stop.set()
        self._inbox.put(None)
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (item := self._inbox.get()) is not None:
            command, stop = item
            if not (self._closing and stop.is_set()):  # nobody waits for what has not begun when the app is closed
                self._carry_out(command, stop)
            with self._lock:
                self._unfinished.discard(stop)
        self._on_end()

    def _carry_out(self, command: Command, stop: StopSignal) -> None:
        try:
            self._handle(command, stop)
        except MendableError as error:
            _logger.info("%s: %s", type(command).__name__, error)
            self._emit(Failed(str(error), command))
        except Exception as error:
            _logger.exception("%s failed", type(command).__name__)
            reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            self._emit(
                Failed(f"Something went wrong inside Slipstream ({reason}). What was kept is safe; try again.", command)
            )
