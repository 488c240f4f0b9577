"""Says, above a chat that is not begun yet, in which folder it will be."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QWidget

from app.theme import ThemeKeeper
from app.widgets.layouts import Placed, Stretch, in_row
from app.widgets.parts import Sentences, Sign


class FolderBanner(QFrame):
    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "incognito")
        self.words = Sentences("", self)
        self.words.setAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        sign = Sign(keeper, "folder", "accent", self)
        in_row([Stretch(), sign, Placed(self.words, 100), Stretch()], inside=self, margins=(16, 7, 16, 7), spacing=9)
        self.hide()

    def show_folder(self, words: str) -> None:
        """Without words there is none."""
        self.words.setText(words)
        self.setVisible(bool(words))
