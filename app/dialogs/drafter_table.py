"""All who could draft for the model in use, side by side."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from app.text.drafters import COLUMNS, cells
from app.text.translation import translate
from app.widgets.appearance import KeyboardFrame
from engine.messages.drafters import DrafterChoice

_MOST_ROWS_SHOWN = 5  # more are scrolled to
_LEAST_LETTERS = 9  # of a column


class DrafterTable(KeyboardFrame, QTableWidget):
    """The best one first, the chosen one in bold; as high as its rows, up to a number of them. Hidden while empty."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(0, len(COLUMNS), parent)
        self.setProperty("kind", "figures")
        self.setAccessibleName(self.tr("Drafters for this model"))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setTabKeyNavigation(False)  # Tab leaves the table
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        for number, (title, about) in enumerate(COLUMNS):
            header = QTableWidgetItem(translate("Drafters", title))
            header.setToolTip(translate("Drafters", about))
            header.setTextAlignment(_alignment(number))
            self.setHorizontalHeaderItem(number, header)
        columns = self.horizontalHeader()
        columns.setHighlightSections(False)
        columns.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        columns.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)  # also where text grows
        self.verticalHeader().geometriesChanged.connect(self._fit_height)
        columns.geometriesChanged.connect(self._fit_height)
        self.hide()

    def show_choice(self, choice: DrafterChoice | None) -> None:
        """The prospects of a choice."""
        prospects = choice.prospects if choice is not None else ()
        self.setRowCount(len(prospects))
        for number, prospect in enumerate(prospects):
            is_chosen = choice is not None and prospect.source == choice.chosen
            for place, word in enumerate(cells(prospect, is_chosen)):
                item = QTableWidgetItem(word)
                font = self.font()
                font.setWeight(font.Weight.DemiBold if is_chosen else font.Weight.Normal)
                item.setFont(font)
                item.setTextAlignment(_alignment(place))
                item.setToolTip(translate("Drafters", COLUMNS[place][1]) if place else prospect.source.name)
                self.setItem(number, place, item)
        self.setVisible(bool(prospects))
        self._fit_height()

    @Slot()
    def _fit_height(self) -> None:
        columns = self.horizontalHeader()
        columns.setMinimumSectionSize(_LEAST_LETTERS * self.fontMetrics().averageCharWidth())
        height = columns.sizeHint().height() + 2 * self.frameWidth()
        if columns.length() > self.viewport().width():
            height += self.horizontalScrollBar().sizeHint().height()
        height += sum(self.rowHeight(number) for number in range(min(self.rowCount(), _MOST_ROWS_SHOWN)))
        self.setFixedHeight(height + 2)


def _alignment(column: int) -> Qt.AlignmentFlag:
    return (Qt.AlignmentFlag.AlignRight if column else Qt.AlignmentFlag.AlignLeft) | Qt.AlignmentFlag.AlignVCenter
