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

from engine.backend.profile.manifest import MOST_COUNTED
from engine.values.learned import NgramRecord

_MOST_HEADER_BYTES = 2**20
_LENGTH_BYTES = 8
_LOOKED_AT = 2**22  # bytes at once, whole numbers of every kind
_KINDS = {"I32": "<i4", "I64": "<i8"}
_FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}
# Of one member, as Python's objects take far more room than numbers in a file. A cache holds 50,000 n-grams of at most
# eight tokens; recall 1,000,000 tokens, and a profile four times as many.
MOST_NGRAMS = 60_000
LONGEST_STRING = 16
MOST_TEXTS = 100_000
MOST_TOKENS = 4_000_000
_NUM_TOKENS = 2**31  # the ids that fit
_COUNTERS = ("count", "doubts", "last_use")


class TensorsBroken(Exception):
    """These are no safetensors, or others than are needed."""


def pack(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    return bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))


def unpack(content: bytes, *, i32: tuple[str, ...], i64: tuple[str, ...] = ()) -> dict[str, npt.NDArray[Any]]:
    """Rows of numbers under exactly these names. Raises TensorsBroken."""
    wanted = dict.fromkeys(i32, "I32") | dict.fromkeys(i64, "I64")
    tensors = dict(_tensors(content))
    if {name: tensor["dtype"] for name, tensor in tensors.items()} != wanted:
        raise TensorsBroken
    if any(len(tensor["shape"]) != 1 for tensor in tensors.values()):
        raise TensorsBroken
    return {name: np.frombuffer(tensor["data"], _KINDS[tensor["dtype"]]) for name, tensor in tensors.items()}


def check_weights(content: bytes) -> bytes:
    """The same. Raises TensorsBroken for what can be no drafter's weights. Whether they fit one is seen when it is
    loaded."""
    tensors = _tensors(content)
    if not tensors or not all(_is_sound(tensor) for _, tensor in tensors):
        raise TensorsBroken
    return content


def _tensors(content: bytes) -> list[tuple[str, dict[str, Any]]]:
    header = int.from_bytes(content[:_LENGTH_BYTES], "little")
    if len(content) < _LENGTH_BYTES or header > min(_MOST_HEADER_BYTES, len(content) - _LENGTH_BYTES):
        raise TensorsBroken
    try:
        return list(deserialize(content))  # type: ignore[no-untyped-call]
    except (SafetensorError, ValueError, OverflowError) as error:
        raise TensorsBroken from error


def _is_sound(tensor: dict[str, Any]) -> bool:
    data = memoryview(tensor["data"])
    return len(data) > 0 and all(
        _is_finite(tensor["dtype"], data[begin : begin + _LOOKED_AT]) for begin in range(0, len(data), _LOOKED_AT)
    )


def _is_finite(kind: str, data: memoryview) -> bool:
    if kind in _FLOATS:
        return bool(np.isfinite(np.frombuffer(data, _FLOATS[kind])).all())
    if kind == "BF16":  # which numpy does not know: an exponent of all ones is no finite number
        return bool(((np.frombuffer(data, "<u2") & 0x7F80) != 0x7F80).all())
    return kind in _KINDS


def pack_ngrams(ngrams: Sequence[NgramRecord]) -> bytes:
    """Orders them by their strings, so that the same content makes the same bytes. There must be one."""
    ordered = sorted(ngrams, key=lambda ngram: ngram.string)
    counters = {
        name: np.array([min(getattr(ngram, name), MOST_COUNTED) for ngram in ordered], np.int64) for name in _COUNTERS
    }
    strings = [np.array(ngram.string, np.int32) for ngram in ordered]
    return pack(_rows(strings) | {"token": np.array([ngram.token for ngram in ordered], np.int32)} | counters)


def unpack_ngrams(content: bytes) -> tuple[NgramRecord, ...]:
    """Raises TensorsBroken, also for too many."""
    columns = unpack(content, i32=("tokens", "lengths", "token"), i64=_COUNTERS)
    cut = _cut(columns.pop("tokens"), columns.pop("lengths"), MOST_NGRAMS, LONGEST_STRING)
    strings = [tuple(string.tolist()) for string in cut]
    if any(len(column) != len(strings) for column in columns.values()) or len(set(strings)) < len(strings):
        raise TensorsBroken
    _check_range(columns["token"], 0, _NUM_TOKENS - 1)
    _check_range(columns["count"], 1, MOST_COUNTED)
    _check_range(columns["doubts"], 0, MOST_COUNTED)
    _check_range(columns["last_use"], 0, MOST_COUNTED)
    numbers = zip(*(columns[name].tolist() for name in ("token", *_COUNTERS)), strict=True)
    return tuple(NgramRecord(string, *each) for string, each in zip(strings, numbers, strict=True))


def pack_texts(texts: Sequence[npt.NDArray[np.int32]]) -> bytes:
    """There must be one, and none may be empty."""
    return pack(_rows(texts))


def unpack_texts(content: bytes) -> tuple[npt.NDArray[np.int32], ...]:
    """Raises TensorsBroken, also for too many, or too many tokens."""
    columns = unpack(content, i32=("tokens", "lengths"))
    if len(columns["tokens"]) > MOST_TOKENS:
        raise TensorsBroken
    return tuple(_cut(columns["tokens"], columns["lengths"], MOST_TEXTS, MOST_TOKENS))


def _rows(rows: Sequence[npt.NDArray[np.int32]]) -> dict[str, npt.NDArray[np.generic]]:
    return {"tokens": np.concatenate(rows), "lengths": np.array([len(row) for row in rows], np.int32)}


def _cut(
    tokens: npt.NDArray[np.int32], lengths: npt.NDArray[np.int32], most: int, longest: int
) -> list[npt.NDArray[np.int32]]:
    """Raises TensorsBroken for more than `most` rows."""
    if not 0 < len(lengths) <= most:
        raise TensorsBroken
    _check_range(lengths, 1, longest)
    if int(lengths.sum(dtype=np.int64)) != len(tokens):
        raise TensorsBroken
    _check_range(tokens, 0, _NUM_TOKENS - 1)
    ends = np.cumsum(lengths, dtype=np.int64)
    return [tokens[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]


def _check_range(numbers: npt.NDArray[np.int32] | npt.NDArray[np.int64], lowest: int, highest: int) -> None:
    if int(numbers.min()) < lowest or int(numbers.max()) > highest:
        raise TensorsBroken
