"""A table that is read, not edited, and that scrolls only where it has many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QStyle, QTableWidget, QTableWidgetItem, QWidget

from app.text.unseen import in_tip, one_line
from app.widgets.appearance import KeyboardFrame

_SCREEN_SHARE = 0.85  # of its width, that a table is never wider than


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a column, in the user's language."""

    title: str
    tip: str
    is_words: bool = False  # else figures, which stand at the right


class Table(KeyboardFrame, QTableWidget):
    """A table as high as its rows, up to a limit."""

    def __init__(
        self,
        headings: Sequence[Heading],
        most_rows: int,
        least_letters: int = 0,
        parent: QWidget | None = None,
        *,
        first_grows: bool = False,
    ) -> None:
        """`least_letters`: the least width of a column. `first_grows`: the first column takes the remaining room, and
        the table is as wide as its columns, up to the screen's width."""
        super().__init__(0, len(headings), parent)
        self._headings = tuple(headings)
        self._most_rows = most_rows
        self._least_letters = least_letters
        self._first_grows = first_grows
        self.setProperty("kind", "figures")
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setTabKeyNavigation(False)  # Tab leaves the table
        self.setShowGrid(False)
        self.setWordWrap(False)
        for number, heading in enumerate(headings):
            self.setHorizontalHeaderItem(number, _item(heading, heading.title))
        columns, rows = self.horizontalHeader(), self.verticalHeader()
        columns.setHighlightSections(False)
        columns.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        if first_grows:
            columns.setSectionResizeMode(0, QHeaderView.ResizeMode.Fixed)
        columns.geometriesChanged.connect(self._fit)
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)  # also where text grows
        rows.geometriesChanged.connect(self._fit)

    def show_row(self, number: int, words: Sequence[str], *, tip: str = "", is_bold: bool = False) -> None:
        """Fills a row's first cells. `tip` is the tooltip of its first one; the others have those of their columns."""
        for column, (heading, word) in enumerate(zip(self._headings, words, strict=False)):
            item = _item(heading, word)
            if tip and column == 0:
                item.setToolTip(in_tip(tip))
            if is_bold:
                font = self.font()
                font.setWeight(font.Weight.DemiBold)
                item.setFont(font)
            self.setItem(number, column, item)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _first_px(self) -> int:
        """The width of the first column with a check box."""
        box_px = self.style().pixelMetric(QStyle.PixelMetric.PM_IndicatorWidth)
        return max(self.sizeHintForColumn(0) + box_px, self.horizontalHeader().sectionSizeHint(0))

    @Slot()
    def _fit(self) -> None:
        columns = self.horizontalHeader()
        if self._first_grows:
            others_px = columns.length() - columns.sectionSize(0)
            beside_px = 2 * self.frameWidth() + self.verticalScrollBar().sizeHint().width()
            room_px = int(self.screen().availableSize().width() * _SCREEN_SHARE)
            self.setMinimumWidth(min(self._first_px() + others_px + beside_px, room_px))
            columns.resizeSection(0, max(self._first_px(), self.viewport().width() - others_px))
        if self._least_letters:  # else as narrow as the style allows
            columns.setMinimumSectionSize(self._least_letters * self.fontMetrics().averageCharWidth())
        height = columns.sizeHint().height() + 2 * self.frameWidth()
        if columns.length() > self.viewport().width():
            height += self.horizontalScrollBar().sizeHint().height()
        height += sum(self.rowHeight(number) for number in range(min(self.rowCount(), self._most_rows)))
        self.setFixedHeight(height + 2)


def _item(heading: Heading, words: str) -> QTableWidgetItem:
    item = QTableWidgetItem(one_line(words))
    side = Qt.AlignmentFlag.AlignLeft if heading.is_words else Qt.AlignmentFlag.AlignRight
    item.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
    item.setToolTip(heading.tip)
    return item
