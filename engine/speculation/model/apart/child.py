"""Calls a function in a separate process, for work that may end the process that tries it."""

from __future__ import annotations

import math
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import psutil

from engine.speculation.model.apart.sandbox import READING, Access, cage, confine
from engine.values.errors import Cancelled

_GLANCE_S = 0.05
_LONGEST_ANSWER = 256 << 20  # bytes
_PATIENCE = 10  # times the processor time of a child is waited for: other programs may be busy
_START_S = 10.0  # of processor time, for Python and its libraries, on a slow machine
_START_BYTES = 1 << 30  # for the same, where the kernel does not start counting after they are loaded


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a child may take; None: no limit. One that takes more dies."""

    memory_bytes: int | None = None  # its own, over what it has at first; files that it maps do not count
    processor_s: float | None = None  # of all its threads together; waiting for a disk does not count
    wall_s: float | None = None


def ask_child(
    look: Callable[..., str],
    arguments: tuple[Any, ...],
    is_stopped: Callable[[], bool],
    limits: Limits = Limits(),
    access: Access = READING,
) -> str | None:
    """Returns what `look` (a function of a module) returns; None if its process dies, of itself or at its limits. Its
    output is discarded, and it may open what `access` says. Raises Cancelled when `is_stopped` says so meanwhile."""
    reader, writer = multiprocessing.Pipe(duplex=False)
    process = begin_child(look, arguments, limits, access, writer)
    writer.close()
    talk = _Talk(reader)
    try:
        said = talk.ask(None, is_stopped, _Watched(process.pid or 0, limits))
        return None if said is None else said.decode()
    except UnicodeError:
        return None
    finally:
        _end(process, talk)


def begin_child(
    run: Callable[..., Any],
    arguments: tuple[Any, ...],
    limits: Limits,
    access: Access | None,
    answers_to: Connection | None = None,
) -> BaseProcess:
    """Starts a process that runs this function of a module, and ends with this one. Its output is discarded. It may
    open only what `access` says; None: everything. What the function returns, a text, is sent to `answers_to`."""
    spawn = multiprocessing.get_context("spawn")  # a fork would copy the threads' locks
    passed = (run.__module__, run.__qualname__, arguments, limits, access, answers_to)
    process = spawn.Process(target=_run, args=passed, daemon=True, name="slipstream-child")
    with _interrupts_held_back():
        process.start()
    return process


def take_at_most(processor_s: float) -> None:
    """Limits the processor time of a child, which calls this, from now on, even if no one waits any more; 0: no
    limit."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, processor_s)


class ChildEnded(Exception):
    """The child has ended, of itself or at its limits."""


class Child:
    """A child that answers questions, one at a time. For any threads. Its process ends with it."""

    def __init__(
        self,
        serve: Callable[..., None],
        arguments: tuple[Any, ...],
        limits: Limits,
        access: Access = READING,
    ) -> None:
        """`serve`, a function of a module, gets the child's end of the pipe after its arguments, and limits the time of
        an answer. Of `limits`, those of memory count."""
        self._lock = threading.Lock()
        ours, theirs = multiprocessing.Pipe()
        self._process = begin_child(serve, (*arguments, theirs), limits, access)
        theirs.close()
        self._watched = _Watched(self._process.pid or 0, Limits(limits.memory_bytes))
        self._talk = _Talk(ours)
        self.end = weakref.finalize(self, _end, self._process, self._talk)

    @property
    def has_ended(self) -> bool:
        with self._lock:
            return not self.end.alive or not self._process.is_alive()

    def ask(self, question: bytes | None, processor_s: float, is_stopped: Callable[[], bool] = lambda: False) -> bytes:
        """The answer, for which it may compute this long; without a question, what it says by itself. Raises
        ChildEnded, and Cancelled when `is_stopped` says so meanwhile; the child ends then as well."""
        with self._lock:
            try:
                answer = self._talk.ask(question, is_stopped, self._watched, _PATIENCE * processor_s)
                if answer is None:
                    raise ChildEnded
                return answer
            except BaseException:
                self.end()
                raise


def _end(process: BaseProcess, talk: _Talk) -> None:
    process.kill()
    process.join()
    process.close()
    talk.end()


class _Talk:
    """Questions to a child and its answers, on a thread: a hostile child may leave a question unread, or begin an
    answer and never end it."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._questions: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._has_ended = False
        threading.Thread(target=self._run, daemon=True, name="slipstream-child-answers").start()

    def ask(
        self,
        question: bytes | None,
        is_stopped: Callable[[], bool],
        watched: _Watched,
        within_s: float = math.inf,
    ) -> bytes | None:
        """The answer; None if the child has ended, or must be: at its limits, or when the time is over. Raises
        Cancelled when `is_stopped` says so meanwhile. After either, call `end`."""
        if self._has_ended:
            return None
        self._questions.put(question)
        end = time.monotonic() + within_s
        while True:
            with suppress(queue.Empty):
                return self._answers.get(timeout=_GLANCE_S)
            if is_stopped():
                raise Cancelled("Checking the file was cancelled.")
            if time.monotonic() > end or watched.has_outgrown():
                return None

    def end(self) -> None:
        """Ends the thread; the child must have ended, so that nothing is waited for."""
        self._has_ended = True
        self._questions.put(None)

    def _run(self) -> None:
        with self._pipe, suppress(EOFError, OSError, ValueError):
            while True:
                question = self._questions.get()
                if self._has_ended:
                    return
                if question is not None:
                    self._pipe.send_bytes(question)
                self._answers.put(self._pipe.recv_bytes(_LONGEST_ANSWER))
        self._answers.put(None)


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Makes a child started meanwhile ignore Ctrl+C, at which it would print a traceback."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Watched:
    """A child as watched from the parent, on any platform: the kernel's own limits are stricter where it has them."""

    def __init__(self, pid: int, limits: Limits) -> None:
        self._limits = limits
        self._process = psutil.Process(pid)
        self._end = None if limits.wall_s is None else time.monotonic() + limits.wall_s

    def has_outgrown(self) -> bool:
        if self._end is not None and time.monotonic() > self._end:
            return True
        try:
            return self._takes_too_much()
        except psutil.Error:  # it has just ended; what it said, if anything, is in the pipe
            return False

    def _takes_too_much(self) -> bool:
        limits = self._limits
        if limits.processor_s is not None:
            times = self._process.cpu_times()
            if times.user + times.system > limits.processor_s + _START_S:
                return True
        if limits.memory_bytes is None or sys.platform == "linux":
            return False
        return bool(self._process.memory_full_info().uss > limits.memory_bytes + _START_BYTES)


def _limit_oneself(limits: Limits) -> None:
    """Applies the limits in the child. A crash writes no core dump, which may hold a user's words."""
    if sys.platform == "win32":
        return
    import resource

    def lower(kind: int, most: int) -> None:
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most, most) if hard == resource.RLIM_INFINITY else (min(most, hard), hard))

    lower(resource.RLIMIT_CORE, 0)
    if limits.memory_bytes is not None and sys.platform == "linux":  # elsewhere mapped files would count
        # Linux's VmData: private memory that can be written, which RLIMIT_DATA limits.
        lower(resource.RLIMIT_DATA, int(psutil.Process().memory_info().data) + limits.memory_bytes)


def _run(
    module: str, name: str, arguments: tuple[Any, ...], limits: Limits, access: Access | None, writer: Connection | None
) -> None:
    """Runs in the child."""
    os.environ["GGML_NO_BACKTRACE"] = "1"  # the backtrace starts a debugger, which takes seconds
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    if access is not None:
        cage(access)  # before libraries start threads, which it would not hold
    run = getattr(import_module(module), name)
    if access is not None:
        confine(access)
    _limit_oneself(limits)
    said = run(*arguments)
    if writer is not None:
        writer.send_bytes(said.encode())
        writer.close()
