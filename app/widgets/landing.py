"""The place where dragged files will land, while they are over the window."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.theme import ThemeKeeper

_RADIUS_PX = 14
_LINE_PX = 2


class Landing(QWidget):
    """Covers a part of the window with a tint, a frame and a few words. Hidden where nothing is dragged."""

    def __init__(self, keeper: ThemeKeeper, window: QWidget) -> None:
        super().__init__(window)
        self._keeper = keeper
        self._window = window
        self.words = ""
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)  # the window takes what is dropped
        self.hide()

    def show_over(self, part: QWidget, words: str) -> None:
        self.words = words
        self.setAccessibleName(words)
        self.setGeometry(part.rect().translated(part.mapTo(self._window, QPoint(0, 0))))
        self.raise_()
        self.show()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        theme = self._keeper.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        back = QColor(theme.selected)
        back.setAlphaF(0.94)  # what is below shows through a little, and does not disturb the words
        painter.setBrush(back)
        painter.setPen(QPen(QColor(theme.accent), _LINE_PX))
        inner = QRectF(self.rect()).adjusted(_LINE_PX, _LINE_PX, -_LINE_PX, -_LINE_PX)
        painter.drawRoundedRect(inner, _RADIUS_PX, _RADIUS_PX)
        painter.setPen(QColor(theme.text))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self.words)
        painter.end()
