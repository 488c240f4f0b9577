"""The only file that knows pyqtgraph, which takes half a second to import: import this one only for a plot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QColor, QFont
from PySide6.QtWidgets import QWidget

from app.theme import Theme, ThemeKeeper
from app.widgets.layouts import in_column

_POINT_PX = 8
_LEAST_SPAN = 0.2  # of the ratios shown
_MARGIN = 0.08  # of the ranges shown, on every side


@dataclass(frozen=True, slots=True)
class PlotPoint:
    place: float
    value: float
    error: float  # to either side
    words: str  # of its tooltip


@dataclass(frozen=True, slots=True)
class PlotMark:
    """An upright line."""

    place: float
    words: str


class _NamedAxis(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph has no types
    """Names its places by `name_of`."""

    def __init__(self, name_of: Callable[[float], str], **options: Any) -> None:
        super().__init__(**options)
        self.name_of = name_of

    def tickStrings(self, values: Sequence[float], _scale: float, _spacing: float) -> list[str]:
        return [self.name_of(value) for value in values]

    def tickSpacing(self, least: float, largest: float, size: float) -> list[tuple[float, float]]:
        """Whole places only, as there are no half days."""
        spacings = super().tickSpacing(least, largest, size)
        return [(max(1.0, round(spacing)), 0.0) for spacing, _ in spacings[:1]]


class RatioPlot(QWidget):
    """Ratios with their errors, along days, weeks or chats, others as rings, and a line at 1."""

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._points: tuple[PlotPoint, ...] = ()
        self._rings: tuple[PlotPoint, ...] = ()
        self._marks: tuple[PlotMark, ...] = ()
        self._axis = _NamedAxis(str, orientation="bottom")
        self._view = pg.PlotWidget(self, axisItems={"bottom": self._axis})
        self._view.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # there is nothing to do in it
        self._view.setMenuEnabled(False)
        self._view.setMouseEnabled(x=False, y=False)
        self._view.hideButtons()
        self._view.setAntialiasing(True)
        self._theme = keeper.theme
        keeper.changed.connect(self._on_theme)
        in_column([self._view], inside=self)
        self._draw()

    def show_points(
        self,
        points: Sequence[PlotPoint],
        marks: Sequence[PlotMark],
        name_of: Callable[[float], str],
        rings: Sequence[PlotPoint] = (),
    ) -> None:
        """`name_of` gives the words below a place. Rings have no error."""
        self._points, self._marks, self._rings = tuple(points), tuple(marks), tuple(rings)
        self._axis.name_of = name_of
        self._draw()

    @Slot(Theme)
    def _on_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._draw()

    def _draw(self) -> None:
        theme, item = self._theme, self._view.getPlotItem()
        self._view.setBackground(theme.window)
        item.clear()
        font = QFont(self.font())
        for side in ("left", "bottom"):
            axis = item.getAxis(side)
            axis.setPen(pg.mkPen(theme.border_strong))
            axis.setTextPen(pg.mkPen(theme.quiet))
            axis.setStyle(tickFont=font, tickLength=-4)
        item.getAxis("left").setGrid(40)
        item.addItem(pg.InfiniteLine(1.0, angle=0, pen=pg.mkPen(theme.faint, width=1.5)))
        for mark in self._marks:
            line = pg.InfiniteLine(
                mark.place,
                pen=pg.mkPen(theme.code_keyword, width=1.5, style=Qt.PenStyle.DashLine),
                hoverPen=pg.mkPen(theme.code_keyword, width=2.5),
            )
            line.setToolTip(mark.words)
            item.addItem(line)
        self._draw_points()
        self._set_ranges()

    def _draw_points(self) -> None:
        theme, item, points = self._theme, self._view.getPlotItem(), self._points
        if not points:
            return
        places, values = [point.place for point in points], [point.value for point in points]
        bars = QColor(theme.accent)
        bars.setAlphaF(0.45)
        half = [point.error for point in points]
        pen = pg.mkPen(bars, width=1.5)
        item.addItem(pg.ErrorBarItem(x=np.array(places), y=np.array(values), height=2 * np.array(half), pen=pen))
        item.addItem(_dots(self._rings, theme.quiet, theme.window, theme.surface))
        item.addItem(_dots(points, theme.surface, theme.accent, theme.accent_hover))

    def _set_ranges(self) -> None:
        places = [point.place for point in self._points] or [0.0]
        shown = (*self._points, *self._rings)
        low = min([1.0, *(point.value - point.error for point in shown)])
        high = max([1.0, *(point.value + point.error for point in shown)])
        spare = max(0.0, _LEAST_SPAN - (high - low)) / 2
        view = self._view.getPlotItem()
        view.setYRange(low - spare, high + spare, padding=_MARGIN)
        view.setXRange(min(places) - 0.5, max(places) + 0.5, padding=0.02)


def _dots(points: Sequence[PlotPoint], edge: str, inside: str, under_mouse: str) -> pg.ScatterPlotItem:
    return pg.ScatterPlotItem(
        x=[point.place for point in points],
        y=[point.value for point in points],
        data=[point.words for point in points],
        size=_POINT_PX,
        pen=pg.mkPen(edge),
        brush=pg.mkBrush(inside),
        hoverable=True,
        hoverBrush=pg.mkBrush(under_mouse),
        hoverSize=_POINT_PX + 3,
        tip=_tip,
    )


def _tip(x: float, y: float, data: str) -> str:  # noqa: ARG001 (pyqtgraph names them)
    return data
