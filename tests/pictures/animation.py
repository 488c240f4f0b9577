"""Animated PNG, which every browser shows: lossless, so that small letters stay sharp, and only what changes is stored.

The format: https://www.w3.org/TR/png-3/#apng-frame-based-animation
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PySide6.QtGui import QImage

_MOST_COLOURS = 256
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_INDEXED = 3  # the type of colour in which a byte is a place in the palette


def in_few_colours(images: Sequence[QImage]) -> tuple[list[np.ndarray], np.ndarray]:
    """Places in a common palette, [height, width] bytes each, and that palette, [at most 256] of 0xRRGGBB: the most
    frequent colours, and for others the nearest of these. All images have one size."""
    pixels = np.stack([_pixels(image) for image in images])
    colours, places, counts = np.unique(pixels, return_inverse=True, return_counts=True)
    kept = colours[np.argsort(counts)[::-1][:_MOST_COLOURS]]
    nearest = np.concatenate(
        [
            np.abs(_parts(some)[:, None] - _parts(kept)[None]).sum(axis=2).argmin(axis=1)
            for some in np.array_split(colours, 1 + len(colours) // 1024)
        ]
    )
    return list(nearest.astype(np.uint8)[places].reshape(pixels.shape)), kept


def write_animation(path: Path, frames: Sequence[tuple[QImage, float]]) -> None:
    """Frames of one size, each with how long it is shown, in seconds; they are repeated for ever. Raises OSError."""
    pictures, palette = in_few_colours([image for image, _ in frames])
    shown: list[tuple[np.ndarray, float]] = []
    for picture, (_, seconds) in zip(pictures, frames, strict=True):
        if shown and np.array_equal(shown[-1][0], picture):
            shown[-1] = picture, shown[-1][1] + seconds
        else:
            shown.append((picture, seconds))
    height, width = pictures[0].shape
    chunks = [
        _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, _INDEXED, 0, 0, 0)),
        _chunk(b"acTL", struct.pack(">II", len(shown), 0)),
        _chunk(b"PLTE", b"".join(int(colour).to_bytes(3, "big") for colour in palette)),
    ]
    number = 0
    before = None
    for picture, seconds in shown:
        top, left, part = _changed(before, picture)
        area = part.shape[1], part.shape[0], left, top
        chunks.append(_chunk(b"fcTL", struct.pack(">IIIIIHHBB", number, *area, round(seconds * 1000), 1000, 0, 0)))
        data = zlib.compress(b"".join(b"\0" + row.tobytes() for row in part), 9)
        is_first = before is None
        chunks.append(_chunk(b"IDAT", data) if is_first else _chunk(b"fdAT", struct.pack(">I", number + 1) + data))
        number += 1 if is_first else 2
        before = picture
    path.write_bytes(_SIGNATURE + b"".join(chunks) + _chunk(b"IEND", b""))


def _changed(before: np.ndarray | None, picture: np.ndarray) -> tuple[int, int, np.ndarray]:
    """The top, the left, and the pixels of the smallest rectangle with all that differs."""
    if before is None:
        return 0, 0, picture
    rows, columns = (np.flatnonzero((before != picture).any(axis=axis)) for axis in (1, 0))
    return rows[0], columns[0], picture[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _pixels(image: QImage) -> np.ndarray:
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    return np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), image.width()) & 0xFFFFFF


def _parts(colours: np.ndarray) -> np.ndarray:
    """Red, green and blue, [number, 3]."""
    return np.stack([(colours >> shift) & 0xFF for shift in (16, 8, 0)], axis=1).astype(np.int32)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
