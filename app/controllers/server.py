"""The server for other programs: switched on by the user, and told of every change."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QGuiApplication

from app.controllers.controller import Controller
from app.dialogs.parts import show_in_front
from app.dialogs.server_dialog import ServerChoice, ServerDialog
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from engine import AddClient, ChangeClient, Command, ListClients, RemoveClient, ServerSettings, UseServer
from engine.messages.events import ClientAdded, ClientsListed, Event, Failed, ServerChanged


class ServerController(Controller):
    def __init__(self, window: MainWindow, bridge: EngineBridge, keeper: SettingsKeeper) -> None:
        super().__init__(window, bridge)
        self._keeper = keeper
        self._dialog: ServerDialog | None = None
        self._used: UseServer | None = None
        self._state = ServerChanged("")
        window.server_action.triggered.connect(self._open)
        keeper.changed.connect(self.follow)

    @property
    def dialog(self) -> ServerDialog:
        """Made when it is first needed."""
        if self._dialog is None:
            self._dialog = dialog = ServerDialog(self._window)
            dialog.chosen.connect(self._choose)
            dialog.copy_requested.connect(lambda text: QGuiApplication.clipboard().setText(text))
            dialog.client_wanted.connect(lambda name, is_remembered: self._ask(AddClient(name, is_remembered)))
            dialog.client_changed.connect(lambda name, is_remembered: self._ask(ChangeClient(name, is_remembered)))
            dialog.client_sped_up.connect(
                lambda name, is_allowed: self._ask(ChangeClient(name, drafts_from_chats=is_allowed))
            )
            dialog.client_unwanted.connect(lambda name: self._ask(RemoveClient(name)))
            dialog.finished.connect(dialog.forget_key)
        return self._dialog

    @Slot()
    def follow(self) -> None:
        """Has the engine open or close it as it is set; nothing happens where that is so."""
        settings = self._keeper.settings
        server = None
        if settings.server:
            server = ServerSettings(
                port=settings.server_port,
                needs_key=settings.server_needs_key,
                is_remembered=settings.server_remembers,
            )
        wanted = UseServer(server, settings.reply_settings())
        if wanted != self._used and (server is not None or self._used is not None):
            self._used = wanted
            self._bridge.post(wanted)

    @Slot()
    def _open(self) -> None:
        dialog = self.dialog
        dialog.show_choice(self._choice)
        self._show_state(dialog)
        dialog.show_problem("")
        self._ask(ListClients())
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

    def _show_state(self, dialog: ServerDialog) -> None:
        dialog.show_state(self._state.address, self._state.problem, self._state.needs_key)

    def _ask(self, command: Command) -> None:
        self._bridge.post(command).failed.connect(self._on_failed)

    @Slot(object)
    def _on_failed(self, failed: Failed) -> None:
        self.dialog.show_problem(failed.sentence)

    def kept(self) -> UseServer | None:
        return self._used

    def resume(self, kept: UseServer | None) -> None:
        self._used = kept

    def _on_event(self, event: Event) -> None:
        match event:
            case ServerChanged(address, problem):
                self._state = event
                words = self.tr("Other programs can use the model at {address}").format(address=address)
                self._window.signs.server.tell(words if address else "")
                if problem and (self._dialog is None or not self._dialog.isVisible()):
                    self._window.toasts.show_error(problem)
            case ClientsListed(clients) if self._dialog is not None:
                self._dialog.show_clients(clients)
                return
            case ClientAdded(name, key) if self._dialog is not None:
                self._dialog.show_key(name, key)
                return
            case _:
                return
        if self._dialog is not None:
            self._show_state(self._dialog)
