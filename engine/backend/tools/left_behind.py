"""Processes that servers have started, wherever they are: in sessions of their own, or orphaned. A mark in their
environment identifies them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress

import psutil

MARK = "SLIPSTREAM_TOOL_SERVER"  # of the environment of a server and all that it starts
_LEAVE_S = 0.3  # after one was asked to end
_PATIENCE_S = 2.0  # with one that starts others faster than they are ended
_GLANCE_S = 0.01

Find = Callable[[], Iterable[psutil.Process]]


def end_all(find: Find) -> None:
    """Asks what is found to end, and kills what is found after that."""
    asked = [*find()]
    for each in asked:
        with suppress(psutil.Error):
            each.terminate()
    _wait(asked)
    kill_all(find)


def kill_all(find: Find) -> None:
    """Repeats until nothing is found."""
    end = time.monotonic() + _PATIENCE_S
    while (found := [*find()]) and time.monotonic() < end:
        for each in found:
            with suppress(psutil.Error):
                each.kill()
        _wait(found)


def marked(is_mark: Callable[[str], bool]) -> list[psutil.Process]:
    """Those of this user that run with such a mark."""
    found = [each for each in psutil.process_iter() if (mark := mark_of(each)) and is_mark(mark)]
    return [each for each in found if not is_over(each)]


def with_all_below(process: psutil.Process) -> list[psutil.Process]:
    """Children first: those of a dead process cannot be found."""
    try:
        return [*process.children(recursive=True), process]
    except psutil.Error:
        return []


def mark_of(process: psutil.Process) -> str:
    """Empty where it has none, or is another user's."""
    try:
        return str(process.environ().get(MARK, ""))
    except (psutil.Error, OSError):
        return ""


def is_over(process: psutil.Process) -> bool:
    """One that has ended and is a child of this process may still be waited for."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True


def _wait(ended: Iterable[psutil.Process]) -> None:
    """Not by the system's own way to wait, which would take what the parent is to learn of its children."""
    end = time.monotonic() + _LEAVE_S
    while time.monotonic() < end and not all(map(is_over, ended)):
        time.sleep(_GLANCE_S)
