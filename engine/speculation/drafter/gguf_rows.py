"""Rows of a matrix in a GGUF file, read and dequantized when they are asked for. Without torch."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from gguf import GGMLQuantizationType
from gguf.quants import _type_traits, dequantize

from engine.speculation.model.files.gguf_header import TensorPlace

_PLAIN = (GGMLQuantizationType.F32, GGMLQuantizationType.F16)


def is_readable(place: TensorPlace) -> bool:
    """True if its numbers are of a kind that is known here."""
    kind = GGMLQuantizationType(place.kind) if place.num_bytes else None
    return kind in _PLAIN or kind in _type_traits


def read_rows(path: Path, place: TensorPlace, spans: Iterable[tuple[int, int]]) -> npt.NDArray[np.float32]:
    """float32 [rows, inputs], those of all spans; a vector is one row. Raises OSError where the file is gone."""
    row_bytes = place.num_bytes // (place.shape[1] if len(place.shape) == 2 else 1)
    stored = bytearray()
    with path.open("rb") as file:
        for first, end in spans:
            file.seek(place.start + first * row_bytes)
            stored += file.read((end - first) * row_bytes)
    data = np.frombuffer(stored, np.uint8).reshape(-1, row_bytes)
    return dequantize(data, GGMLQuantizationType(place.kind)).astype(np.float32, copy=False)
