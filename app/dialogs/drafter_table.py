"""All who could draft for the model in use, side by side."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.text.drafters import COLUMNS, cells
from app.text.translation import translate, translated
from app.widgets.table import Heading, Table
from engine.messages.drafters import DrafterChoice

_MOST_ROWS_SHOWN = 5
_LEAST_LETTERS = 9  # of a column


class DrafterTable(Table):
    """The best one first, the chosen one in bold. Hidden while empty."""

    def __init__(self, parent: QWidget | None = None) -> None:
        headings = [
            Heading(translate("Drafters", title), translate("Drafters", about), is_words=not number)
            for number, (title, about) in enumerate(COLUMNS)
        ]
        super().__init__(headings, _MOST_ROWS_SHOWN, _LEAST_LETTERS, parent, first_grows=True)
        self.setAccessibleName(self.tr("Drafters for this model"))
        self.hide()

    def show_choice(self, choice: DrafterChoice | None) -> None:
        """The prospects of a choice."""
        prospects = choice.prospects if choice is not None else ()
        self.setRowCount(len(prospects))
        for number, prospect in enumerate(prospects):
            is_chosen = choice is not None and prospect.source == choice.chosen
            self.show_row(number, cells(prospect, is_chosen), tip=translated(prospect.source.name), is_bold=is_chosen)
        self.setVisible(bool(prospects))
        self._fit()
