"""How widgets look beyond the style sheet: the properties it selects by, the frame of keyboard focus, the fonts of a
chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QFocusEvent, QFont, QFontDatabase
from PySide6.QtWidgets import QApplication, QWidget

if TYPE_CHECKING:
    _Widget = QWidget
else:
    _Widget = object  # a class has one widget among its bases


def restyle(widget: QWidget, **properties: str | bool) -> None:
    """Sets properties that the style sheet selects by, such as `kind`, on a widget that is shown already."""
    if any(widget.property(name) != value for name, value in properties.items()):
        for name, value in properties.items():
            widget.setProperty(name, value)
        repolish(widget)


def repolish(widget: QWidget) -> None:
    """Applies the style sheet again."""
    widget.style().unpolish(widget)
    widget.style().polish(widget)


_BY_KEYS = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)


class KeyboardFrame(_Widget):
    """Comes before the widget among the bases of a class. Sets the property `keyboard` while the widget has the focus
    and got it by Tab: a large area needs no frame around it after a click."""

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        restyle(self, keyboard="true" if event.reason() in _BY_KEYS else "false")

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        restyle(self, keyboard="false")


READING_SCALE = 1.14  # the letters of a text are larger than those of a menu


def reading_font() -> QFont:
    font = QFont(QApplication.font())
    font.setPointSizeF(font.pointSizeF() * READING_SCALE)
    return font


def code_font() -> QFont:
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(QApplication.font().pointSizeF() * 1.04)
    return font
