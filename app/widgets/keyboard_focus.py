from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QWidget

_BY_KEYS = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)


def show_keyboard_focus(widget: QWidget, event: QFocusEvent) -> None:
    """Has the style sheet know, by the property `keyboard`, whether the keyboard came here by Tab: whoever clicks into
    a large area needs no frame around it."""
    reached = "true" if event.gotFocus() and event.reason() in _BY_KEYS else "false"
    if widget.property("keyboard") != reached:
        widget.setProperty("keyboard", reached)
        widget.style().unpolish(widget)
        widget.style().polish(widget)
