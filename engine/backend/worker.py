"""A thread that carries out calls of services one after the other."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable

from engine.values.requests import Call
from engine.values.stop_signal import StopSignal

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
    """Runs `carry_out` for every posted call on its own thread.

    `on_end` runs on the thread when it ends. A call that is stopped before it begins, as all are that wait when the
    worker ends, is cancelled at once, unless its door `is_owed`.
    """

    def __init__(
        self,
        name: str,
        carry_out: Callable[[Call], None] = Call.carry_out,
        on_end: Callable[[], None] = lambda: None,
        on_posted: Callable[[Call], None] = lambda _call: None,
    ) -> None:
        self._carry_out = carry_out
        self._on_posted = on_posted
        self._on_end = on_end
        self._inbox: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._lock = threading.Condition()
        self._unfinished: dict[StopSignal, Call] = {}
        self._waiting: set[StopSignal] = set()  # of calls that have not begun
        self._closing = False
        self._name = name
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = deep_thread(self._run, self._name)

    def signal(self) -> StopSignal:
        """The signal of a request that is posted next. Setting it ends the call early, or drops it."""
        return StopSignal(self._drop)

    def post(self, call: Call) -> None:
        stop = call.request.signal
        with self._lock:
            is_taken = not self._closing
            if is_taken:
                self._unfinished[stop] = call
                self._waiting.add(stop)
        if is_taken:
            self._inbox.put(call)
            self._on_posted(call)
        else:
            stop.set()
            call.cancel()

    @property
    def unfinished(self) -> tuple[Call, ...]:
        """First posted first; the first of them may have begun."""
        with self._lock:
            return tuple(self._unfinished.values())

    @property
    def waiting(self) -> dict[StopSignal, Call]:
        """What has not begun, first posted first."""
        with self._lock:
            return {stop: call for stop, call in self._unfinished.items() if stop in self._waiting}

    def carry_out_now(self, stop: StopSignal) -> None:
        """A call that waits, inside the one that is being carried out; on its own thread."""
        with self._lock:
            call = self._unfinished.get(stop)
        if call is not None:
            self._take(call)

    def stop(self, kind: object) -> None:
        """Ends the calls of this method, or door, that were posted until now, including those that have not begun."""
        with self._lock:
            stops = [stop for stop, call in self._unfinished.items() if call.is_of(kind)]
        for stop in stops:
            stop.set()

    def settle(self, stop: StopSignal, kind: object = None, timeout_s: float = math.inf) -> None:
        """Waits until the calls of this kind, or all, that were posted until now are carried out, but not longer, and
        not once it is stopped."""
        end = time.monotonic() + timeout_s
        with self._lock:
            wanted = {each for each, call in self._unfinished.items() if kind is None or call.is_of(kind)}
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
        while (call := self._inbox.get()) is not None:
            self._take(call)
            del call  # the request is let go, although nothing follows it for now
        self._on_end()

    def _take(self, call: Call) -> None:
        stop = call.request.signal
        with self._lock:
            is_waiting = stop in self._waiting
            self._waiting.discard(stop)
        if is_waiting and (call.method.door.is_owed or not stop.is_set()):
            self._carry_out(call)
        elif is_waiting:
            call.cancel()
        with self._lock:
            self._unfinished.pop(stop, None)
            self._lock.notify_all()

    def _drop(self, stop: StopSignal) -> None:
        """Its turn need not come."""
        with self._lock:
            if self._closing or stop not in self._waiting or self._unfinished[stop].method.door.is_owed:
                return
            self._waiting.remove(stop)
            call = self._unfinished.pop(stop)
            self._lock.notify_all()
        call.cancel()
