"""Servers of tools in one window: which there are, what they offer, and what they are allowed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from app.features.tools.json_page import JsonPage
from app.features.tools.server_card import ServerCard
from app.features.tools.server_form import ServerForm
from app.text.unseen import one_line
from app.theme import ThemeKeeper
from app.widgets.dialog_parts import Dialog
from app.widgets.layouts import Placed, ScrollingPage, Stretch, in_column, in_row
from app.widgets.parts import ElidedLabel, Tabs, announce, button, discard, set_up, words
from engine.values.places import expanded
from engine.values.tools import AllowedTool, ServerState, Tool, ToolServer


class ServersPage(QWidget):
    """Cards of all servers, whose signals it repeats, and a form."""

    switched = Signal(str, bool)
    asked = Signal(str)
    end_requested = Signal(str)
    remove_requested = Signal(str)
    tool_switched = Signal(str, str, bool)
    saved = Signal(str, object)  # a server's former name, empty: none, and the `ToolServer` from now on
    import_requested = Signal()  # from a file

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
        """Shows the servers; a changed one gets a new card."""
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
        """Shows their states, with reasons for failures."""
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


class AllowedPage(QWidget):
    forget_requested = Signal(object)  # ask for these again, a tuple of `AllowedTool`, or for all: None

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        about = self.tr(
            "These tools are called in all chats without asking you. What you allowed for one chat holds there."
        )
        self.nothing = words(self.tr("Nothing: you are asked before each call."), self, kind="quiet")
        self.rows: dict[AllowedTool, QWidget] = {}
        self._column = in_column([], spacing=4)
        self.all_button = button(
            self.tr("Ask again for all"), "outlined", self, lambda: self.forget_requested.emit(None)
        )
        in_column(
            [
                words(about, self, kind="quiet"),
                self.nothing,
                self._column,
                in_row([self.all_button, Stretch()]),
                Stretch(),
            ],
            inside=self,
            margins=(0, 4, 12, 4),
            spacing=10,
        )
        self.show_allowed((), ())

    def show_allowed(self, tools: Sequence[AllowedTool], identities: Collection[str]) -> None:
        """`identities`: of the servers that are set up; permissions for others have no effect."""
        for gone in self.rows.keys() - {*tools}:
            self._column.removeWidget(self.rows[gone])
            discard(self.rows.pop(gone))
        for tool in tools:
            if tool not in self.rows:
                self.rows[tool] = self._row(tool, tool.definition.program in identities)
                self._column.addWidget(self.rows[tool])
        self.nothing.setVisible(not tools)
        self.all_button.setVisible(bool(tools))

    def _row(self, tool: AllowedTool, is_there: bool) -> QWidget:
        row = QWidget(self)
        what = f"{tool.server}: {tool.tool}"
        if not is_there:
            what = self.tr("{tool} (its server was changed since)").format(tool=what)
        name = ElidedLabel(row)
        name.set_words(what)
        again = button(self.tr("Ask again"), "outlined", row, partial(self._forget, tool))
        set_up(again, name=f"{again.text()} – {one_line(what)}")
        in_row([Placed(name, 1), again], inside=row, spacing=8)
        return row

    def _forget(self, tool: AllowedTool) -> None:
        self.forget_requested.emit((tool,))


_SIZE_PX = (640, 600)


class ToolsDialog(Dialog):
    """Three pages, and below them what came of the last action."""

    file_chosen = Signal(str)  # add the servers of this file

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(_SIZE_PX, parent)
        self.setWindowTitle(self.tr("Tools"))
        self.servers = ServersPage(keeper, self)
        self.json = JsonPage(keeper, self)
        self.allowed = AllowedPage(self)
        self.tabs = Tabs(self)
        for page, name in (
            (self.servers, self.tr("Servers")),
            (self.json, self.tr("As JSON")),
            (self.allowed, self.tr("Always allowed")),
        ):
            self.tabs.addTab(page if page is self.json else ScrollingPage(name, page, self), name)
        self.words = words("", self, kind="quiet")
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        foot = in_row([Placed(self.words, 1), self.close_button], spacing=12)
        in_column([Placed(self.tabs, 1), foot], inside=self, margins=(18, 10, 18, 14), spacing=10)
        self.servers.import_requested.connect(self._choose_file)

    def show_words(self, text: str) -> None:
        """Says what was done, or why it was not."""
        self.words.setText(text)
        if text:
            announce(self.words, text)

    @Slot()
    def _choose_file(self) -> None:
        kinds = self.tr("Servers as JSON (*.json);;All files (*)")
        chooser = QFileDialog(self, self.tr("Import servers"), str(expanded("~")), kinds)
        chooser.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        chooser.setFileMode(QFileDialog.FileMode.ExistingFile)
        chooser.fileSelected.connect(self.file_chosen)
        chooser.open()
