from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from app.theme import ThemeKeeper
from app.widgets.layouts import Placed, Stretch, in_row


class IncognitoBanner(QFrame):
    """Says, above a chat, that it leaves no trace."""

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self.setProperty("kind", "incognito")
        self.setToolTip(self.tr("It is held in memory only, and gone when the app is closed."))
        self._sign = QLabel(self)
        self.words = QLabel(self.tr("Incognito: nothing of this chat is kept, remembered or learned from."), self)
        self.words.setWordWrap(True)
        in_row(
            [Stretch(), self._sign, Placed(self.words, 100), Stretch()], inside=self, margins=(16, 7, 16, 7), spacing=9
        )
        self.words.setAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        keeper.changed.connect(self._draw)
        self._draw()

    @Slot()
    def _draw(self) -> None:
        self._sign.setPixmap(self._keeper.icon("incognito", "accent").pixmap(18, 18))
