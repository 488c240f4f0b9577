"""A long column of rows of which only those near the visible part exist as widgets."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from time import perf_counter
from typing import Protocol

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QWidget

from app.widgets.appearance import KeyboardFrame
from app.widgets.icon_button import IconButton
from app.widgets.transcript.row_view import RowView

COLUMN_PX = 780
MARGIN_PX = 24
AHEAD_PX = 500  # rows this near are built before they are in sight
KEEP_PX = 2_500  # rows farther away lose their widgets
STEP_PX = 20  # of the arrow keys; a notch of the wheel is three
PAGE_OVERLAP_PX = 48
END_PX = 4  # this near counts as at the end
REVEALED_PX = 24  # from the top, where a revealed row begins
DRAGGED_S = 0.004  # of a frame, after which no further row is built while the bar is dragged
OPENED_S = 0.015  # when a chat is opened, after which what else is in sight comes row by row
REST_MS = 40  # after which a dragged bar counts as resting


class ColumnRow(Protocol):
    """What the column needs of a row that may have no widget yet."""

    def estimate(self, width: int) -> int:
        """The estimated height in pixels."""
        ...

    def build(self, parent: QWidget) -> RowView: ...


@dataclass(frozen=True, slots=True)
class RowPlace:
    """A row in sight, and where its top is."""

    index: int
    top: int


@dataclass(slots=True, eq=False)
class _Slot:
    row: ColumnRow
    height: int
    view: RowView | None = None
    arranged_width: int | None = None  # None = the height is an estimate, or out of date


class VirtualColumn(KeyboardFrame, QAbstractScrollArea):
    """Scrolls over rows whose heights are estimated until they come near.

    When a height above changes, the first visible row stays in its place. While the column *follows*, the end stays
    visible whatever grows: until the user scrolls up, and again from when they scroll to the end. While the bar is
    dragged, rows that cannot be built within the frame are left empty until the bar rests.
    """

    following_changed = Signal(bool)  # the user has left the end, or come back
    view_built = Signal(object, QWidget)  # (Row, QWidget) a row has its widget now, whose signals may be connected

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._slots: list[_Slot] = []
        self._tops: list[int] = [0]  # of each row, and the end
        self._estimated_width = 0
        self._widest_px = COLUMN_PX
        self._covered_px = 0
        self.following = True
        self._placing = False
        self._wanted: tuple[_Slot, int] | None = None  # as `_place` takes it, until this is shown
        self.setProperty("kind", "column")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setAutoFillBackground(False)
        self.verticalScrollBar().setSingleStep(STEP_PX)
        self.verticalScrollBar().sliderReleased.connect(self._place)
        self._ahead = QTimer(self, singleShot=True)
        self._ahead.timeout.connect(self._build_ahead)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._on_focus_changed)

    @property
    def num_views(self) -> int:
        return sum(slot.view is not None for slot in self._slots)

    def set_rows(self, rows: Iterable[ColumnRow]) -> None:
        """Shows other rows, from their end."""
        for slot in self._slots:
            self._drop(slot)
        width = self._column_width()
        self._slots = [_Slot(row, row.estimate(width)) for row in rows]
        self._follow(True)
        self._placing = True
        self.verticalScrollBar().setRange(-self._covered_px, -self._covered_px)  # below what covers the top
        self._placing = False
        self._place(build_s=OPENED_S)

    def change_rows(self, rows: Iterable[ColumnRow]) -> None:
        """Shows other rows without scrolling: those that stay keep their widgets, and those in sight their places."""
        width = self._column_width()
        known = {id(slot.row): slot for slot in self._slots}
        self._slots = [known.get(id(row)) or _Slot(row, row.estimate(width)) for row in rows]
        self._tops = self._sum_up()
        self._follow(False)
        for gone in known.keys() - {id(slot.row) for slot in self._slots}:
            self._drop(known[gone])
        self._place()
        self._follow(self._is_at_end())

    @property
    def place(self) -> RowPlace | None:
        """The place in sight; None while following the end."""
        anchor = self._anchor(self._column_width())
        return None if anchor is None else RowPlace(self._slots.index(anchor[0]), anchor[1])

    def go_to(self, place: RowPlace | None) -> None:
        """Goes to the place in a previous column with the same rows, once this one is shown."""
        if place is not None and place.index < len(self._slots):
            self._follow(False)
            self._wanted = self._slots[place.index], place.top

    def set_widest(self, width_px: int) -> None:
        """Sets the largest width of rows."""
        self._widest_px = width_px

    def set_covered(self, height_px: int) -> None:
        """Sets how much of the top is covered. What is in sight stays where it is, and can be scrolled out from under
        the cover."""
        self._covered_px = height_px
        self._place()

    def build_again(self) -> None:
        """Drops all widgets and heights; rows in sight stay there."""
        width = self._column_width()
        for slot in self._slots:
            self._drop(slot)
            slot.arranged_width = None
            slot.height = slot.row.estimate(width)
        self._place()

    def append(self, row: ColumnRow) -> None:
        self._slots.append(_Slot(row, row.estimate(self._column_width())))
        self._place()

    def insert_before(self, row: ColumnRow, other: ColumnRow) -> None:
        self._slots.insert(self._index(row), _Slot(other, other.estimate(self._column_width())))
        self._place()

    def remove(self, row: ColumnRow) -> None:
        index = self._index(row)
        self._drop(self._slots.pop(index))
        self._place()

    def replace(self, row: ColumnRow, other: ColumnRow) -> None:
        """Gives a row's place and widget to another one: a growing reply has become a finished one."""
        self._slots[self._index(row)].row = other

    def view_of(self, row: ColumnRow) -> RowView | None:
        return self._slots[self._index(row)].view

    def built_rows(self) -> Sequence[tuple[ColumnRow, RowView]]:
        """The rows that have widgets."""
        return [(slot.row, slot.view) for slot in self._slots if slot.view is not None]

    def show_row(self, row: ColumnRow) -> RowView | None:
        """Scrolls to the row unless it is in sight, and returns its widget, if the column itself is shown."""
        index = self._index(row)
        bar = self.verticalScrollBar()
        top, bottom = self._tops[index], self._tops[index + 1]
        if top < bar.value() + self._covered_px or bottom > bar.value() + self.viewport().height():
            self._follow(False)
            bar.setValue(top - self._covered_px)
            self._place()
        return self._slots[index].view

    def scroll_to_end(self) -> None:
        self._follow(True)
        self._place()

    def reveal(self, row: ColumnRow) -> None:
        """Scrolls to the beginning of a row."""
        slot = self._slots[self._index(row)]
        bar = self.verticalScrollBar()
        self._tops = self._sum_up()
        top = REVEALED_PX + self._covered_px
        bar.setValue(self._tops[self._index(row)] - top)
        self._follow(False)
        self._place((slot, top))
        self._follow(self._is_at_end())

    def bring_up(self, part: QWidget) -> None:
        """Scrolls to a part of a row that is below the visible area, or in its lower half."""
        top = part.mapTo(self.viewport(), part.rect().topLeft()).y()
        if top > self.viewport().height() // 2:
            bar = self.verticalScrollBar()
            self._follow(False)
            bar.setValue(bar.value() + top - REVEALED_PX - self._covered_px)

    def visible_rows(self) -> Sequence[tuple[ColumnRow, int]]:
        """The rows in sight, with their tops within the viewport."""
        return [(slot.row, top) for slot, top in self._in_sight()]

    # Qt's own

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._estimate_again()
        self._place()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        wanted, self._wanted = self._wanted, None
        self._place(wanted)

    def scrollContentsBy(self, dx: int, dy: int) -> None:  # noqa: ARG002
        if not self._placing:
            self._follow(self._is_at_end())
            is_flying = abs(dy) > self.viewport().height()  # a row built now would be gone before it is read
            self._place(build_s=(0.0 if is_flying else DRAGGED_S) if self._is_dragged() else None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        bar = self.verticalScrollBar()
        if event.key() == Qt.Key.Key_Home:
            bar.setValue(bar.minimum())
        elif event.key() == Qt.Key.Key_End:
            self.scroll_to_end()
        else:
            super().keyPressEvent(event)

    # Placing

    def _place(self, wanted: tuple[_Slot, int] | None = None, build_s: float | None = None) -> None:
        """Builds, measures and places what is in sight, until nothing changes any more. `wanted` is a row and its top;
        without it, what is in sight stays there. After `build_s` seconds, no further row is built."""
        if self._placing or not self.isVisible():
            return
        self._placing = True
        try:
            width = self._column_width()
            anchor = wanted or self._anchor(width)
            self._tops = self._sum_up()
            self._scroll_to(anchor)
            until = None if build_s is None else perf_counter() + build_s
            while self._measure(*self._range(0), width, until):
                self._tops = self._sum_up()
                self._scroll_to(anchor)
            self._move(width)
        finally:
            self._placing = False
        self._ahead.start(REST_MS if self._is_dragged() else 0)  # dragged, what is near may never be seen

    def _is_dragged(self) -> bool:
        return self.verticalScrollBar().isSliderDown()

    def _anchor(self, width: int) -> tuple[_Slot, int] | None:
        """The first visible row with a known height, and its top; None while following the end."""
        if self.following or not self._slots:
            return None
        first, last = self._range(0)
        value = self.verticalScrollBar().value()
        known = (i for i in range(first, last) if self._slots[i].arranged_width == width)
        index = min(next(known, first), len(self._slots) - 1)  # none is in sight when much has just gone
        return self._slots[index], self._tops[index] - value

    def _scroll_to(self, anchor: tuple[_Slot, int] | None) -> None:
        bar = self.verticalScrollBar()
        height = self.viewport().height()
        lowest = min(-self._covered_px, bar.value())  # also where it is covered no more: nothing moves by itself
        bar.setRange(min(0, lowest), max(0, self._end()))
        bar.setPageStep(max(1, height - PAGE_OVERLAP_PX - self._covered_px))
        if anchor is None:
            bar.setValue(max(bar.value(), self._end()))
        elif anchor[0] in self._slots:
            bar.setValue(self._tops[self._slots.index(anchor[0])] - anchor[1])

    def _end(self) -> int:
        """The bar's value at the end; below 0 if there is room for more."""
        return self._tops[-1] - self.viewport().height()

    def _is_at_end(self) -> bool:
        return self.verticalScrollBar().value() >= self._end() - END_PX

    def _measure(self, first: int, last: int, width: int, until: float | None = None) -> bool:
        """Builds and arranges these rows; True if a height changed. After `until` by the performance counter, rows
        without a widget are left as they are."""
        changed = False
        for slot in self._slots[first:last]:
            if slot.view is None and until is not None and perf_counter() >= until:
                continue
            if slot.view is None:
                slot.view = slot.row.build(self.viewport())
                slot.view.height_changed.connect(self._on_height_changed)
                slot.arranged_width = None
                self.view_built.emit(slot.row, slot.view)
            if slot.arranged_width != width:
                height = slot.view.arrange(width)
                changed |= height != slot.height
                slot.height = height
                slot.arranged_width = width
        return changed

    def _move(self, width: int) -> None:
        value = self.verticalScrollBar().value()
        left = (self.width() - width) // 2  # in the middle with and without a scroll bar
        height = self.viewport().height()
        for slot, top in zip(self._slots, self._tops, strict=False):
            if slot.view is None:
                continue
            is_near = top + slot.height - value > -KEEP_PX and top - value < height + KEEP_PX
            if (is_near and slot.arranged_width == width) or _has_focus(slot.view):
                slot.view.setGeometry(left, top - value, width, slot.height)
                if slot.view.isHidden():
                    slot.view.show()
            else:
                self._drop(slot)

    @Slot()
    def _build_ahead(self) -> None:
        """Builds one row in sight, or else near it; the next follows when the interface is idle."""
        width = self._column_width()
        for index in (*range(*self._range(0)), *range(*self._range(AHEAD_PX))):
            if self._slots[index].arranged_width != width or self._slots[index].view is None:
                anchor = self._anchor(width)
                self._placing = True
                try:
                    self._measure(index, index + 1, width)
                    self._tops = self._sum_up()
                    self._scroll_to(anchor)
                    self._move(width)
                finally:
                    self._placing = False
                self._ahead.start(0)
                return

    @Slot()
    def _on_height_changed(self) -> None:
        view = self.sender()
        for slot in reversed(self._slots):
            if slot.view is view:
                slot.arranged_width = None
                break
        self._place()

    def _in_sight(self) -> Sequence[tuple[_Slot, int]]:
        """The slots in sight, with their tops within the viewport."""
        value = self.verticalScrollBar().value()
        return [(self._slots[index], self._tops[index] - value) for index in range(*self._range(0))]

    def _range(self, margin_px: int) -> tuple[int, int]:
        """The rows within the viewport and a margin, as first and one past the last."""
        value = self.verticalScrollBar().value()
        num = len(self._slots)
        first = bisect_right(self._tops, max(0, value - margin_px)) - 1
        last = bisect_left(self._tops, value + self.viewport().height() + margin_px)
        return max(0, min(first, num)), min(last, num)

    def _estimate_again(self) -> None:
        width = self._column_width()
        if width != self._estimated_width:
            self._estimated_width = width
            for slot in self._slots:
                if slot.view is None:
                    slot.arranged_width = None
                    slot.height = slot.row.estimate(width)

    @Slot(QWidget, QWidget)
    def _on_focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:  # noqa: ARG002
        """Scrolls to a button reached by Tab."""
        if not isinstance(new, IconButton) or not new.reached_by_tab or not self.viewport().isAncestorOf(new):
            return
        top = new.mapTo(self.viewport(), new.rect().topLeft()).y()
        overhang = top + new.height() + MARGIN_PX - self.viewport().height()
        if overhang > 0 or top < 0:
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + (overhang if overhang > 0 else top - MARGIN_PX))

    def _sum_up(self) -> list[int]:
        return list(accumulate([slot.height for slot in self._slots], initial=0))

    def _column_width(self) -> int:
        beside = max(MARGIN_PX, self.verticalScrollBar().sizeHint().width() + 1)
        return max(120, min(self._widest_px, self.width() - 2 * beside))

    def _index(self, row: ColumnRow) -> int:
        for index in range(len(self._slots) - 1, -1, -1):
            if self._slots[index].row is row:
                return index
        raise ValueError("this row is not in the column")

    def _follow(self, following: bool) -> None:
        if following != self.following:
            self.following = following
            self.following_changed.emit(following)

    def _drop(self, slot: _Slot) -> None:
        if slot.view is not None:
            slot.view.leave()
            slot.view = None


def _has_focus(view: RowView) -> bool:
    focused = QApplication.focusWidget()
    return focused is not None and view.isAncestorOf(focused)
