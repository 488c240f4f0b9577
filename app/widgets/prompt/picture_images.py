"""Pictures as images that can be drawn, and back. Any thread may do this; a large one takes some tens of
milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRect, QSize, Qt
from PySide6.QtGui import QImage, QImageReader

from engine.values.pictures import MOST_SIDE, Picture

_SMALL_PX = 320  # enough for the transcript, with large text or on a fine screen
_KINDS = ((b"\x89PNG", b"png"), (b"\xff\xd8\xff", b"jpeg"))
_UNPACKED = 100  # the "quality" of a PNG that is not compressed, which is quick


@dataclass(frozen=True, slots=True)
class SmallImage:
    image: QImage  # a square out of the middle of the picture
    width: int  # pixels of the picture itself
    height: int


def small_image(picture: Picture) -> SmallImage | None:
    """The thumbnail; None: the picture is damaged."""

    def middle(size: QSize) -> tuple[QRect, QSize]:
        side = min(size.width(), size.height())
        square = QRect((size.width() - side) // 2, (size.height() - side) // 2, side, side)
        return square, QSize(side, side).boundedTo(QSize(_SMALL_PX, _SMALL_PX))

    image = _read(picture.data, middle)
    return None if image is None else SmallImage(image, picture.width, picture.height)


def fitting_image(picture: Picture, room: QSize) -> QImage | None:
    """The whole image, shrunk to `room` in pixels if needed. None: it is damaged."""

    def whole(size: QSize) -> tuple[QRect, QSize]:
        return QRect(), within(size, room).expandedTo(QSize(1, 1))

    return _read(picture.data, whole)


def within(size: QSize, room: QSize) -> QSize:
    """The size, shrunk to `room` if needed."""
    is_large = size.width() > room.width() or size.height() > room.height()
    return size.scaled(room, Qt.AspectRatioMode.KeepAspectRatio) if is_large else size


def png_of(image: QImage) -> bytes:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG", _UNPACKED)  # type: ignore[call-overload]
    return bytes(buffer.data().data())


def _read(data: bytes, part: Callable[[QSize], tuple[QRect, QSize]]) -> QImage | None:
    """`part` takes the picture's size and returns the part to read, empty for all of it, and its scaled size."""
    kind = next((kind for beginning, kind in _KINDS if data.startswith(beginning)), None)
    if kind is None:
        return None
    buffer = QBuffer()
    buffer.setData(QByteArray(data))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer, QByteArray(kind))
    reader.setDecideFormatFromContent(False)
    size = reader.size()
    if not 0 < size.width() <= MOST_SIDE or not 0 < size.height() <= MOST_SIDE:
        return None
    clip, scaled = part(size)
    reader.setClipRect(clip)
    reader.setScaledSize(scaled)
    image = reader.read()
    return None if image.isNull() else image
