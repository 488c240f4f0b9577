"""Bars of parts that are set end to end, on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.text.unseen import in_tip
from app.theme import Theme, ThemeKeeper

_BAR_PX = 14
_DOT_PX = 9
_GAP_PX = 6
_BETWEEN_PX = 12  # two bars
_LEAST_PX = 2  # of a part that is not empty


@dataclass(frozen=True, slots=True)
class BarShare:
    size: float
    colour: str  # a token of the theme
    words: str


@dataclass(frozen=True, slots=True)
class Bar:
    name: str
    parts: tuple[BarShare, ...]
    about: str  # of its tooltip


class ShareBars(QWidget):
    """Each bar has a line above it: its name, and the words of its parts, each with a dot in its colour."""

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bars: tuple[Bar, ...] = ()
        self._theme = keeper.theme
        keeper.changed.connect(self._on_theme)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def show_bars(self, bars: Sequence[Bar]) -> None:
        self.bars = tuple(bars)
        self.setAccessibleName("\n".join(f"{bar.name}: " + ", ".join(part.words for part in bar.parts) for bar in bars))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        widest = max((self._flow(bar, None)[-1].right() for bar in self.bars), default=0)
        return QSize(widest, self.heightForWidth(widest))

    def minimumSizeHint(self) -> QSize:
        widest = max((words.width() for bar in self.bars for words in self._flow(bar, None)), default=0)
        return QSize(widest, self.heightForWidth(self.width()))

    def heightForWidth(self, width: int) -> int:
        return max(0, sum(self._height(bar, width) for bar in self.bars) - _BETWEEN_PX)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.updateGeometry()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        longest = max((sum(part.size for part in bar.parts) for bar in self.bars), default=0.0)
        top = 0
        for bar in self.bars:
            self._paint_words(painter, bar, top)
            top += self._height(bar, self.width())
            if longest > 0:
                self._paint_bar(painter, bar, top - _BETWEEN_PX - _BAR_PX, self.width() / longest)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            self._show_tip(event.pos(), event.globalPos())
            return True
        return super().event(event)

    def _flow(self, bar: Bar, room_px: int | None) -> list[QRect]:
        """Places the bar's name and the words of its parts, each with its dot, in as many lines as needed."""
        metrics, places = self.fontMetrics(), [QRect(0, 0, 0, 0)]
        for words in (bar.name, *(part.words for part in bar.parts)):
            dot_px = 0 if len(places) == 1 else _DOT_PX + _GAP_PX
            place = QRect(places[-1].right() + 1, places[-1].top(), metrics.horizontalAdvance(words) + dot_px + 1, 0)
            place.setHeight(metrics.height())
            if dot_px:
                place.translate(3 * _GAP_PX, 0)
                if room_px is not None and place.right() > room_px:
                    place.moveTo(0, place.bottom() + 1)
            places.append(place)
        return places[1:]

    def _height(self, bar: Bar, width: int) -> int:
        return self._flow(bar, width)[-1].bottom() + 1 + _GAP_PX + _BAR_PX + _BETWEEN_PX

    def _paint_words(self, painter: QPainter, bar: Bar, top: int) -> None:
        name, *places = (place.translated(0, top) for place in self._flow(bar, self.width()))
        painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
        painter.drawText(name, Qt.AlignmentFlag.AlignVCenter, bar.name)
        for part, place in zip(bar.parts, places, strict=True):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(getattr(self._theme, part.colour)))
            dot = QRectF(place.left(), place.top() + (place.height() - _DOT_PX) / 2, _DOT_PX, _DOT_PX)
            painter.drawEllipse(dot)
            painter.setPen(QColor(self._theme.quiet))
            beside = place.adjusted(_DOT_PX + _GAP_PX, 0, 0, 0)
            painter.drawText(beside, Qt.AlignmentFlag.AlignVCenter, part.words)

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
        bottom = 0
        for bar in self.bars:
            bottom += self._height(bar, self.width())
            if place.y() < bottom:
                QToolTip.showText(on_screen, in_tip(bar.about), self)
                return

    @Slot(Theme)
    def _on_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.updateGeometry()  # the text has another size
        self.update()
