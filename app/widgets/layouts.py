"""Rows and columns of widgets, each built in one expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLayout, QScrollArea, QVBoxLayout, QWidget

from app.widgets.appearance import show_keyboard_focus


@dataclass(frozen=True, slots=True)
class Stretch:
    """Takes what room is left, in proportion to its factor."""

    factor: int = 1


@dataclass(frozen=True, slots=True)
class Gap:
    px: int


@dataclass(frozen=True, slots=True)
class Placed:
    """A widget or layout with a stretch factor, an alignment, or both."""

    part: QWidget | QLayout
    stretch: int = 0
    alignment: Qt.AlignmentFlag | None = None


Part = QWidget | QLayout | Stretch | Gap | Placed
Margins = tuple[int, int, int, int]  # px: left, top, right, bottom
_Box = TypeVar("_Box", bound=QBoxLayout)


def in_column(
    parts: Sequence[Part], inside: QWidget | None = None, margins: Margins = (0, 0, 0, 0), spacing: int | None = None
) -> QVBoxLayout:
    """The parts from top to bottom; `inside` is the widget that they fill. Without
    `spacing`, the style's own."""
    return _filled(QVBoxLayout() if inside is None else QVBoxLayout(inside), parts, margins, spacing)


def in_row(
    parts: Sequence[Part], inside: QWidget | None = None, margins: Margins = (0, 0, 0, 0), spacing: int | None = None
) -> QHBoxLayout:
    """The parts side by side; else as `in_column`."""
    return _filled(QHBoxLayout() if inside is None else QHBoxLayout(inside), parts, margins, spacing)


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


class ScrollingPage(QScrollArea):
    """More than fits, from top to bottom: the keyboard can come here to scroll. It is never narrower than what is in
    it, as nothing scrolls sideways."""

    def __init__(self, name: str, inside: QWidget | None = None, parent: QWidget | None = None) -> None:
        """`name` is what a screen reader says."""
        super().__init__(parent)
        self.setProperty("kind", "page")
        self.setAccessibleName(name)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        if inside is not None:
            self.setWidget(inside)

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
            self.updateGeometry()  # what is in it takes another width
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        show_keyboard_focus(self, event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        show_keyboard_focus(self, event)
