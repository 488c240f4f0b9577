"""Eras: how long what was learned stays valid while the app runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Era:
    """An era ends when the user forgets or replaces what was learned. What was learned in one era must not be stored in
    the next, so it carries the number of its era until it is stored. Any thread may call any method.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_ending = False
        self.number = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """The era does not end inside; waits for one that is ending."""
        with self._lock:
            yield

    @contextmanager
    def lasting(self, number: int) -> Iterator[bool]:
        """Yields True if this era is still the current one, which then does not end inside. False at once for one
        that is ending."""
        if self._is_ending:
            yield False
            return
        with self._lock:
            yield number == self.number

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Nothing learned is stored inside. `begin_next` begins the next era."""
        self._is_ending = True
        with self._lock:
            self._is_ending = True
            try:
                yield
            finally:
                self._is_ending = False

    def begin_next(self) -> None:
        """Call it inside `ending`."""
        self.number += 1
