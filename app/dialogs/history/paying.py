"""Kinds of text, and what speed-up brings with each on this computer."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QLabel, QWidget

from app.dialogs.history.wording import WHERE_IT_PAYS
from app.text.translation import translate
from app.widgets.layouts import add_row, in_column, in_grid
from app.widgets.parts import discard, words


class PayingView(QWidget):
    """Hidden while there is nothing to tell."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("inside")
        self._grid = in_grid([], spacing=(18, 4), stretches=(0, 1))
        self._shown: list[QLabel] = []
        self.rows: tuple[tuple[str, str], ...] = ()
        self.note = words(translate("Speed", WHERE_IT_PAYS), self, kind="faint")
        in_column([self._grid, self.note], inside=self, spacing=8)
        self.hide()

    def show_rows(self, rows: Sequence[tuple[str, str]]) -> None:
        """Names of kinds, and what is said of them."""
        if tuple(rows) != self.rows:
            self.rows = tuple(rows)
            for each in self._shown:
                self._grid.removeWidget(each)
                discard(each)
            self._shown = [words(text, self) for row in rows for text in row]
            for name, figure in zip(self._shown[::2], self._shown[1::2], strict=True):
                name.setWordWrap(False)
                add_row(self._grid, [name, figure])
        self.setVisible(bool(rows))
