"""A small line of a speed."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from app.theme import ThemeKeeper

MAX_POINTS = 64  # when there are more, two become one, so that the line always shows the whole reply
_SIZE = QSize(56, 18)
_HEADROOM = 1.15


class Sparkline(QWidget):
    """A small line of a speed as it changes, with the plain speed as a faint line across. It starts at 0."""

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._points: list[float] = []
        self._per_point = 1  # values in each point
        self._waiting: list[float] = []  # values of the next point
        self._plain = 0.0
        self._live = False
        self.setFixedSize(_SIZE)
        keeper.changed.connect(self.update)

    @property
    def points(self) -> Sequence[float]:
        return tuple(self._points)

    def add(self, speed: float, plain: float) -> None:
        """The present speed; `plain` is 0 while it is not known."""
        self._waiting.append(speed)
        self._plain = plain
        if len(self._waiting) >= self._per_point:
            self._points.append(sum(self._waiting) / len(self._waiting))
            self._waiting.clear()
        if len(self._points) > MAX_POINTS:
            pairs = zip(self._points[::2], self._points[1::2], strict=False)
            self._points = [(first + second) / 2 for first, second in pairs]
            self._per_point *= 2
        self.update()

    def set_live(self, live: bool) -> None:
        self._live = live
        self.update()

    def clear(self) -> None:
        self._points.clear()
        self._waiting.clear()
        self._per_point = 1
        self._plain = 0.0
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        if len(self._points) < 2:
            return
        theme = self._keeper.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        highest = max(*self._points, self._plain) * _HEADROOM or 1.0
        width, height = self.width() - 2, self.height() - 2

        def y(speed: float) -> float:
            return 1 + height * (1 - speed / highest)

        if self._plain:
            painter.setPen(QPen(QColor(theme.faint), 1, Qt.PenStyle.DotLine))
            painter.drawLine(QPointF(1, y(self._plain)), QPointF(1 + width, y(self._plain)))
        step = width / (len(self._points) - 1)
        line = QPolygonF([QPointF(1 + step * index, y(speed)) for index, speed in enumerate(self._points)])
        painter.setPen(QPen(QColor(theme.accent if self._live else theme.faint), 1.4))
        painter.drawPolyline(line)
        painter.end()
