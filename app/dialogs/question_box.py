"""A question in a window of its own, before something is done; `question.py` has one that is asked in its place."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from app.dialogs.parts import button
from app.text.translation import translate


def question_box(parent: QWidget, title: str, text: str, more: str = "") -> QMessageBox:
    """`more` stands below, for whoever wants to know. Shown by `ask`."""
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setIcon(QMessageBox.Icon.NoIcon)
    box.setWindowTitle(title)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(text)
    box.setInformativeText(more)
    return box


def ask(box: QMessageBox, yes: str, on_yes: Callable[[], object]) -> QMessageBox:
    """`yes` is on the button; whoever presses Return or Esc cancels."""
    box.addButton(button(yes, "outlined", box), QMessageBox.ButtonRole.AcceptRole)
    cancel = button(translate("QuestionBox", "Cancel"), "outlined", box)
    box.addButton(cancel, QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(cancel)
    box.setEscapeButton(cancel)
    box.accepted.connect(on_yes)
    box.open()
    return box
