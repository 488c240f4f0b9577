"""A first look at an unknown model file in a process of its own.

llama.cpp checks its input well, but some damaged or hostile files still end the whole process (an assertion, a
division by zero). They end this one instead, and the app goes on.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from engine.errors import Cancelled, TargetUnusable
from engine.stop_signal import StopSignal
from engine.target.opening import check_file, explain, trial

_GLANCE_S = 0.05


def preflight(path: Path, stop: StopSignal) -> None:
    """Raises what is wrong with the file, or Cancelled when `stop` gets set."""
    check_file(path)
    spawn = multiprocessing.get_context("spawn")  # a fork would copy the threads' locks
    reader, writer = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_look, args=(path, writer), daemon=True, name="slipstream-preflight")
    with _interrupts_held_back():
        process.start()
    writer.close()
    try:
        complaint = _answer(reader, path, stop)
    finally:
        reader.close()
        process.kill()
        process.join()
        process.close()
    if complaint:
        raise explain(path, complaint)


def _answer(reader: Connection, path: Path, stop: StopSignal) -> str:
    """Waits without a limit: the file may be large and the disk slow."""
    while not reader.poll(_GLANCE_S):
        if stop.is_set():
            raise Cancelled(f"Loading {path.name} was cancelled.")
    try:
        return str(reader.recv_bytes(), "utf-8")
    except EOFError:
        raise TargetUnusable(f"{path.name} is damaged: llama.cpp cannot open it; download it again.") from None


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


def _look(path: Path, writer: Connection) -> None:
    """Runs in the child, whose output is discarded."""
    os.environ["GGML_NO_BACKTRACE"] = "1"  # the backtrace starts a debugger, which takes seconds
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    writer.send_bytes((trial(path) or "").encode())
    writer.close()
