from __future__ import annotations

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton

from app.settings.shortcuts import native, written
from app.widgets.icon_button import IconButton


class KeyHint(QObject):
    """Keeps the keys of an action in the tooltip of a button that does the same."""

    def __init__(self, button: QAbstractButton, action: QAction) -> None:
        super().__init__(button)
        self._button = button
        self._action = action
        self._words = button.toolTip().split("  (")[0]
        action.changed.connect(self._show)
        self._show()

    @Slot()
    def _show(self) -> None:
        keys = native(written(self._action.shortcuts()))
        hint = f"{self._words}  ({keys})" if keys else self._words
        if hint != self._button.toolTip():
            self._button.setToolTip(hint)
            if isinstance(self._button, IconButton):
                self._button.set_name(hint)
