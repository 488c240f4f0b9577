"""What dialogs are made of."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from app.theme import ThemeKeeper

_SCREEN_SHARE = 0.9


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


def fit_to_screen(dialog: QWidget, keeper: ThemeKeeper, size_px: tuple[int, int]) -> None:
    """The size it is to have where text has its usual size, grown with the text as far as the screen goes."""
    room = dialog.screen().availableSize() * _SCREEN_SHARE
    dialog.resize(min(keeper.px(size_px[0]), room.width()), min(keeper.px(size_px[1]), room.height()))


def show_in_front(window: QWidget) -> None:
    window.show()
    window.raise_()
    window.activateWindow()
