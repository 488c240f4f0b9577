"""How far a download of several files has come."""

from __future__ import annotations

import time
from collections.abc import Callable

PROGRESS_S = 0.1  # between two reports of one file


class ByteProgress:
    """Adds files up that are fetched one after the other, and tells no more than is worth showing: at times the bytes
    of all so far, and always those at the beginning and the end of a file."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell = tell
        self._before = 0  # bytes of the files before this one
        self._told_at = 0.0

    def note(self, size: int) -> None:
        """So many bytes of the file under way are here."""
        now = time.monotonic()
        if now - self._told_at >= PROGRESS_S:
            self._told_at = now
            self._tell(self._before + size)

    def end(self, size: int) -> None:
        """It is whole, and the next one begins."""
        self._before += size
        self._told_at = 0.0
        self._tell(self._before)
