"""The two fonts of a conversation, both made from the system's."""

from __future__ import annotations

from PySide6.QtGui import QFont, QFontDatabase
from PySide6.QtWidgets import QApplication

READING_SCALE = 1.14  # reading takes larger letters than menus do


def reading_font() -> QFont:
    font = QFont(QApplication.font())
    font.setPointSizeF(font.pointSizeF() * READING_SCALE)
    return font


def code_font() -> QFont:
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(QApplication.font().pointSizeF() * 1.04)
    return font
