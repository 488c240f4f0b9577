"""Presets and the library of prompts, each on a page of its own."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QFrame, QWidget

from app.features.presets.presets_page import PresetsPage
from app.features.presets.prompts_page import PromptsPage
from app.theme import ThemeKeeper
from app.widgets.appearance import restyle
from app.widgets.dialog_parts import Dialog
from app.widgets.layouts import Placed, Stretch, in_column, in_row
from app.widgets.parts import Tabs, button, set_up, words

_SIZE_PX = (760, 600)


class PresetsDialog(Dialog):
    """Below the pages is what was done last, with a way back."""

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(_SIZE_PX, parent)
        self.setWindowTitle(self.tr("Presets and prompts"))
        self.presets = PresetsPage(keeper, self)
        self.prompts = PromptsPage(keeper, self)
        self.pages = Tabs(self)
        self.pages.addTab(self.presets, self.tr("Presets"))
        self.pages.addTab(self.prompts, self.tr("Prompts"))
        self._undo: Callable[[], object] | None = None
        self.status = set_up(QFrame(self), kind="toast")
        self.words = words("", self.status)
        self.undo_button = button(self.tr("Undo"), "link", self.status, self._on_undo)
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        top = Qt.AlignmentFlag.AlignTop
        in_row(
            [Placed(self.words, 1), Placed(self.undo_button, alignment=top)], inside=self.status, margins=(12, 8, 6, 8)
        )
        buttons = in_row([Stretch(), self.close_button])
        in_column([Placed(self.pages, 1), self.status, buttons], inside=self, margins=(18, 10, 18, 14), spacing=12)
        self.clear_words()

    def show_words(self, text: str, undo: Callable[[], object] | None = None, is_error: bool = False) -> None:
        """What was done, in a sentence; `undo` takes it back."""
        self._undo = undo
        self.words.setText(text)
        self.undo_button.setVisible(undo is not None)
        restyle(self.status, level="error" if is_error else "info")
        self.status.show()
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.words, text))

    @Slot()
    def clear_words(self) -> None:
        self._undo = None
        self.words.clear()
        self.status.hide()

    @Slot()
    def _on_undo(self) -> None:
        undo = self._undo
        self.clear_words()
        self.pages.currentWidget().setFocus()
        if undo is not None:
            undo()
