"""Asks a function in a process of its own, for what may end the process that tries it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from engine.errors import Cancelled

_GLANCE_S = 0.05


def ask_child(
    look: Callable[..., str],
    arguments: tuple[Any, ...],
    is_stopped: Callable[[], bool],
    limit_s: float | None = None,
) -> str | None:
    """What `look` (a function of a module) returns; None where its process dies, or has not answered after `limit_s`:
    by default there is no limit. Its output is discarded. Raises Cancelled when `is_stopped` says so meanwhile."""
    spawn = multiprocessing.get_context("spawn")  # a fork would copy the threads' locks
    reader, writer = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_answer, args=(look, arguments, writer), daemon=True, name="slipstream-preflight")
    with _interrupts_held_back():
        process.start()
    writer.close()
    end = None if limit_s is None else time.monotonic() + limit_s
    try:
        while not reader.poll(_GLANCE_S):
            if is_stopped():
                raise Cancelled("The first look at a file was cancelled.")
            if end is not None and time.monotonic() > end:
                return None
        return str(reader.recv_bytes(), "utf-8")
    except EOFError:
        return None
    finally:
        reader.close()
        process.kill()
        process.join()
        process.close()


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """A child started meanwhile ignores Ctrl+C, at which it would print a traceback."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _answer(look: Callable[..., str], arguments: tuple[Any, ...], writer: Connection) -> None:
    """Runs in the child."""
    os.environ["GGML_NO_BACKTRACE"] = "1"  # the backtrace starts a debugger, which takes seconds
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    writer.send_bytes(look(*arguments).encode())
    writer.close()
