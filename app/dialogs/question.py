"""A question that is asked in its place, before something is done that cannot be taken back."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QCheckBox, QFrame, QWidget

from app.dialogs.parts import button, words
from app.widgets.layouts import Stretch, in_column, in_row


class Question(QFrame):
    """Hidden until it is asked.

    Signals:
        confirmed(): the user wants it.
        refused(): the user does not.
    """

    confirmed = Signal()
    refused = Signal()

    def __init__(self, yes: str, parent: QWidget, condition: str = "") -> None:
        """`yes` is on the button; with a `condition`, that is to be ticked first."""
        super().__init__(parent)
        self.setProperty("kind", "question")
        self.words = words("", self)
        self.condition = QCheckBox(condition, self)
        self.condition.setVisible(bool(condition))
        self._has_condition = bool(condition)
        self.yes_button = button(yes, "danger", self)
        self.no_button = button(self.tr("Cancel"), "outlined", self)
        buttons = in_row([Stretch(), self.no_button, self.yes_button])
        in_column([self.words, self.condition, buttons], inside=self, margins=(14, 12, 14, 12), spacing=10)
        self.condition.toggled.connect(self._show_condition)
        self.yes_button.clicked.connect(self._on_yes)
        self.no_button.clicked.connect(self._on_no)
        self.hide()

    def ask(self, text: str) -> None:
        self.words.setText(text)
        self.condition.setChecked(False)
        self._show_condition()
        self.show()
        self.no_button.setFocus()

    @Slot()
    def _show_condition(self) -> None:
        self.yes_button.setEnabled(self.condition.isChecked() or not self._has_condition)

    @Slot()
    def _on_yes(self) -> None:
        self.hide()
        self.confirmed.emit()

    @Slot()
    def _on_no(self) -> None:
        self.hide()
        self.refused.emit()
