"""All keys at a glance."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QDialog, QGridLayout, QLabel, QWidget

from app.dialogs.parts import fit_to_screen
from app.settings.shortcuts import Shortcut, native
from app.theme import ThemeKeeper
from app.widgets.layouts import Placed, ScrollingPage, Stretch, in_column, in_row
from app.widgets.parts import button

_SIZE_PX = (520, 560)


class ShortcutsDialog(QDialog):
    """Lists what has keys.

    Signals:
        change_requested(): the user wants other keys; the dialog closes.
    """

    change_requested = Signal()

    def __init__(
        self,
        keeper: ThemeKeeper,
        shortcuts: Sequence[Shortcut],
        fixed: Sequence[tuple[str, str]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        self._lines: list[tuple[str, str]] = []
        inside = QWidget(self)
        self._grid = QGridLayout(inside)
        self._grid.setContentsMargins(4, 0, 12, 0)
        self._grid.setHorizontalSpacing(24)
        self._grid.setVerticalSpacing(7)
        self._grid.setColumnStretch(1, 1)
        for keys, words in fixed:
            self._add(keys, words)
        for shortcut in shortcuts:
            if shortcut.keys:
                self._add(shortcut.keys, shortcut.words)
        self._grid.setRowStretch(self._grid.rowCount(), 1)
        area = ScrollingPage(self.windowTitle(), inside, self)
        self.change_button = button(self.tr("Change…"), "outlined", self)
        self.change_button.clicked.connect(self._on_change)
        self.close_button = button(self.tr("Close"), "outlined", self)
        self.close_button.clicked.connect(self.close)
        buttons = in_row([self.change_button, Stretch(), self.close_button])
        in_column([Placed(area, 1), buttons], inside=self, margins=(18, 16, 18, 14), spacing=12)
        fit_to_screen(self, keeper, _SIZE_PX)
        self.close_button.setFocus()

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Keys and words as they are shown."""
        return list(self._lines)

    def _add(self, keys: str, words: str) -> None:
        row = self._grid.rowCount()
        self._lines.append((native(keys), words))
        key_label = QLabel(native(keys), self)
        key_label.setProperty("kind", "title")
        words_label = QLabel(words, self, wordWrap=True)
        self._grid.addWidget(key_label, row, 0, Qt.AlignmentFlag.AlignTop)
        self._grid.addWidget(words_label, row, 1, Qt.AlignmentFlag.AlignTop)

    @Slot()
    def _on_change(self) -> None:
        self.close()
        self.change_requested.emit()
