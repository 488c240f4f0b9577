"""Pictures as conversations hold them."""

from __future__ import annotations

import hashlib

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage

from app.widgets.picture_images import png_of
from engine.messages.pictures import Picture


def made_picture(width: int, height: int, colour: Qt.GlobalColor = Qt.GlobalColor.red) -> Picture:
    image = QImage(QSize(width, height), QImage.Format.Format_RGB32)
    image.fill(colour)
    data = png_of(image)
    return Picture(hashlib.sha256(data).hexdigest(), data, width, height)
