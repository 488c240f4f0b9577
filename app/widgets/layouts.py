"""Rows, columns and grids of widgets, each built in one expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtWidgets import QBoxLayout, QFrame, QGridLayout, QHBoxLayout, QLayout, QScrollArea, QVBoxLayout, QWidget

from app.widgets.appearance import KeyboardFrame


@dataclass(frozen=True, slots=True)
class Stretch:
    """Takes the room that is left, in proportion to its factor."""

    factor: int = 1


@dataclass(frozen=True, slots=True)
class Gap:
    px: int


@dataclass(frozen=True, slots=True)
class Placed:
    """A widget or layout with a stretch factor, an alignment, or a number of columns of a grid."""

    part: QWidget | QLayout
    stretch: int = 0
    alignment: Qt.AlignmentFlag | None = None
    columns: int = 1


Part = QWidget | QLayout | Stretch | Gap | Placed
Margins = tuple[int, int, int, int]  # px: left, top, right, bottom
_Box = TypeVar("_Box", bound=QBoxLayout)


def in_column(
    parts: Sequence[Part], inside: QWidget | None = None, margins: Margins = (0, 0, 0, 0), spacing: int | None = None
) -> QVBoxLayout:
    """Stacks parts from top to bottom, filling the widget `inside`. Without `spacing`, the style's is used."""
    return _filled(QVBoxLayout() if inside is None else QVBoxLayout(inside), parts, margins, spacing)


def in_row(
    parts: Sequence[Part], inside: QWidget | None = None, margins: Margins = (0, 0, 0, 0), spacing: int | None = None
) -> QHBoxLayout:
    """Places parts side by side; see `in_column`."""
    return _filled(QHBoxLayout() if inside is None else QHBoxLayout(inside), parts, margins, spacing)


def in_grid(
    rows: Sequence[Sequence[QWidget | QLayout | Placed | None]],
    inside: QWidget | None = None,
    margins: Margins = (0, 0, 0, 0),
    spacing: tuple[int, int] = (0, 0),
    stretches: Sequence[int] = (),
) -> QGridLayout:
    """Places rows from top to bottom, None for an empty cell. `spacing` is between columns and between rows;
    `stretches` are the factors of the columns."""
    grid = QGridLayout() if inside is None else QGridLayout(inside)
    grid.setContentsMargins(*margins)
    grid.setHorizontalSpacing(spacing[0])
    grid.setVerticalSpacing(spacing[1])
    for column, factor in enumerate(stretches):
        grid.setColumnStretch(column, factor)
    for parts in rows:
        add_row(grid, parts)
    return grid


def add_row(grid: QGridLayout, parts: Sequence[QWidget | QLayout | Placed | None]) -> int:
    """Adds a row below the others and returns its number."""
    row, column = grid.rowCount() if grid.count() else 0, 0
    for part in parts:
        placed = part if part is None or isinstance(part, Placed) else Placed(part)
        if placed is not None:
            place = (row, column, 1, placed.columns, placed.alignment or Qt.AlignmentFlag(0))
            if isinstance(placed.part, QWidget):
                grid.addWidget(placed.part, *place)
            else:
                grid.addLayout(placed.part, *place)
        column += placed.columns if placed is not None else 1
    return row


def _filled(layout: _Box, parts: Sequence[Part], margins: Margins, spacing: int | None) -> _Box:
    layout.setContentsMargins(*margins)
    if spacing is not None:
        layout.setSpacing(spacing)
    for part in parts:
        match part:
            case Stretch(factor):
                layout.addStretch(factor)
            case Gap(px):
                layout.addSpacing(px)
            case Placed(inner, stretch, alignment):
                _add(layout, inner, stretch)
                if alignment is not None:
                    layout.setAlignment(inner, alignment)
            case _:
                _add(layout, part, 0)
    return layout


def _add(layout: QBoxLayout, part: QWidget | QLayout, stretch: int) -> None:
    if isinstance(part, QWidget):
        layout.addWidget(part, stretch)
    else:
        layout.addLayout(part, stretch)


class ScrollArea(QScrollArea):
    """Scrolls from top to bottom, without a frame of its own. It is never narrower than its contents, as nothing
    scrolls sideways."""

    def __init__(self, kind: str, parent: QWidget | None = None) -> None:
        super().__init__(parent, widgetResizable=True)
        self.setProperty("kind", kind)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the keyboard goes to its contents

    def minimumSizeHint(self) -> QSize:
        hint, inside = super().minimumSizeHint(), self.widget()
        if inside is None:
            return hint
        beside = self.verticalScrollBar().sizeHint().width() + 2 * self.frameWidth()
        return hint.expandedTo(QSize(inside.minimumSizeHint().width() + beside, 0))

    def sizeHint(self) -> QSize:
        return super().sizeHint().expandedTo(self.minimumSizeHint())

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()  # the contents have another width
        return super().event(event)


class ScrollingPage(KeyboardFrame, ScrollArea):
    """A page that scrolls from top to bottom, also by the keyboard."""

    def __init__(self, name: str, inside: QWidget | None = None, parent: QWidget | None = None) -> None:
        """`name` is what a screen reader says."""
        super().__init__("page", parent)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        if inside is not None:
            self.setWidget(inside)
