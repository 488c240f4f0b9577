"""Arrays of numbers as safetensors, and back where they are in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

_MOST_HEADER_BYTES = 2**20
_LENGTH_BYTES = 8
_KINDS = {"I32": "<i4", "I64": "<i8"}
_FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}


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
