"""The figures for each model and kind of text, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from app.dialogs.history.columns import COLUMNS, cells
from app.dialogs.history.figures import HistoryRow
from app.dialogs.history.wording import tool_tip
from app.text.translation import translate
from app.widgets.table import Heading, Table

_MOST_ROWS_SHOWN = 14


class FiguresTable(Table):
    """Shows rows under the names of their models."""

    def __init__(self, parent: QWidget | None = None) -> None:
        headings = [Heading(translate("Speed", each.title), tool_tip(each.about), each.is_words) for each in COLUMNS]
        super().__init__(headings, _MOST_ROWS_SHOWN, parent=parent)
        self.setAccessibleName(self.tr("Figures by model and kind of text"))

    def show_rows(self, rows: Sequence[HistoryRow]) -> None:
        self.clearSpans()
        self.setRowCount(0)
        name = ""
        for row in rows:
            if row.target_name != name:
                name = row.target_name
                self._add_name(name)
            self.show_row(self._add(), cells(row))
        self._fit()

    def _add_name(self, name: str) -> None:
        number = self._add()
        self.show_row(number, (name,), tip=self.tr("The model that wrote the replies"), is_bold=True)
        self.setSpan(number, 0, 1, len(COLUMNS))

    def _add(self) -> int:
        number = self.rowCount()
        self.insertRow(number)
        return number
