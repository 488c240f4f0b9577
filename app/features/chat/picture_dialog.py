"""One picture of a prompt, large."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.text.unseen import one_line
from app.widgets.dialog_parts import Dialog, fill_dialog
from app.widgets.layouts import Placed, Stretch
from app.widgets.parts import button, set_up
from app.widgets.prompt.picture_images import within
from app.widgets.window_sizes import room_for

_AROUND_PX = QSize(40, 90)  # what is around the picture: margins, and the row of its button
_LEAST_PX = QSize(320, 240)


class PictureDialog(Dialog):
    """As large as the picture, or as the screen allows."""

    def __init__(self, image: QImage, name: str, words: str, parent: QWidget | None = None) -> None:
        """`words` are what a screen reader says of it."""
        super().__init__((1, 1), parent)
        self.setWindowTitle(one_line(name))
        self.view = set_up(_ImageView(image, self), name=words)
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        fill_dialog(self, [], [Stretch(), self.close_button], spacing=12, below=[Placed(self.view, 1)])
        self.close_button.setFocus()

    def _fitting(self) -> QSize:
        shown = within(self.view.sizeHint(), room_for(self) - _AROUND_PX)
        return (shown + _AROUND_PX).expandedTo(_LEAST_PX)


class _ImageView(QWidget):
    """An image, whole and never larger than it is."""

    def __init__(self, image: QImage, parent: QWidget) -> None:
        super().__init__(parent)
        self._image = image
        self._pixmap: QPixmap | None = None  # of the size it has now
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        return self._image.deviceIndependentSize().toSize()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        ratio = self.devicePixelRatioF()
        size = within(self._image.size(), self.size() * ratio)
        if self._pixmap is None or self._pixmap.size() != size:
            smooth = Qt.TransformationMode.SmoothTransformation
            self._pixmap = QPixmap.fromImage(self._image.scaled(size, Qt.AspectRatioMode.IgnoreAspectRatio, smooth))
            self._pixmap.setDevicePixelRatio(ratio)
        shown = self._pixmap.deviceIndependentSize().toSize()
        painter = QPainter(self)
        painter.drawPixmap((self.width() - shown.width()) // 2, (self.height() - shown.height()) // 2, self._pixmap)
        painter.end()
