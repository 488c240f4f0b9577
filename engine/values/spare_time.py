"""Time in which no reply is awaited: slow work that no one asked for is done in it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from engine.values.errors import Cancelled

_LULL_S = 0.5  # after a start or a reply, in which the next prompt often comes


class SpareTime:
    """The spare time of one target. Any thread may wait for it; writing a reply takes it."""

    def __init__(self, lull_s: float = _LULL_S) -> None:
        """It begins once it has not been taken for `lull_s`."""
        self._lull_s = lull_s
        self._changed = threading.Condition()
        self._num_takers = 0
        self._free_since = time.monotonic()
        self._is_over = False

    @property
    def is_taken(self) -> bool:
        return self._num_takers > 0

    @contextmanager
    def taken(self) -> Iterator[None]:
        """A reply is awaited inside the block."""
        with self._changed:
            self._num_takers += 1
        try:
            yield
        finally:
            with self._changed:
                self._num_takers -= 1
                self._free_since = time.monotonic()
                self._changed.notify_all()

    def wait(self) -> None:
        """Returns when it begins. Raises Cancelled once what would be done in it is no longer needed."""
        with self._changed:
            while not self._is_over:
                left_s = self._free_since + self._lull_s - time.monotonic()
                if not self.is_taken and left_s <= 0:
                    return
                self._changed.wait(None if self.is_taken else left_s)
        raise Cancelled("Loading the drafter was cancelled.")

    def end(self) -> None:
        """It is no longer needed."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
