"""What is asked of a row of logits, computed by our own library (`rows.cpp`), or by numpy where that is missing: it is
compiled with llama.cpp and lies beside it.

Arrays have one dimension and hold float32 side by side. The largest comes first and of equal ones the lowest id; a NaN
is larger than any number. The interpreter's lock is held: a call takes some ten microseconds, and to get the lock back
from a busy window can take milliseconds.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.speculation.native.numpy_rows import NumpyRows

LogitRow = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
Probabilities = npt.NDArray[np.float64]

_VERSION = 1  # of what the functions take and return; as in `rows.cpp`
_NAMES = {"win32": "slipstream.dll", "darwin": "libslipstream.dylib"}
_ROOM = 64  # for tokens that reach a bound; where there are more, they are asked for once more

_logger = logging.getLogger("slipstream.native")


class _Told(threading.local):
    def __init__(self) -> None:
        self.number = ctypes.c_double()
        self.reference = ctypes.byref(self.number)


class NativeRows:
    """The functions of this file, by the library."""

    def __init__(self, library: ctypes.PyDLL) -> None:
        """Raises OSError if it is none of ours, or another version."""
        array, number = ctypes.py_object, ctypes.c_double
        try:
            if (version := library.slipstream_version()) != _VERSION:
                raise OSError(f"version {version} instead of {_VERSION}")
        except AttributeError as error:
            raise OSError(str(error)) from error
        functions = (ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release)
        begin = _function(library.slipstream_begin, None, ctypes.c_void_p, ctypes.c_void_p)
        begin(*(ctypes.cast(each, ctypes.c_void_p) for each in functions))
        self._best = _function(library.slipstream_best, ctypes.c_int64, array, ctypes.c_void_p)
        self._outlook = _function(library.slipstream_outlook, ctypes.c_int64, array, ctypes.c_void_p)
        self._largest = _function(library.slipstream_largest, ctypes.c_int64, array, array, array)
        self._reaching = _function(library.slipstream_reaching, ctypes.c_int64, array, ctypes.c_float, array, array)
        self._sum_of_exponentials = _function(library.slipstream_sum, number, array, ctypes.c_float)
        self._chances = _function(library.slipstream_chances, ctypes.c_int64, array, number, number, number, array)
        self._place = _function(library.slipstream_place, ctypes.c_int64, array, number)
        self._told = _Told()

    def best(self, row: LogitRow) -> tuple[int, float]:
        told = self._told
        place: int = self._best(row, told.reference)
        assert place >= 0
        return place, told.number.value

    def outlook(self, row: LogitRow) -> tuple[int, float]:
        told = self._told
        place: int = self._outlook(row, told.reference)
        assert place >= 0
        return place, told.number.value

    def largest(self, row: LogitRow, count: int) -> tuple[Ids, LogitRow]:
        count = min(count, len(row))
        ids, values = np.empty(count, np.int64), np.empty(count, np.float32)
        found: int = self._largest(row, ids, values)
        assert found > 0
        return (ids, values) if found == count else (ids[:found], values[:found])

    def reaching(self, row: LogitRow, bound: float) -> tuple[Ids, LogitRow]:
        room = _ROOM
        while True:
            ids, values = np.empty(room, np.int64), np.empty(room, np.float32)
            found: int = self._reaching(row, bound, ids, values)
            assert found >= 0
            if found <= room:
                return ids[:found], values[:found]
            room = found

    def sum_of_exponentials(self, row: LogitRow, maximum: float) -> float:
        total: float = self._sum_of_exponentials(row, maximum)
        assert total > 0
        return total

    def chances(self, values: LogitRow, temperature: float, top_p: float, log_min_p: float) -> Probabilities:
        probabilities = np.empty(len(values))
        left: int = self._chances(values, temperature, top_p, log_min_p, probabilities)
        assert left > 0
        return probabilities if left == len(values) else probabilities[:left]

    def place_of(self, weights: Probabilities, share: float) -> int:
        place: int = self._place(weights, share)
        assert place >= 0
        return place


def _function(function: Any, result: Any, *arguments: Any) -> Any:
    function.restype, function.argtypes = result, arguments
    return function


def library_folder() -> Path | None:
    """The folder of llama.cpp's libraries, which needs no import of it: the one that LLAMA_CPP_LIB_PATH names, else
    that of the package."""
    if (named := os.environ.get("LLAMA_CPP_LIB_PATH")) is not None:
        return Path(named)
    folders = (Path(place, "llama_cpp", "lib") for place in sys.path)
    return next((folder for folder in folders if folder.is_dir()), None)


def load(folder: Path | None) -> NativeRows | NumpyRows:
    """The library in this folder, or numpy where there is none that fits."""
    path = folder and folder / _NAMES.get(sys.platform, "libslipstream.so")
    if path is None or not path.is_file():
        _logger.info("no library of ours beside llama.cpp's: numpy reads rows of logits")
        return NumpyRows()
    try:
        return NativeRows(ctypes.PyDLL(str(path)))
    except OSError as error:
        _logger.warning("%s is not used, numpy reads rows of logits (`make setup` builds it anew): %s", path, error)
        return NumpyRows()


class _InUse:
    reader = load(library_folder())


IS_NATIVE = isinstance(_InUse.reader, NativeRows)


@contextmanager
def read_by_numpy() -> Iterator[None]:
    """Has numpy read rows meanwhile, on all threads: for tests and benchmarks."""
    usual = _InUse.reader
    _InUse.reader = NumpyRows()
    try:
        yield
    finally:
        _InUse.reader = usual


def best(row: LogitRow) -> tuple[int, float]:
    """The id of the largest logit, and it."""
    return _InUse.reader.best(row)


def outlook(row: LogitRow) -> tuple[int, float]:
    """The id of the largest logit, and the logarithm of the sum of all exponentials, finite if that logit is."""
    return _InUse.reader.outlook(row)


def largest(row: LogitRow, count: int) -> tuple[Ids, LogitRow]:
    """The ids of the `count` largest, at least one, and these; where one is NaN, it alone."""
    return _InUse.reader.largest(row, count)


def reaching(row: LogitRow, bound: float) -> tuple[Ids, LogitRow]:
    """The ids of all that are at least a bound, and these."""
    return _InUse.reader.reaching(row, bound)


def sum_of_exponentials(row: LogitRow, maximum: float) -> float:
    """Σ e^(x − maximum), for the largest of the row, which is finite."""
    return _InUse.reader.sum_of_exponentials(row, maximum)


def chances(values: LogitRow, temperature: float, top_p: float, log_min_p: float) -> Probabilities:
    """The distribution over as many of the likeliest tokens as top-p and then min-p leave, after the temperature.
    `values`: their logits in order, the first of them finite; `log_min_p`: minus infinity leaves all."""
    return _InUse.reader.chances(values, temperature, top_p, log_min_p)


def place_of(weights: Probabilities, share: float) -> int:
    """The place where the sum of the first weights exceeds this share of all of them; the last one where none does."""
    return _InUse.reader.place_of(weights, share)
