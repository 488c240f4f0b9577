"""What dialogs are made of."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QWidget


def button(words: str, kind: str, parent: QWidget) -> QPushButton:
    made = QPushButton(words, parent)
    made.setProperty("kind", kind)
    made.setAutoDefault(False)
    return made


def words(text: str, parent: QWidget, kind: str = "") -> QLabel:
    """Sentences that can be marked and copied; `kind` is the theme's."""
    label = QLabel(text, parent)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    if kind:
        label.setProperty("kind", kind)
    return label
