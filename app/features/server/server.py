"""The server for other programs: switched on by the user, and notified of every change."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import Slot
from PySide6.QtGui import QGuiApplication

from app.engine_bridge import EngineBridge, Request
from app.features.controller import Controller
from app.features.server.server_dialog import ServerChoice, ServerDialog
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from app.widgets.dialog_parts import show_in_front
from engine import ReplySettings, ServerSettings
from engine.values.requests import Failure
from engine.values.serving import OpenServer

_Wanted = tuple[ServerSettings | None, ReplySettings]


class ServerController(Controller):
    def __init__(self, window: MainWindow, bridge: EngineBridge, keeper: SettingsKeeper) -> None:
        super().__init__(window, bridge)
        self._keeper = keeper
        self._dialog: ServerDialog | None = None
        self._engine = bridge.engine
        self._used: _Wanted | None = None
        self._open_server: OpenServer | None = None
        self._problem = ""  # why it could not be opened
        self.action = window.add_page("server", self.tr("Server…"), self._open)
        window.signs.server_requested.connect(self.action.trigger)
        keeper.changed.connect(self.follow)

    @property
    def dialog(self) -> ServerDialog:
        """The dialog, made on first use."""
        if self._dialog is None:
            self._dialog = dialog = ServerDialog(self._window)
            dialog.chosen.connect(self._choose)
            dialog.copy_requested.connect(lambda text: QGuiApplication.clipboard().setText(text))
            dialog.client_wanted.connect(self._add_client)
            dialog.client_changed.connect(self._remember)
            dialog.client_sped_up.connect(self._speed_up)
            dialog.client_unwanted.connect(self._remove_client)
            dialog.finished.connect(dialog.forget_key)
        return self._dialog

    @Slot()
    def follow(self) -> None:
        """Opens or closes the server as the settings say."""
        settings = self._keeper.settings
        server = None
        if settings.server:
            server = ServerSettings(
                port=settings.server_port,
                needs_key=settings.server_needs_key,
                is_remembered=settings.server_remembers,
            )
        wanted = server, settings.reply_settings()
        if wanted != self._used and (server is not None or self._used is not None):
            self._used = wanted
            request = self._bridge.ask(self._engine.server.use, *wanted)
            request.answered.connect(self._show_server)
            request.failed.connect(self._on_unopened)

    @Slot()
    def _open(self) -> None:
        dialog = self.dialog
        dialog.show_choice(self._choice)
        self._show_state(dialog)
        dialog.show_problem("")
        self._list_clients()
        show_in_front(dialog)

    @property
    def _choice(self) -> ServerChoice:
        settings = self._keeper.settings
        return ServerChoice(settings.server, settings.server_port, settings.server_needs_key, settings.server_remembers)

    @Slot(object)
    def _choose(self, choice: ServerChoice) -> None:
        self._keeper.note(
            server=choice.is_on,
            server_port=choice.port or self._keeper.settings.server_port,
            server_needs_key=choice.needs_key,
            server_remembers=choice.is_remembered,
        )
        self.dialog.show_choice(self._choice)
        self.follow()

    # Programs with a key

    @Slot(object)
    def _list_clients(self, _answer: object = None) -> None:
        request = self._bridge.ask(self._engine.clients.all)
        request.answered.connect(self.dialog.show_clients)
        request.failed.connect(self._on_client_failed)

    @Slot(str, bool)
    def _add_client(self, name: str, is_remembered: bool) -> None:
        request = self._bridge.ask(self._engine.clients.add, name, is_remembered)
        request.answered.connect(partial(self.dialog.show_key, name))
        self._change(request)

    @Slot(str, bool)
    def _remember(self, name: str, is_remembered: bool) -> None:
        self._change(self._bridge.ask(self._engine.clients.change, name, is_remembered))

    @Slot(str, bool)
    def _speed_up(self, name: str, is_allowed: bool) -> None:
        self._change(self._bridge.ask(self._engine.clients.change, name, drafts_from_chats=is_allowed))

    @Slot(str)
    def _remove_client(self, name: str) -> None:
        self._change(self._bridge.ask(self._engine.clients.remove, name))

    def _change(self, request: Request[Any]) -> None:
        request.answered.connect(self._list_clients)
        request.failed.connect(self._on_client_failed)

    @Slot(object)
    def _on_client_failed(self, failure: Failure) -> None:
        self.dialog.show_problem(failure.sentence)

    # What follows

    @Slot(object)
    def _on_unopened(self, failure: Failure) -> None:
        self._show_server(None, failure.sentence)
        if self._dialog is None or not self._dialog.isVisible():
            self._window.toasts.show_error(failure.sentence)

    def _show_server(self, server: OpenServer | None, problem: str = "") -> None:
        self._open_server, self._problem = server, problem
        words = self.tr("Other programs can use the model at {address}")
        self._window.signs.server.tell("" if server is None else words.format(address=server.address))
        if self._dialog is not None:
            self._show_state(self._dialog)

    def _show_state(self, dialog: ServerDialog) -> None:
        server = self._open_server or OpenServer("")
        dialog.show_state(server.address, self._problem, server.needs_key)

    def kept(self) -> tuple[_Wanted | None, OpenServer | None]:
        return self._used, self._open_server

    def resume(self, kept: tuple[_Wanted | None, OpenServer | None]) -> None:
        used, server = kept
        has_failed = server is None and used is not None and used[0] is not None
        self._used = None if has_failed else used
        self._show_server(server)
        if has_failed:  # why is said in the language of now
            self.follow()
