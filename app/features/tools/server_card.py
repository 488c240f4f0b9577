"""One server of tools: whether it is on, how it is, and what it offers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal, SignalInstance, Slot
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QWidget

from app.text.unseen import one_line
from app.theme import ThemeKeeper
from app.widgets.layouts import Placed, Stretch, in_column, in_grid, in_row
from app.widgets.parts import ElidedLabel, Sentences, button, discard, set_up, show_text, words
from app.widgets.switch import Switch
from engine.values.sentences import shortened
from engine.values.tools import ServerState, Tool, ToolServer

_TOLD = 600  # characters of what a tool says of itself


class ServerCard(QFrame):
    """A tool server with its tools; its signals carry its name."""

    switched = Signal(str, bool)  # it may be used, or not
    asked = Signal(str)  # start it, and ask what it offers
    end_requested = Signal(str)  # end it until it is used
    remove_requested = Signal(str)  # take it off the list
    change_requested = Signal(str)  # change how it is set up
    tool_switched = Signal(str, str, bool)  # offer its tool with this name to the model, or not

    def __init__(self, keeper: ThemeKeeper, server: ToolServer, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("kind", "card")
        self._keeper = keeper
        self.server = server
        self.tools: tuple[Tool, ...] | None = None  # None: it was not asked
        self.tool_switches: dict[str, Switch] = {}
        name = one_line(server.name)
        self.switch = Switch(keeper, self.tr("Use {server}").format(server=name), self)
        self.switch.toggled.connect(lambda is_on: self.switched.emit(self.server.name, is_on))
        self.name = set_up(ElidedLabel(self), kind="title")
        self.name.set_words(name)
        self.state = set_up(QLabel(self, textFormat=Qt.TextFormat.PlainText), kind="quiet")
        self.command = set_up(ElidedLabel(self), kind="quiet")
        self.problem = set_up(Sentences("", self), kind="problem")
        self.problem.hide()
        self.ask_button = self._button(self.tr("Show its tools"), self.asked)
        self.end_button = self._button(self.tr("Stop"), self.end_requested)
        self.change_button = self._button(self.tr("Change…"), self.change_requested)
        self.remove_button = self._button(self.tr("Remove…"), self.remove_requested)
        self._rows: list[QWidget] = []
        self._offer = QWidget(self)
        self._offer.hide()
        self._offer_column = in_column([], inside=self._offer, margins=(0, 4, 0, 0), spacing=6)
        head = in_row([self.switch, Placed(self.name, 1), self.state], spacing=8)
        buttons = in_row(
            [self.ask_button, self.end_button, self.change_button, Stretch(), self.remove_button], spacing=6
        )
        in_column(
            [head, self.command, self.problem, buttons, self._offer], inside=self, margins=(12, 10, 12, 10), spacing=6
        )
        self.show_state(None)
        self.show_server(server)

    def _button(self, text: str, signal: SignalInstance) -> QPushButton:
        made = button(text, "outlined", self, lambda: signal.emit(self.server.name))
        return set_up(made, name=f"{text} – {one_line(self.server.name)}")

    def show_server(self, server: ToolServer) -> None:
        """Shows the current settings of the server with this name."""
        self.server = server
        self.switch.blockSignals(True)
        self.switch.setChecked(server.is_on)
        self.switch.blockSignals(False)
        self.command.set_words(server.url or " ".join((server.command, *server.args)))
        self.ask_button.setEnabled(server.is_on)
        for name, switch in self.tool_switches.items():
            switch.blockSignals(True)
            switch.setChecked(name not in server.left_out)
            switch.blockSignals(False)

    def show_state(self, state: ServerState | None, sentence: str = "") -> None:
        """`state` is None before it is started."""
        self.state.setText(self._words_of(state))
        show_text(self.problem, sentence)
        self.end_button.setVisible(state in (ServerState.STARTING, ServerState.READY))

    def show_tools(self, tools: Sequence[Tool]) -> None:
        if tuple(tools) == self.tools:
            return
        self.tools = tuple(tools)
        for row in self._rows:
            self._offer_column.removeWidget(row)
            discard(row)
        self.tool_switches = {}
        none = self.tr("It offers no tools.")
        about = self.tr("The model can see the tools that are switched on:") if tools else none
        self._rows = [words(about, self._offer, kind="quiet"), *map(self._tool_row, tools)]
        for row in self._rows:
            self._offer_column.addWidget(row)
        self._offer.show()

    def _tool_row(self, tool: Tool) -> QWidget:
        row = QWidget(self._offer)
        switch = Switch(self._keeper, self.tr("Use the tool {tool}").format(tool=one_line(tool.name)), row)
        switch.setChecked(tool.name not in self.server.left_out)
        switch.toggled.connect(partial(self._on_tool, tool.name))
        name = set_up(ElidedLabel(row), kind="title")
        name.set_words(tool.title or tool.name)
        about = set_up(Sentences(shortened(" ".join(tool.description.split()), _TOLD), row), kind="quiet")
        about.setVisible(bool(tool.description.strip()))
        in_grid(
            [[Placed(switch, alignment=Qt.AlignmentFlag.AlignTop), name], [None, about]],
            inside=row,
            spacing=(8, 1),
            stretches=(0, 1),
        )
        self.tool_switches[tool.name] = switch
        return row

    @Slot(str, bool)
    def _on_tool(self, tool: str, is_on: bool) -> None:
        self.tool_switched.emit(self.server.name, tool, is_on)

    def _words_of(self, state: ServerState | None) -> str:
        match state:
            case ServerState.STARTING:
                return self.tr("Starting…")
            case ServerState.READY:
                return self.tr("Ready")
            case ServerState.FAILED:
                return self.tr("Failed")
        return self.tr("Not started")
