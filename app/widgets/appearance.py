"""How widgets look beside the style sheet: kinds that change, the frame of keyboard focus, the fonts of a chat."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFocusEvent, QFont, QFontDatabase
from PySide6.QtWidgets import QApplication, QWidget


def set_kind(widget: QWidget, kind: str) -> None:
    """Gives a widget that is shown already another of the theme's kinds."""
    if widget.property("kind") != kind:
        widget.setProperty("kind", kind)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


_BY_KEYS = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)


def show_keyboard_focus(widget: QWidget, event: QFocusEvent) -> None:
    """Has the style sheet know, by the property `keyboard`, whether the keyboard came here by Tab: whoever clicks into
    a large area needs no frame around it."""
    reached = "true" if event.gotFocus() and event.reason() in _BY_KEYS else "false"
    if widget.property("keyboard") != reached:
        widget.setProperty("keyboard", reached)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


READING_SCALE = 1.14  # reading takes larger letters than menus do


def reading_font() -> QFont:
    font = QFont(QApplication.font())
    font.setPointSizeF(font.pointSizeF() * READING_SCALE)
    return font


def code_font() -> QFont:
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(QApplication.font().pointSizeF() * 1.04)
    return font
