"""A small form for one more server."""

from __future__ import annotations

import shlex

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QWidget

from app.widgets.layouts import Placed, Stretch, in_column, in_grid, in_row
from app.widgets.parts import Sentences, button, set_up
from engine.messages.tools import ToolServer

_EXAMPLE = " ".join(("uvx", "mcp-server-fetch"))


class ServerForm(QFrame):
    """Hidden until it is wanted.

    Signals:
        added(object): a `ToolServer`, as it was typed.
    """

    added = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("kind", "card")
        self.name = set_up(QLineEdit(self), name=self.tr("Name"))
        self.name.setPlaceholderText(self.tr("fetch"))
        self.command = set_up(QLineEdit(self), name=self.tr("Command or address"))
        self.command.setPlaceholderText(_EXAMPLE)
        self.problem = set_up(Sentences("", self), kind="problem")
        self.problem.hide()
        self.add_button = button(self.tr("Add it"), "primary", self, self._add)
        self.cancel_button = button(self.tr("Cancel"), "outlined", self, self.close_form)
        labels = [QLabel(self.tr("Name"), self), QLabel(self.tr("Command or address"), self)]
        for label, field in zip(labels, (self.name, self.command), strict=True):
            label.setBuddy(field)
            field.returnPressed.connect(self._add)
            field.textChanged.connect(self._clear)
        fields = in_grid(
            [[labels[0], self.name], [labels[1], self.command], [Placed(self.problem, columns=2)]],
            spacing=(10, 6),
            stretches=(0, 1),
        )
        buttons = in_row([Stretch(), self.cancel_button, self.add_button], spacing=6)
        in_column([fields, buttons], inside=self, margins=(12, 10, 12, 10), spacing=8)
        self.hide()

    @Slot()
    def open_form(self) -> None:
        self.show()
        self.name.setFocus()

    @Slot()
    def close_form(self) -> None:
        self.name.clear()
        self.command.clear()
        self.hide()

    def show_problem(self, sentence: str) -> None:
        self.problem.setText(sentence)
        self.problem.setVisible(bool(sentence))

    @Slot()
    def _clear(self) -> None:
        self.show_problem("")

    @Slot()
    def _add(self) -> None:
        typed = self.command.text().strip()
        if typed.lower().startswith(("http://", "https://")):
            self.added.emit(ToolServer(self.name.text().strip(), url=typed))
            return
        try:
            command, *arguments = shlex.split(typed, posix=not _has_windows_paths(typed)) or [""]
        except ValueError:
            self.show_problem(self.tr("A quotation mark in the command is not closed."))
            return
        self.added.emit(ToolServer(self.name.text().strip(), command, tuple(arguments)))


def _has_windows_paths(command: str) -> bool:
    """Whose backslashes are no escapes."""
    return ":\\" in command or command.startswith("\\\\")
