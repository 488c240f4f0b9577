"""Processes that servers left running, in a session of their own or orphaned: a signal to the server's group does not
reach them.

On Linux this process becomes the parent of whatever has lost its own, so all descendants of servers stay below it. A
mark in their environment tells whose they are; one that has wiped off its mark is ended with whichever server ends
next. Elsewhere only the mark is looked for.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread
import psutil

from engine.backend.tools.left_behind import end_all, is_over, mark_of, marked, with_all_below

_SET_CHILD_SUBREAPER = 36  # see prctl(2)
_REAP_S = 5.0


class Descendants:
    """The descendants of all servers of this process. Used on one event loop."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._numbers = itertools.count()
        self._heads: dict[str, int] = {}  # processes of the servers that run, by their marks; 0: it is being started
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def begin(self) -> str:
        """The mark of a server that is about to be started."""
        mark = f"{self._mark}-{next(self._numbers)}"
        self._heads[mark] = 0
        return mark

    def started(self, mark: str, head: int) -> None:
        self._heads[mark] = head

    async def end(self, mark: str) -> None:
        """The server itself has ended."""
        head = self._heads.pop(mark, 0)
        await anyio.to_thread.run_sync(lambda: end_all(lambda: self._left_by(mark, head)))

    async def reap(self) -> None:
        """Runs as long as there are servers: no one else waits for processes that became children of this one."""
        while True:
            await anyio.sleep(_REAP_S)
            if 0 not in self._heads.values():  # one of which only the number is not known yet is not ours to wait for
                for number in _child_numbers() - {*self._heads.values()}:
                    _reap(number)

    def _left_by(self, mark: str, head: int) -> list[psutil.Process]:
        found = {each.pid: each for each in marked(lambda other: other == mark)}
        for child in psutil.Process().children() if sys.platform == "linux" else ():
            heads = [*self._heads.values()]
            whose = mark_of(child)
            is_new = not whose and 0 in heads  # a server that has no environment of its own yet
            if is_new or child.pid in (head, *heads) or whose not in ("", mark):
                continue
            if is_over(child):
                _reap(child.pid)
            else:
                found |= {each.pid: each for each in with_all_below(child)}
        found.pop(head, None)
        return [each for each in found.values() if not is_over(each)]


def _reap(number: int) -> None:
    with suppress(OSError):  # it is not ours
        os.waitpid(number, os.WNOHANG)


def _child_numbers() -> set[int]:
    numbers: set[int] = set()
    for file in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError, ValueError):
            numbers |= {*map(int, file.read_text().split())}
    return numbers
