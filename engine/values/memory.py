"""Returns freed memory to the system. Only glibc needs to be asked; elsewhere nothing is done."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache

_MMAP_THRESHOLD, _TRIM_THRESHOLD, _ARENA_MAX = -3, -1, -8  # of mallopt(3)
_LARGE = 4 << 20  # bytes; larger than the logits of a token, which are made again and again
_MOST_ARENAS = 2
_OTHER_LIBRARY = (OSError, TypeError, AttributeError)  # TypeError: Windows has none without a name


@cache
def _library() -> ctypes.CDLL:
    """Opened once: each time would leave classes behind, which stay until Python collects its garbage. Raises what is
    in `_OTHER_LIBRARY`."""
    return ctypes.CDLL(None)


def settle_memory() -> None:
    """Once, before there are threads. By itself glibc learns to keep large pieces, and has an arena for each thread: of
    matrices that were freed it then keeps three times as much as is in use."""
    with suppress(*_OTHER_LIBRARY):
        settle = _library().mallopt
        settle(_MMAP_THRESHOLD, _LARGE)
        settle(_TRIM_THRESHOLD, _LARGE)
        settle(_ARENA_MAX, _MOST_ARENAS)


def return_free_memory() -> None:
    """Takes milliseconds: passes over sequences of different lengths leave holes, a megabyte each."""
    with suppress(*_OTHER_LIBRARY):
        _library().malloc_trim(0)
