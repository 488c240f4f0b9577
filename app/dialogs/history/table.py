"""The figures for each model and kind of text, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from app.dialogs.history.columns import COLUMNS, Column, cells
from app.dialogs.history.figures import Row
from app.dialogs.history.wording import tool_tip
from app.text.translation import translate
from app.widgets.appearance import KeyboardFrame

_MOST_ROWS_SHOWN = 14


class FiguresTable(KeyboardFrame, QTableWidget):
    """Shows rows under the names of their models, and is as high as its rows, up to a number of them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(0, len(COLUMNS), parent)
        self.setProperty("kind", "figures")
        self.setAccessibleName(self.tr("Figures for each model and kind of text"))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setTabKeyNavigation(False)  # Tab leaves the table
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        for number, column in enumerate(COLUMNS):
            header = QTableWidgetItem(translate("Speed", column.title))
            header.setToolTip(tool_tip(column.about))
            header.setTextAlignment(_alignment(column))
            self.setHorizontalHeaderItem(number, header)
        header_view = self.horizontalHeader()
        header_view.setHighlightSections(False)
        header_view.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)  # also where text grows
        self.verticalHeader().geometriesChanged.connect(self._fit_height)
        header_view.geometriesChanged.connect(self._fit_height)

    def show_rows(self, rows: Sequence[Row]) -> None:
        self.clearSpans()
        self.setRowCount(0)
        name = ""
        for row in rows:
            if row.target_name != name:
                name = row.target_name
                self._add_name(name)
            self._add(cells(row))
        self._fit_height()

    @Slot()
    def _fit_height(self) -> None:
        header_view = self.horizontalHeader()
        height = header_view.sizeHint().height() + 2 * self.frameWidth()
        if header_view.length() > self.viewport().width():
            height += self.horizontalScrollBar().sizeHint().height()
        height += sum(self.rowHeight(number) for number in range(min(self.rowCount(), _MOST_ROWS_SHOWN)))
        self.setFixedHeight(height + 2)

    def _add_name(self, name: str) -> None:
        number = self.rowCount()
        self.insertRow(number)
        item = QTableWidgetItem(name)
        font = self.font()
        font.setWeight(font.Weight.DemiBold)
        item.setFont(font)
        item.setToolTip(self.tr("The model that wrote these replies"))
        self.setItem(number, 0, item)
        self.setSpan(number, 0, 1, len(COLUMNS))

    def _add(self, words: Sequence[str]) -> None:
        number = self.rowCount()
        self.insertRow(number)
        for place, (column, word) in enumerate(zip(COLUMNS, words, strict=True)):
            item = QTableWidgetItem(word)
            item.setTextAlignment(_alignment(column))
            item.setToolTip(tool_tip(column.about))
            self.setItem(number, place, item)


def _alignment(column: Column) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignLeft if column.is_words else Qt.AlignmentFlag.AlignRight
    return side | Qt.AlignmentFlag.AlignVCenter
