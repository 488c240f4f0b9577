from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from app.widgets.row_view import RowView


class NoteView(RowView):
    """A quiet, centred sentence between messages."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._label = QLabel(text, self)
        self._label.setProperty("kind", "faint")
        self._label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._label.setWordWrap(True)
        self._label.setTextFormat(Qt.TextFormat.PlainText)

    def arrange(self, width: int) -> int:
        height = self._label.heightForWidth(width)
        self._label.setGeometry(0, 10, width, height)
        return height + 20
