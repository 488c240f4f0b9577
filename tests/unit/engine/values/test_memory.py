"""Free memory goes back to the system, and asking for that leaves nothing behind."""

from __future__ import annotations

import gc
import sys

import numpy as np
import psutil
import pytest

from engine.values.memory import return_free_memory

_PIECES, _NUMBERS = 4_000, 4_000  # of 32 kB each, far below what glibc maps by itself


def test_asking_leaves_no_garbage() -> None:
    return_free_memory()
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            return_free_memory()
        assert gc.collect() < 20
    finally:
        gc.enable()


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has to be told")
def test_the_holes_between_what_stays_go_back() -> None:
    pieces = [np.ones(_NUMBERS) for _ in range(_PIECES)]
    before = psutil.Process().memory_info().rss
    del pieces[::2], pieces[1::2]
    return_free_memory()
    assert before - psutil.Process().memory_info().rss > 0.4 * 8 * _PIECES * _NUMBERS
