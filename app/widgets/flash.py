"""Marks a part of the window for a moment."""

from __future__ import annotations

from PySide6.QtCore import QEasingCurve, QEvent, QObject, Qt, QVariantAnimation
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

TIME_MS = 1_800
_STRENGTH = 56  # of 255, at first


class Flash(QWidget):
    """A tint over all of its parent that fades, and then is gone."""

    def __init__(self, colour: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._colour = QColor(colour)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setGeometry(parent.rect())
        parent.installEventFilter(self)
        self._fading = QVariantAnimation(self)
        self._fading.setDuration(TIME_MS)
        self._fading.setStartValue(_STRENGTH)
        self._fading.setEndValue(0)
        self._fading.setEasingCurve(QEasingCurve.Type.InCubic)
        self._fading.valueChanged.connect(self.update)
        self._fading.finished.connect(self.deleteLater)
        self._fading.start()
        self.raise_()
        self.show()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and isinstance(watched, QWidget):
            self.setGeometry(watched.rect())
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._colour.setAlpha(int(self._fading.currentValue() or 0))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._colour)
        painter.drawRoundedRect(self.rect().adjusted(0, 2, 0, -2), 12, 12)
        painter.end()
