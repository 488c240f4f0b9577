"""A thread that carries out commands one after the other. It knows neither Qt nor what the commands mean."""

from __future__ import annotations

import logging
import math
import queue
import threading
import time
from collections.abc import Callable

from engine.values.commands import Command
from engine.values.errors import MendableError, ServerNotAgreed, TargetMissing, TargetSuspect
from engine.values.events import Failed, Finished, Listener
from engine.values.requests import BROKEN, Call, reason_of
from engine.values.sentences import say
from engine.values.stop_signal import StopSignal

_logger = logging.getLogger("slipstream.worker")

Handle = Callable[[Command, StopSignal], None]

# llama.cpp tokenizes for some models with std::regex, which recurses once per character of a word, of which `Tokenizer`
# leaves 4,096: two megabytes, more than threads have on some systems. Memory is used as it is needed.
_STACK_BYTES = 16 << 20
_LOOK_S = 0.05  # between two looks at the stop signal, which wakes no thread


def deep_thread(run: Callable[[], None], name: str) -> threading.Thread:
    """A started daemon thread whose stack is deep enough to tokenize any pasted text."""
    thread = threading.Thread(target=run, name=name, daemon=True)
    usual = threading.stack_size(_STACK_BYTES)
    try:
        thread.start()
    except RuntimeError:  # no room for such a stack
        threading.stack_size(usual)
        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
    finally:
        threading.stack_size(usual)
    return thread


class Worker:
    """Runs `handle` for every posted command on its own thread, and emits `Finished` or `Failed` when it has ended.

    Whatever a command raises, the next one is carried out. `on_end` runs on the thread when it ends. A command that is
    stopped before it begins, as all are that wait when the worker ends, is dropped: a request is cancelled, any other
    command counts as finished. Only what `is_owed` is carried out nevertheless.
    """

    def __init__(
        self,
        name: str,
        handle: Handle,
        emit: Listener,
        on_end: Callable[[], None] = lambda: None,
        is_owed: Callable[[Command], bool] = lambda _command: False,
        on_posted: Callable[[Command], None] = lambda _command: None,
    ) -> None:
        self._handle = handle
        self._is_owed = is_owed
        self._on_posted = on_posted
        self._emit = emit
        self._on_end = on_end
        self._inbox: queue.SimpleQueue[tuple[Command, StopSignal] | None] = queue.SimpleQueue()
        self._lock = threading.Condition()
        self._unfinished: dict[StopSignal, Command] = {}
        self._waiting: set[StopSignal] = set()  # of commands that have not begun
        self._closing = False
        self._name = name
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = deep_thread(self._run, self._name)

    def signal(self) -> StopSignal:
        """A stop signal for the command that is posted next."""
        return StopSignal(self._drop)

    def post(self, command: Command, stop: StopSignal | None = None) -> StopSignal:
        """Queues the command. Setting the returned signal, `stop` if it is given, ends it early, also when it has not
        begun yet."""
        stop = stop or self.signal()
        with self._lock:
            is_taken = not self._closing
            if is_taken:
                self._unfinished[stop] = command
                self._waiting.add(stop)
        if is_taken:
            self._inbox.put((command, stop))
            self._on_posted(command)
        else:
            stop.set()
            self._cancel(command)
        return stop

    @property
    def unfinished(self) -> tuple[Command, ...]:
        """First posted first; the first of them may have begun."""
        with self._lock:
            return tuple(self._unfinished.values())

    @property
    def waiting(self) -> dict[StopSignal, Command]:
        """What has not begun, first posted first."""
        with self._lock:
            return {stop: command for stop, command in self._unfinished.items() if stop in self._waiting}

    def carry_out_now(self, stop: StopSignal) -> None:
        """One that waits, inside the one that is being carried out; on its own thread."""
        with self._lock:
            command = self._unfinished.get(stop)
        if command is not None:
            self._take(command, stop)

    def stop(self, kind: object) -> None:
        """Ends the commands of this kind that were posted until now, also those that have not begun yet. A kind is a
        type of commands, a method that is asked for, or a door."""
        with self._lock:
            stops = [stop for stop, command in self._unfinished.items() if _is_of(command, kind)]
        for stop in stops:
            stop.set()

    def settle(self, stop: StopSignal, kind: object = Command, timeout_s: float = math.inf) -> None:
        """Waits until the commands of this kind that were posted until now are carried out, but not longer, and not
        once it is stopped."""
        end = time.monotonic() + timeout_s
        with self._lock:
            wanted = {each for each, command in self._unfinished.items() if _is_of(command, kind)}
            while not (wanted.isdisjoint(self._unfinished) or stop.is_set() or time.monotonic() >= end):
                self._lock.wait(_LOOK_S)

    def end(self) -> None:
        """Ends everything that was posted, and then the thread; `join` waits for that."""
        with self._lock:
            self._closing = True
            for stop in self._unfinished:
                stop.set()
        self._inbox.put(None)

    def join(self, timeout_s: float) -> bool:
        """False if the thread is still busy after `timeout_s`."""
        if self._thread is None:
            return True
        self._thread.join(max(0.0, timeout_s))
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (item := self._inbox.get()) is not None:
            self._take(*item)
            del item  # the request is let go, although nothing follows it for now
        self._on_end()

    def _take(self, command: Command, stop: StopSignal) -> None:
        with self._lock:
            is_waiting = stop in self._waiting
            self._waiting.discard(stop)
        if is_waiting and (self._is_owed(command) or not stop.is_set()):
            self._carry_out(command, stop)
        elif is_waiting:
            self._cancel(command)
        self._end(stop)

    def _end(self, stop: StopSignal) -> None:
        with self._lock:
            self._unfinished.pop(stop, None)
            self._lock.notify_all()

    def _drop(self, stop: StopSignal) -> None:
        """Its turn need not come."""
        with self._lock:
            if self._closing or stop not in self._waiting or self._is_owed(self._unfinished[stop]):
                return
            self._waiting.remove(stop)
            command = self._unfinished.pop(stop)
            self._lock.notify_all()
        self._cancel(command)

    def _cancel(self, command: Command) -> None:
        if isinstance(command, Call):
            command.cancel()
        elif not self._closing:
            self._emit(Finished(command))

    def _carry_out(self, command: Command, stop: StopSignal) -> None:
        if isinstance(command, Call):
            self._handle(command, stop)
            return
        try:
            self._handle(command, stop)
        except MendableError as error:
            _logger.info("%s: %s", type(command), error)
            kinds = (isinstance(error, kind) for kind in (TargetMissing, TargetSuspect, ServerNotAgreed))
            self._emit(Failed(str(error), command, stop.is_set(), *kinds))
        except Exception as error:
            _logger.exception("%s failed", type(command))
            self._emit(Failed(say(BROKEN, reason=reason_of(error)), command, stop.is_set()))
        else:
            self._emit(Finished(command))


def _is_of(command: Command, kind: object) -> bool:
    if isinstance(kind, type):
        return isinstance(command, kind)
    return isinstance(command, Call) and command.is_of(kind)
