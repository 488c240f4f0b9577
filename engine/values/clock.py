"""The clock that decoding is timed with. A measurement can stop it, so that what only the measurement does takes no
time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

_hidden_s = 0.0  # that the clock was stopped for until now


def now() -> float:
    """Seconds since some moment."""
    return perf_counter() - _hidden_s


@contextmanager
def hidden() -> Iterator[None]:
    """Stops the clock meanwhile, for every thread; only one at a time may do so."""
    global _hidden_s  # noqa: PLW0603  # there is one time
    began = perf_counter()
    try:
        yield
    finally:
        _hidden_s += perf_counter() - began
