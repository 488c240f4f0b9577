"""Shown when the store of chats cannot be opened at the start."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QLabel, QWidget

from app.widgets.dialog_parts import Dialog, fill_dialog
from app.widgets.layouts import Part, Stretch
from app.widgets.parts import button, set_up, words

_WIDTH_PX = 520


class StoreDialog(Dialog):
    """Says what is wrong, and stays until it works or the user gives up.

    Signals:
        retried(): try again.
        folder_requested(): show the folder of the store.
        quit_requested(): end the app.
    """

    retried = Signal()
    folder_requested = Signal()
    quit_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__((_WIDTH_PX, 0), parent)
        self.setWindowTitle(self.tr("Your chats cannot be opened"))
        heading = set_up(QLabel(self.windowTitle(), self), kind="title")
        self.sentence = words("", self)
        calm = words(self.tr("Nothing was changed or deleted."), self, kind="quiet")
        self.retry_button = button(self.tr("Try again"), "outlined", self, self._on_retry)
        self.retry_button.setDefault(True)
        self.folder_button = button(self.tr("Open the folder"), "outlined", self, self.folder_requested)
        self.quit_button = button(self.tr("Quit"), "outlined", self, self.quit_requested)
        buttons: list[Part] = [self.folder_button, Stretch(), self.quit_button, self.retry_button]
        fill_dialog(self, [heading, self.sentence, calm, Stretch()], buttons, spacing=12)

    def show_sentence(self, sentence: str) -> None:
        """What is wrong, and what to do about it."""
        self.sentence.setText(sentence)
        self.retry_button.setEnabled(True)

    @Slot()
    def _on_retry(self) -> None:
        self.retry_button.setEnabled(False)  # until there is an answer
        self.retried.emit()
