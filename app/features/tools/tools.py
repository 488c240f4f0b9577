"""Servers of tools, as the user sets them up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Slot

from app.engine_bridge import EngineBridge, Request
from app.features.controller import Controller
from app.features.tools.tools_dialog import ToolsDialog
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from app.text.translation import translated
from app.theme import ThemeKeeper
from app.widgets.dialog_parts import ask, question_box, show_in_front
from engine import has_keys, read_tool_servers, write_tool_servers
from engine.values.conversations import TextFile
from engine.values.errors import SettingInvalid
from engine.values.events import EverythingForgotten, ToolServerChanged, ToolsListed
from engine.values.pictures import Picture
from engine.values.tools import AllowedTool, ServerState, Tool, ToolServer


class ToolsController(Controller):
    """Tells the engine which servers there are; it starts none of them by itself. A failing server is reported
    quietly, and the chat goes on."""

    def __init__(self, window: MainWindow, theme: ThemeKeeper, bridge: EngineBridge, keeper: SettingsKeeper) -> None:
        super().__init__(window, bridge)
        self._theme = theme
        self._keeper = keeper
        self._in_use: tuple[ToolServer, ...] = ()
        self._states: dict[str, tuple[ServerState, str]] = {}
        self._offers: dict[str, tuple[Tool, ...]] = {}
        self._allowed: tuple[AllowedTool, ...] = ()
        self._reading: Request[TextFile | Picture] | None = None  # of a file with servers
        self._key_notice = ""
        self._dialog: ToolsDialog | None = None
        window.tools_action.triggered.connect(self._open)
        keeper.changed.connect(self._follow)
        bridge.listen(ToolServerChanged, self._on_changed)
        bridge.listen(ToolsListed, self._on_listed)
        bridge.listen(EverythingForgotten, self._on_forgotten)
        self._follow()
        if self._in_use and has_keys(self._in_use):  # as settings had them once
            request = bridge.ask(bridge.engine.tool_keys.keep, self._in_use, only_if_lasting=True)
            request.is_quiet = True
            request.answered.connect(self._on_keys_kept)

    @property
    def dialog(self) -> ToolsDialog:
        """The dialog, made on first use."""
        if self._dialog is None:
            self._dialog = dialog = ToolsDialog(self._theme, self._window)
            dialog.servers.switched.connect(self._switch)
            dialog.servers.tool_switched.connect(self._switch_tool)
            tools = self._bridge.engine.tools
            dialog.servers.asked.connect(lambda name: self._bridge.ask(tools.list_tools, (name,)))
            dialog.servers.end_requested.connect(lambda name: self._bridge.ask(tools.end, (name,)))
            dialog.servers.remove_requested.connect(self._ask_to_remove)
            dialog.servers.saved.connect(self._save)
            dialog.json.chosen.connect(self._use_json)
            dialog.allowed.forget_requested.connect(self._forget_allowed)
            dialog.file_chosen.connect(self._read_file)
            self._show()
        return self._dialog

    @Slot()
    def _open(self) -> None:
        if not self.dialog.isVisible():
            self.dialog.show_words("")
            self._bridge.ask(self._bridge.engine.chats.allowed_tools).answered.connect(self._show_allowed)
        show_in_front(self.dialog)

    # What the user wants

    @Slot(object)
    def _forget_allowed(self, tools: tuple[AllowedTool, ...] | None) -> None:
        request = self._bridge.ask(self._bridge.engine.editor.forget_allowed_tools, tools)
        request.answered.connect(self._show_allowed)

    @Slot(str, bool)
    def _switch(self, name: str, is_on: bool) -> None:
        self._change(tuple(replace(each, is_on=is_on) if each.name == name else each for each in self._in_use))

    @Slot(str, str, bool)
    def _switch_tool(self, name: str, tool: str, is_on: bool) -> None:
        def changed(server: ToolServer) -> ToolServer:
            others = tuple(each for each in server.left_out if each != tool)
            return replace(server, left_out=others if is_on else (*others, tool))

        self._change(tuple(changed(each) if each.name == name else each for each in self._in_use))

    @Slot(str, object)
    def _save(self, before: str, server: ToolServer) -> None:
        """Adds a server, or replaces the one called `before`."""
        form = self.dialog.servers.form
        if any(each.name == server.name != before for each in self._in_use):
            form.show_problem(self.tr("There is a server of this name already; choose another name."))
            return
        is_change = any(each.name == before for each in self._in_use)  # or it was removed meanwhile

        def changed(now: ToolServer) -> ToolServer:
            """The switches next to the form keep their state."""
            return replace(server, is_on=now.is_on, left_out=now.left_out) if now.name == before else now

        servers = tuple(map(changed, self._in_use))
        if problem := self._change(servers if is_change else (*servers, server)):
            form.show_problem(problem)
            return
        form.close_form()
        words = self.tr("{server} was changed.") if is_change else self.tr("{server} was added.")
        self.dialog.show_words(words.format(server=server.name))

    @Slot(str)
    def _ask_to_remove(self, name: str) -> None:
        text = self.tr("Remove the server {server}?").format(server=name)
        more = self.tr("Slipstream forgets how to start it. The program itself stays on this computer.")
        ask(question_box(self.dialog, self.tr("Remove"), text, more), self.tr("Remove"), lambda: self._remove(name))

    def _remove(self, name: str) -> None:
        self._change(tuple(each for each in self._in_use if each.name != name))
        self.dialog.show_words(self.tr("{server} was removed.").format(server=name))

    @Slot(str)
    def _use_json(self, text: str) -> None:
        servers = read_tool_servers(text)
        problem, number = self._change(servers), len(servers)
        self.dialog.show_words(problem or self.tr("%n server(s) are set up now.", "", number))

    @Slot(str)
    def _read_file(self, path: str) -> None:
        if self._reading is not None:
            self._reading.drop()
        self._reading = self._bridge.ask(self._bridge.engine.files.read, Path(path))
        self._reading.answered.connect(self._import)
        self._reading.failed.connect(lambda failure: self.dialog.show_words(failure.sentence))

    @Slot(object)
    def _import(self, file: TextFile | Picture) -> None:
        """Adds the servers of a file, replacing those with the same name."""
        try:
            text = file.text if isinstance(file, TextFile) else "[]"  # a picture holds none
            found = {each.name: each for each in read_tool_servers(text)}
        except SettingInvalid as error:
            self.dialog.show_words(str(error))
            return
        kept = tuple(each for each in self._in_use if each.name not in found)
        problem = self._change((*kept, *found.values()))
        number = len(found)
        self.dialog.show_words(problem or self.tr("%n server(s) were imported.", "", number))

    def _change(self, servers: Sequence[ToolServer]) -> str:
        """Uses these servers and returns why not, leaving everything as it was. New keys are put away first."""
        if has_keys(servers, but_for=self._in_use):
            try:
                read_tool_servers(write_tool_servers(servers))
            except SettingInvalid as error:
                return translated(error.sentence)
            kept = self._bridge.ask(self._bridge.engine.tool_keys.keep, tuple(servers))
            kept.answered.connect(self._on_keys_kept)
            return ""
        problem = self._keeper.change("tool_servers", write_tool_servers(servers) if servers else "")
        if problem:
            self._show()
        return problem

    # What follows

    @Slot()
    def _follow(self) -> None:
        servers = self._keeper.settings.servers()
        if servers == self._in_use:
            return
        same = {each.identity for each in self._in_use}
        gone = {each.name for each in self._in_use} - {each.name for each in servers if each.identity in same}
        for name in gone:
            self._states.pop(name, None)
            self._offers.pop(name, None)
        self._in_use = servers
        self._bridge.ask(self._bridge.engine.tools.use, servers)
        self._show()

    def _on_listed(self, event: ToolsListed) -> None:
        self._offers[event.server] = event.tools
        self._show()

    def _on_forgotten(self, _event: EverythingForgotten) -> None:
        self._show_allowed(())

    def _show_allowed(self, tools: tuple[AllowedTool, ...]) -> None:
        self._allowed = tools
        self._show()

    @Slot(object)
    def _on_keys_kept(self, kept: tuple[tuple[ToolServer, ...], str]) -> None:
        servers, self._key_notice = kept
        self._keeper.change("tool_servers", write_tool_servers(servers))
        self._show()

    def _on_changed(self, event: ToolServerChanged) -> None:
        self._states[event.server] = event.state, event.sentence
        is_seen = self._dialog is not None and self._dialog.isVisible()
        if event.state is ServerState.FAILED and event.sentence and not is_seen:
            self._window.toasts.show_info(event.sentence)
        self._show()

    def _show(self) -> None:
        if self._dialog is None:
            return
        self._dialog.servers.show_servers(self._in_use)
        self._dialog.servers.show_states(self._states)
        for server, tools in self._offers.items():
            self._dialog.servers.show_tools(server, tools)
        self._dialog.json.show_key_notice(self._key_notice)
        self._dialog.json.show_json(write_tool_servers(self._in_use) if self._in_use else "")
        self._dialog.allowed.show_allowed(self._allowed, {each.identity for each in self._in_use})
