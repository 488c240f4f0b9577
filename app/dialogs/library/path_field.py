from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFocusEvent, QResizeEvent
from PySide6.QtWidgets import QLineEdit, QWidget

_INSIDE_PX = 6  # of a field that are not text


class PathField(QLineEdit):
    """A path to read and copy. Its middle is left out where there is no room for it, until the keyboard is in it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._path = ""
        self.setReadOnly(True)
        self.setProperty("kind", "fact")
        self.setTextMargins(-2, 0, 0, 0)

    def show_path(self, path: str) -> None:
        self._path = path
        self.setToolTip(path)
        self.setAccessibleDescription(path)
        self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._show(whole=True)
        super().focusInEvent(event)  # marks all of it

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() is not Qt.FocusReason.PopupFocusReason:  # its own menu, which copies what is marked
            self._show()

    def _show(self, whole: bool = False) -> None:
        room = self.width() - _INSIDE_PX
        short = self.fontMetrics().elidedText(self._path, Qt.TextElideMode.ElideMiddle, room)
        text = self._path if whole or self.hasFocus() else short
        if text != self.text():
            self.setText(text)
            self.setCursorPosition(0)
