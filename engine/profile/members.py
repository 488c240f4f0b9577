"""N-grams, texts and arrays of numbers as the members of a profile, in the form of safetensors, and back where they are
in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from engine.messages.learned import NgramRecord
from engine.profile.manifest import MOST_COUNTED

_MOST_HEADER_BYTES = 2**20
_LENGTH_BYTES = 8
_KINDS = {"I32": "<i4", "I64": "<i8"}
_FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}
MOST_ROWS = 1_000_000  # n-grams, and texts, of a profile: as Python's objects they take far more room than in the file
_NUM_TOKENS = 2**31  # the ids that fit
_COUNTERS = ("count", "doubts", "last_use")


class TensorsBroken(Exception):
    """These are no safetensors, or others than are needed."""


def pack(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    return bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))


def unpack(content: bytes, *, i32: tuple[str, ...], i64: tuple[str, ...] = ()) -> dict[str, npt.NDArray[np.int64]]:
    """Rows of numbers under exactly these names. Raises TensorsBroken."""
    wanted = dict.fromkeys(i32, "I32") | dict.fromkeys(i64, "I64")
    tensors = dict(_tensors(content))
    if {name: tensor["dtype"] for name, tensor in tensors.items()} != wanted:
        raise TensorsBroken
    if any(len(tensor["shape"]) != 1 for tensor in tensors.values()):
        raise TensorsBroken
    return {
        name: np.frombuffer(tensor["data"], _KINDS[tensor["dtype"]]).astype(np.int64, copy=False)
        for name, tensor in tensors.items()
    }


def check_weights(content: bytes) -> None:
    """Raises TensorsBroken for what can be no drafter's weights. Whether they fit one is seen when it is loaded."""
    tensors = _tensors(content)
    if not tensors or not all(_is_sound(tensor) for _, tensor in tensors):
        raise TensorsBroken


def _tensors(content: bytes) -> list[tuple[str, dict[str, Any]]]:
    header = int.from_bytes(content[:_LENGTH_BYTES], "little")
    if len(content) < _LENGTH_BYTES or header > min(_MOST_HEADER_BYTES, len(content) - _LENGTH_BYTES):
        raise TensorsBroken
    try:
        return list(deserialize(content))  # type: ignore[no-untyped-call]
    except (SafetensorError, ValueError, OverflowError) as error:
        raise TensorsBroken from error


def _is_sound(tensor: dict[str, Any]) -> bool:
    if not len(tensor["data"]):
        return False
    if tensor["dtype"] in _FLOATS:
        return bool(np.isfinite(np.frombuffer(tensor["data"], _FLOATS[tensor["dtype"]])).all())
    if tensor["dtype"] == "BF16":  # which numpy does not know: an exponent of all ones is no finite number
        return bool(((np.frombuffer(tensor["data"], "<u2") & 0x7F80) != 0x7F80).all())
    return tensor["dtype"] in _KINDS


def pack_ngrams(ngrams: Sequence[NgramRecord]) -> bytes:
    """At least one. In the order of their strings, so that the same content makes the same bytes."""
    ordered = sorted(ngrams, key=lambda ngram: ngram.string)
    counters = {
        name: np.array([min(getattr(ngram, name), MOST_COUNTED) for ngram in ordered], np.int64) for name in _COUNTERS
    }
    strings = [np.array(ngram.string, np.int32) for ngram in ordered]
    return pack(_rows(strings) | {"token": np.array([ngram.token for ngram in ordered], np.int32)} | counters)


def unpack_ngrams(content: bytes, most: int = MOST_ROWS) -> tuple[NgramRecord, ...]:
    """Raises TensorsBroken, also for more than `most`."""
    columns = unpack(content, i32=("tokens", "lengths", "token"), i64=_COUNTERS)
    strings = [tuple(string.tolist()) for string in _cut(columns.pop("tokens"), columns.pop("lengths"), most)]
    if any(len(column) != len(strings) for column in columns.values()) or len(set(strings)) < len(strings):
        raise TensorsBroken
    _check_range(columns["token"], 0, _NUM_TOKENS - 1)
    _check_range(columns["count"], 1, MOST_COUNTED)
    _check_range(columns["doubts"], 0, MOST_COUNTED)
    _check_range(columns["last_use"], 0, MOST_COUNTED)
    numbers = zip(*(columns[name].tolist() for name in ("token", *_COUNTERS)), strict=True)
    return tuple(NgramRecord(string, *each) for string, each in zip(strings, numbers, strict=True))


def pack_texts(texts: Sequence[npt.NDArray[np.int32]]) -> bytes:
    """At least one, none of them empty."""
    return pack(_rows(texts))


def unpack_texts(content: bytes, most: int = MOST_ROWS) -> tuple[npt.NDArray[np.int32], ...]:
    """Raises TensorsBroken, also for more than `most`."""
    columns = unpack(content, i32=("tokens", "lengths"))
    return tuple(text.astype(np.int32) for text in _cut(columns["tokens"], columns["lengths"], most))


def _rows(rows: Sequence[npt.NDArray[np.int32]]) -> dict[str, npt.NDArray[np.generic]]:
    return {"tokens": np.concatenate(rows), "lengths": np.array([len(row) for row in rows], np.int32)}


def _cut(tokens: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], most: int) -> list[npt.NDArray[np.int64]]:
    if not 0 < len(lengths) <= most:
        raise TensorsBroken
    _check_range(lengths, 1, _NUM_TOKENS - 1)
    if int(lengths.sum()) != len(tokens):
        raise TensorsBroken
    _check_range(tokens, 0, _NUM_TOKENS - 1)
    return np.split(tokens, np.cumsum(lengths)[:-1])


def _check_range(numbers: npt.NDArray[np.int64], lowest: int, highest: int) -> None:
    if int(numbers.min()) < lowest or int(numbers.max()) > highest:
        raise TensorsBroken
