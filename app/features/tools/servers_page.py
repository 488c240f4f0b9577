"""The page with all servers of tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.features.tools.server_card import ServerCard
from app.features.tools.server_form import ServerForm
from app.theme import ThemeKeeper
from app.widgets.layouts import Stretch, in_column, in_row
from app.widgets.parts import button, discard, set_up, words
from engine.values.tools import ServerState, Tool, ToolServer


class ServersPage(QWidget):
    """Signals: those of `ServerCard` but `change_requested`, and
    saved(str, object): a server as it is to be from now on, a `ToolServer`, and its name before; empty: one more.
    import_requested(): from a file.
    """

    switched = Signal(str, bool)
    asked = Signal(str)
    end_requested = Signal(str)
    remove_requested = Signal(str)
    tool_switched = Signal(str, str, bool)
    saved = Signal(str, object)
    import_requested = Signal()

    def __init__(self, keeper: ThemeKeeper, parent: QWidget) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self.cards: dict[str, ServerCard] = {}
        warning = self.tr(
            "A tool server is a program that runs on this computer with your rights: it can read, change and send "
            "whatever you can. Add only servers that you trust. A server at a web address receives what the model "
            "writes to it."
        )
        about = self.tr(
            "A server starts when a chat that may use it writes its next reply, or when you ask for its tools. You "
            "see each call before it is made."
        )
        self.add_button = button(self.tr("Add a server…"), "outlined", self)
        self.import_button = button(self.tr("Import from a file…"), "outlined", self, self.import_requested)
        self.form = ServerForm(self)
        self.form.saved.connect(self.saved)
        self.add_button.clicked.connect(self.form.open_form)
        self.nothing = words(self.tr("No servers are set up yet."), self, kind="quiet")
        self._column = in_column([], spacing=8)
        in_column(
            [
                set_up(words(warning, self), kind="warning"),
                words(about, self, kind="quiet"),
                in_row([self.add_button, self.import_button, Stretch()], spacing=6),
                self.form,
                self.nothing,
                self._column,
                Stretch(),
            ],
            inside=self,
            margins=(0, 4, 12, 4),
            spacing=10,
        )

    def show_servers(self, servers: Sequence[ToolServer]) -> None:
        """A server that is set up otherwise than before is another one."""
        kept = {each.name: each for each in servers}
        for name, card in [*self.cards.items()]:
            if name not in kept or kept[name].identity != card.server.identity:
                self._column.removeWidget(card)
                discard(self.cards.pop(name))
        for place, server in enumerate(servers):
            if server.name in self.cards:
                self.cards[server.name].show_server(server)
            else:
                self._add(server)
            self._column.insertWidget(place, self.cards[server.name])
        self.nothing.setVisible(not servers)

    def show_states(self, states: Mapping[str, tuple[ServerState, str]]) -> None:
        """How they are, and why where they failed."""
        for name, card in self.cards.items():
            card.show_state(*states.get(name, (None, "")))

    def show_tools(self, server: str, tools: Sequence[Tool]) -> None:
        if server in self.cards:
            self.cards[server].show_tools(tools)

    def _add(self, server: ToolServer) -> None:
        card = ServerCard(self._keeper, server, self)
        card.switched.connect(self.switched)
        card.asked.connect(self.asked)
        card.end_requested.connect(self.end_requested)
        card.remove_requested.connect(self.remove_requested)
        card.change_requested.connect(lambda name: self.form.open_for(self.cards[name].server))
        card.tool_switched.connect(self.tool_switched)
        self.cards[server.name] = card
