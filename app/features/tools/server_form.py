"""A small form for one more server, or for one that is set up."""

from __future__ import annotations

import shlex
from dataclasses import replace

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QWidget

from app.widgets.layouts import Placed, Stretch, in_column, in_grid, in_row
from app.widgets.parts import Sentences, button, set_up, show_text
from engine.values.tools import ToolServer

_EXAMPLE = " ".join(("uvx", "mcp-server-fetch"))


class ServerForm(QFrame):
    """Hidden until it is wanted."""

    # a `ToolServer` as it was typed, what the form does not show as it was; and its name before, empty for a new one
    saved = Signal(str, object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("kind", "card")
        self._server: ToolServer | None = None  # that is being changed
        self.name = set_up(QLineEdit(self), name=self.tr("Name"))
        self.name.setPlaceholderText(self.tr("fetch"))
        self.command = set_up(QLineEdit(self), name=self.tr("Command or address"))
        self.command.setPlaceholderText(_EXAMPLE)
        self.problem = set_up(Sentences("", self), kind="problem")
        self.problem.hide()
        self.save_button = button(self.tr("Add"), "primary", self, self._save)
        self.cancel_button = button(self.tr("Cancel"), "outlined", self, self.close_form)
        labels = [QLabel(self.tr("Name"), self), QLabel(self.tr("Command or address"), self)]
        for label, field in zip(labels, (self.name, self.command), strict=True):
            label.setBuddy(field)
            field.returnPressed.connect(self._save)
            field.textChanged.connect(lambda: self.show_problem(""))
        fields = in_grid(
            [[labels[0], self.name], [labels[1], self.command], [Placed(self.problem, columns=2)]],
            spacing=(10, 6),
            stretches=(0, 1),
        )
        buttons = in_row([Stretch(), self.cancel_button, self.save_button], spacing=6)
        in_column([fields, buttons], inside=self, margins=(12, 10, 12, 10), spacing=8)
        self.hide()

    @Slot()
    def open_form(self) -> None:
        self.open_for(None)

    def open_for(self, server: ToolServer | None) -> None:
        """Opens the form of this server, or an empty one."""
        self._server = server
        self.name.setText("" if server is None else server.name)
        self.command.setText("" if server is None else _typed(server))
        self.save_button.setText(self.tr("Add") if server is None else self.tr("Save"))
        self.show()
        self.name.setFocus()

    @Slot()
    def close_form(self) -> None:
        self._server = None
        self.hide()

    def show_problem(self, sentence: str) -> None:
        show_text(self.problem, sentence)

    @Slot()
    def _save(self) -> None:
        before, typed = self._server or ToolServer(""), self.command.text().strip()
        server = replace(before, name=self.name.text().strip())
        if typed.lower().startswith(("http://", "https://")):
            headers = before.headers if _host(typed) == _host(before.url) else ()  # a key is for one place
            server = replace(server, command="", args=(), env=(), folder="", url=typed, headers=headers)
        elif typed != _typed(before):
            try:
                command, *arguments = shlex.split(typed, posix=not _has_windows_paths(typed)) or [""]
            except ValueError:
                self.show_problem(self.tr("A quotation mark in the command is not closed."))
                return
            server = replace(server, command=command, args=tuple(arguments), url="", headers=())
        self.saved.emit(before.name, server)


def _typed(server: ToolServer) -> str:
    """The address or command line as the user would type it."""
    return server.url or (shlex.join((server.command, *server.args)) if server.command else "")


def _host(url: str) -> list[str]:
    """The scheme and the host with its port."""
    return url.lower().split("/")[:3]


def _has_windows_paths(command: str) -> bool:
    """True if backslashes are part of paths, not escapes."""
    return ":\\" in command or command.startswith("\\\\")
