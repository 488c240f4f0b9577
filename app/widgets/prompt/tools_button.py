"""The button at the message box, with a tick for each tool server that this chat may use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from app.text.unseen import in_tip, one_line
from app.theme import ThemeKeeper
from app.widgets.icon_button import IconButton
from app.widgets.popups import WindowMenu
from engine.values.tools import ServerState


class ToolsButton(IconButton):
    """Opens a menu. Where the model knows no tools, the menu says so and nothing in it can be ticked."""

    switched = Signal(str, bool)  # this chat may use the server of that name from now on, or not any more
    settings_requested = Signal()  # set up servers

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        self._name = ""
        self._is_told = False  # what the chat may use
        super().__init__(keeper, "tools", self.tr("Tools of this chat"), self.open_menu, kind="tools", parent=parent)
        self._servers: tuple[str, ...] = ()
        self._ticked: tuple[str, ...] = ()
        self._states: dict[str, ServerState] = {}
        self._mute = ""  # the name of the model, where it knows no tools

    def set_name(self, name: str) -> None:
        self._name = name
        super().set_name(name)
        if self._is_told:
            self.setToolTip(f"{self.toolTip()}\n{in_tip(self._about())}")
            self.setAccessibleDescription(self._about())

    def show_servers(
        self, servers: Sequence[str], ticked: Sequence[str], states: Mapping[str, ServerState], mute: str
    ) -> None:
        """Takes the servers that are on, those that this chat may use, their states, and the name of a model that knows
        no tools."""
        self._servers, self._ticked = tuple(servers), tuple(map(one_line, ticked))
        self._states = dict(states)
        self._mute = one_line(mute)
        self._tell()

    @Slot()
    def open_menu(self) -> None:
        """Opens the menu and gives it the keyboard."""
        menu = WindowMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setAccessibleName(self.tr("Tools of this chat"))
        if self._mute:
            self._add_words(menu, self.tr("{model} cannot use tools: choose another model").format(model=self._mute))
        elif not self._servers:
            self._add_words(menu, self.tr("No servers are set up yet"))
        for name in self._servers:
            action = menu.addAction(self._words(name).replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(one_line(name) in self._ticked and not self._mute)
            action.setEnabled(not self._mute)
            action.toggled.connect(partial(self._switch, name))
        menu.addSeparator()
        menu.addAction(self.tr("Set up tools…")).triggered.connect(self.settings_requested)
        first = next((each for each in menu.actions() if each.isEnabled() and not each.isSeparator()), None)
        if first is not None:
            menu.setActiveAction(first)
        menu.popup(self.mapToGlobal(QPoint(0, -menu.sizeHint().height())))

    def _add_words(self, menu: QMenu, words: str) -> QAction:
        action = menu.addAction(words.replace("&", "&&"))
        action.setEnabled(False)
        return action

    def _switch(self, server: str, is_on: bool) -> None:
        self.switched.emit(server, is_on)

    def _words(self, server: str) -> str:
        match self._states.get(server):
            case ServerState.STARTING:
                return self.tr("{server} (starting)").format(server=one_line(server))
            case ServerState.FAILED:
                return self.tr("{server} (failed)").format(server=one_line(server))
        return one_line(server)

    def _about(self) -> str:
        if self._mute:
            return self.tr("{model} cannot use tools.").format(model=self._mute)
        if self._ticked:
            return self.tr("The model may call tools of: {servers}").format(servers=", ".join(self._ticked))
        return self.tr("The model may use no tools in this chat.")

    def _tell(self) -> None:
        self._is_told = True
        self.set_name(self._name)
        is_used = bool(self._ticked) and not self._mute
        self.set_icon("tools", "accent" if is_used else "faint" if self._mute else "quiet")
