"""Bars of parts that are set end to end, on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.theme import Theme, ThemeKeeper

_BAR_PX = 14
_DOT_PX = 9
_GAP_PX = 6
_BETWEEN_PX = 12  # two bars
_LEAST_PX = 2  # of a part that is not empty


@dataclass(frozen=True, slots=True)
class Part:
    size: float
    colour: str  # a token of the theme
    words: str


@dataclass(frozen=True, slots=True)
class Bar:
    name: str
    parts: tuple[Part, ...]
    about: str  # of its tooltip


class ShareBars(QWidget):
    """Each bar has a line above it: its name, and the words of its parts, each with a dot in its colour."""

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bars: tuple[Bar, ...] = ()
        self._theme = keeper.theme
        keeper.changed.connect(self._on_theme)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_bars(self, bars: Sequence[Bar]) -> None:
        self.bars = tuple(bars)
        self.setAccessibleName("\n".join(f"{bar.name}: " + ", ".join(part.words for part in bar.parts) for bar in bars))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        widest = max(map(self._words_px, self.bars), default=0)
        return QSize(widest, max(0, len(self.bars) * self._row_px - _BETWEEN_PX))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        longest = max((sum(part.size for part in bar.parts) for bar in self.bars), default=0.0)
        for number, bar in enumerate(self.bars):
            top = number * self._row_px
            self._paint_words(painter, bar, top)
            if longest > 0:
                self._paint_bar(painter, bar, top + self._line_px + _GAP_PX, self.width() / longest)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            self._show_tip(event.pos(), event.globalPos())
            return True
        return super().event(event)

    @property
    def _line_px(self) -> int:
        return self.fontMetrics().height()

    @property
    def _row_px(self) -> int:
        return self._line_px + _GAP_PX + _BAR_PX + _BETWEEN_PX

    def _words_px(self, bar: Bar) -> int:
        metrics = self.fontMetrics()
        parts = sum(3 * _GAP_PX + _DOT_PX + _GAP_PX + metrics.horizontalAdvance(part.words) for part in bar.parts)
        return metrics.horizontalAdvance(bar.name) + parts + 1

    def _paint_words(self, painter: QPainter, bar: Bar, top: float) -> None:
        metrics = self.fontMetrics()
        painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
        painter.drawText(QRectF(0, top, self.width(), self._line_px), Qt.AlignmentFlag.AlignVCenter, bar.name)
        left = float(metrics.horizontalAdvance(bar.name) + 3 * _GAP_PX)
        for part in bar.parts:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(getattr(self._theme, part.colour)))
            painter.drawEllipse(QRectF(left, top + (self._line_px - _DOT_PX) / 2, _DOT_PX, _DOT_PX))
            left += _DOT_PX + _GAP_PX
            painter.setPen(QColor(self._theme.quiet))
            width = metrics.horizontalAdvance(part.words)
            painter.drawText(QRectF(left, top, width + 1, self._line_px), Qt.AlignmentFlag.AlignVCenter, part.words)
            left += width + 3 * _GAP_PX

    def _paint_bar(self, painter: QPainter, bar: Bar, top: float, px_per_size: float) -> None:
        left = 0.0
        painter.setPen(Qt.PenStyle.NoPen)
        for part in bar.parts:
            if part.size > 0:
                width = max(_LEAST_PX, part.size * px_per_size)
                painter.setBrush(QColor(getattr(self._theme, part.colour)))
                painter.drawRect(QRectF(left, top, min(width, self.width() - left), _BAR_PX))
                left += width

    def _show_tip(self, place: QPoint, on_screen: QPoint) -> None:
        number = place.y() // self._row_px
        if 0 <= number < len(self.bars):
            QToolTip.showText(on_screen, self.bars[number].about, self)

    @Slot(Theme)
    def _on_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.updateGeometry()  # the text has another size
        self.update()
