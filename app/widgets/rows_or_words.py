from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QStackedWidget, QWidget

from app.models.rows import Row
from app.widgets.rows_view import RowsView


class RowsOrWords(QStackedWidget):
    """A list, or a sentence in its place while there is nothing to list."""

    def __init__(self, view: RowsView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.view = view
        self.words = QLabel(self)
        self.words.setProperty("kind", "quiet")
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        self.words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.words.setWordWrap(True)
        self.words.setMargin(16)
        self.addWidget(view)
        self.addWidget(self.words)

    def show_rows(self, rows: Sequence[Row], words_without: str) -> None:
        self.view.set_rows(rows)
        if rows:
            self.setCurrentWidget(self.view)
        else:
            self.show_words(words_without)

    def show_words(self, words: str) -> None:
        self.words.setText(words)
        self.setCurrentWidget(self.words)
