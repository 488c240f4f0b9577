"""A stop sign that Python and native code can both read."""

from __future__ import annotations

import ctypes
from collections.abc import Callable


class StopSignal:
    """Set once to end the work, read between rounds and, through `address`, inside a running pass.

    The flag is a C string that is empty until the signal is set. Setting it is one store of a byte, so no lock is
    needed.
    """

    __slots__ = ("__weakref__", "_flag", "_followers", "_tell")

    def __init__(self, tell: Callable[[StopSignal], None] | None = None) -> None:
        """`tell` is called with the signal when it is set, on the thread that sets it."""
        self._flag = ctypes.create_string_buffer(2)
        self._tell = tell
        self._followers: list[StopSignal] = []

    def set(self) -> None:
        self._flag[0] = b"\x01"
        if self._tell is not None:
            self._tell(self)
        for each in tuple(self._followers):
            each.set()

    def follower(self) -> StopSignal:
        """Another one, which is set with this one, or alone. It takes the place of an earlier follower."""
        made = StopSignal()
        self._followers[:] = [made]
        if self.is_set():
            made.set()
        return made

    def is_set(self) -> bool:
        return self._flag[0] != b"\x00"

    @property
    def address(self) -> int:
        """Where the flag lies; valid as long as this object lives."""
        return ctypes.addressof(self._flag)
