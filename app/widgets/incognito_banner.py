from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from app.theme import ThemeKeeper


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
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 7, 16, 7)
        row.setSpacing(9)
        row.addStretch(1)
        row.addWidget(self._sign)
        row.addWidget(self.words, 100)
        row.addStretch(1)
        self.words.setAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        keeper.changed.connect(self._draw)
        self._draw()

    @Slot()
    def _draw(self) -> None:
        self._sign.setPixmap(self._keeper.icon("incognito", "accent").pixmap(18, 18))
