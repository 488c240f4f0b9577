from __future__ import annotations

from math import cos, pi

from PySide6.QtCore import QPointF, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.theme import ThemeKeeper
from app.widgets.appearance import reading_font

_FRAME_MS = 60
_FRAMES = 20  # of one pulse
_DOT_PX = 7.0


class Waiting(QWidget):
    """Three pulsing dots, and a few words where there is something to say."""

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._words = ""
        self._frame = 0
        self.setFont(reading_font())
        self.setAccessibleName(self.tr("The reply is being prepared"))
        self._timer = QTimer(self, interval=_FRAME_MS)
        self._timer.timeout.connect(self._step)
        self._timer.start()

    @property
    def words(self) -> str:
        return self._words

    def set_words(self, words: str) -> None:
        self._words = words
        self.setAccessibleDescription(words)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(260, self.fontMetrics().height() + 12)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        colour = QColor(self._keeper.theme.quiet)
        middle = self.height() / 2
        for dot in range(3):
            phase = 2 * pi * (self._frame / _FRAMES - dot / 6)
            colour.setAlphaF(0.55 - 0.4 * cos(phase))
            painter.setBrush(colour)
            painter.drawEllipse(QPointF(_DOT_PX / 2 + 1 + dot * _DOT_PX * 1.8, middle), _DOT_PX / 2, _DOT_PX / 2)
        if self._words:
            painter.setPen(QColor(self._keeper.theme.quiet))
            area = self.rect().adjusted(int(_DOT_PX * 6.5), 0, 0, 0)
            painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self._words)
        painter.end()

    @Slot()
    def _step(self) -> None:
        self._frame = (self._frame + 1) % _FRAMES
        self.update()
