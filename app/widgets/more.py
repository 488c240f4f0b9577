from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QWidget

from app.widgets.layouts import Placed, in_column
from app.widgets.parts import button


class MoreSection(QWidget):
    """What few look for, behind a button that shows and hides it."""

    def __init__(self, inside: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self._inside = inside
        self.button = button("", "outlined", self)
        self.button.setCheckable(True)
        self.button.toggled.connect(self._show_inside)
        in_column([Placed(self.button, alignment=Qt.AlignmentFlag.AlignLeft), inside], inside=self, spacing=8)
        self._show_inside()

    @Slot()
    def _show_inside(self) -> None:
        is_open = self.button.isChecked()
        self._inside.setVisible(is_open)
        self.button.setText(self.tr("Less") if is_open else self.tr("More"))
        self.button.setAccessibleDescription(self.tr("Shows or hides settings that are rarely needed."))
