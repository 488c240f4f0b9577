"""Ctrl+C in a command: it ends in good order."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from engine import StopSignal
from engine.errors import Cancelled

INTERRUPTED = 130  # what a program ended by Ctrl+C exits with


@contextmanager
def stopped_by_ctrl_c() -> Iterator[StopSignal]:
    """A signal that Ctrl+C sets; a second one ends the program. A loading that it cancelled ends it too."""
    stop = StopSignal()

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        stop.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield stop
    except Cancelled:
        sys.exit(INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, before)
