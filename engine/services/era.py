"""For how long what is learned holds, while the app runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Era:
    """An era ends when what is learned is forgotten, or exchanged for something else. What was learned in one era must
    not be kept in the next: whoever keeps something notes the number of the era that it was learned in, and asks
    whether that lasts. Any thread may call any method.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_ending = False
        self.number = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """It does not end meanwhile; waits where it is about to."""
        with self._lock:
            yield

    @contextmanager
    def lasting(self, number: int) -> Iterator[bool]:
        """Whether it is this era still, which then does not end meanwhile. Never waits for one that is about to end."""
        if self._is_ending:
            yield False
            return
        with self._lock:
            yield number == self.number

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Nobody keeps anything meanwhile. The next era begins with `begin_next`."""
        self._is_ending = True
        with self._lock:
            self._is_ending = True
            try:
                yield
            finally:
                self._is_ending = False

    def begin_next(self) -> None:
        """To be called within `ending`."""
        self.number += 1
