from __future__ import annotations

from abc import abstractmethod

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QWidget


class RowView(QWidget):
    """A widget in a `VirtualColumn`: takes a width and says how high it is.

    Signals:
        height_changed(): what is shown has changed; the column arranges the row again.
    """

    height_changed = Signal()

    @abstractmethod
    def arrange(self, width: int) -> int:
        """Places the children for this width and returns the height; the column sets the geometry."""


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
