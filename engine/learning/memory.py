"""Gives memory back: passes over sequences of other lengths leave holes behind that glibc keeps, a megabyte each."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache


def give_back_unused() -> None:
    """To the system; takes some milliseconds. Does nothing where the C library has no such function."""
    _trim()(0)


@lru_cache(maxsize=1)
def _trim() -> Callable[[int], object]:
    try:
        trim: Callable[[int], object] = ctypes.CDLL(None).malloc_trim
    except (OSError, TypeError, AttributeError):  # TypeError: on Windows there is no library without a name
        return lambda _pad: None
    return trim
