"""Servers with models, as the user sets them up."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Slot

from app.controllers.controller import Controller
from app.controllers.target import TargetController
from app.dialogs.model_servers.model_servers_dialog import ModelServersDialog
from app.dialogs.parts import ask, question_box, show_in_front
from app.engine_bridge import EngineBridge, Posted
from app.main_window import MainWindow
from app.models.server_rows import Sighting
from engine import Command, ListServers, LoadTarget, LookAtServer, RemoveServer, SaveServer
from engine.messages.events import Event, Failed, ServerSeen, ServersListed, ServerUntrusted, TargetReady
from engine.messages.remote import RemoteServer, is_reference, split_reference


class ModelServersController(Controller):
    """Keeps the list of servers as it is in the store, and notes what came of asking each since the start. None is
    asked but when the user wants it: looked at in the form, checked, refreshed, or when a model of it is loaded."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, target: TargetController) -> None:
        super().__init__(window, bridge)
        self._target = target
        self._servers: tuple[RemoteServer, ...] = ()
        self._sightings: dict[str, Sighting] = {}  # by address
        self._key_notice: str | None = None  # None: not told yet
        self._problem = ""  # why it is not known which servers there are
        self._look: Posted | None = None  # on behalf of the form
        self._asked: dict[str, Posted] = {}  # looks at servers that are kept, by address
        self._leaving: set[str] = set()  # addresses of servers that are being removed
        self._dialog: ModelServersDialog | None = None
        picker = window.target_bar.picker
        picker.refresh_requested.connect(self._ask)
        picker.servers_requested.connect(self._open)
        picker.add_server_requested.connect(self._open_form)
        window.servers_action.triggered.connect(self._open)

    @property
    def dialog(self) -> ModelServersDialog:
        """Made when it is first needed."""
        if self._dialog is None:
            self._dialog = dialog = ModelServersDialog(self._window)
            dialog.check_requested.connect(self._ask)
            dialog.remove_requested.connect(self._ask_to_remove)
            dialog.choose_requested.connect(self._choose_model)
            dialog.form.look_requested.connect(self._look_at)
            dialog.form.saved.connect(self._save)
            dialog.form.look_dropped.connect(self._end_look)
            dialog.finished.connect(dialog.form.close_form)
            if self._key_notice is not None:
                dialog.form.show_key_note(self._key_notice)
            self._show()
        return self._dialog

    def list_all(self) -> None:
        self._bridge.post(ListServers()).failed.connect(self._on_not_listed)

    # What the user wants

    @Slot()
    def _open(self) -> None:
        if not self.dialog.isVisible():
            self.dialog.show_words("")
        show_in_front(self.dialog)

    @Slot()
    def _open_form(self) -> None:
        self._open()
        self.dialog.open_form()

    @Slot()
    def _choose_model(self) -> None:
        self.dialog.close()
        self._window.choose_action.trigger()

    @Slot(str)
    def _ask(self, address: str) -> None:
        """Which models it has now."""
        server = self._find(address)
        if server is None or address in self._asked or address in self._leaving:
            return
        self._note(address, Sighting(is_asked=True))
        request = self._bridge.post(LookAtServer(address, certificate=server.certificate))
        request.failed.connect(self._on_not_seen)
        self._asked[address] = request

    @Slot(str, object, str)
    def _look_at(self, address: str, key: str | None, certificate: str) -> None:
        self._end_look()
        self._look = self._bridge.post(LookAtServer(address, key, certificate))
        self._look.failed.connect(self._on_look_failed)
        self.dialog.form.show_looking(address)

    @Slot()
    def _end_look(self) -> None:
        if self._look is not None:
            self._look.stop()
            self._look = None

    @Slot(object, object, str)
    def _save(self, server: RemoteServer, key: str | None, replaces: str) -> None:
        self._end_asking(replaces)
        request = self._bridge.post(SaveServer(server, key, replaces))
        request.failed.connect(self._on_save_failed)
        request.finished.connect(lambda: self._on_saved(server.address, is_new=not replaces))

    @Slot(str)
    def _ask_to_remove(self, address: str) -> None:
        server = self._find(address)
        if server is None:
            return
        text = self.tr("Remove the server {server}?").format(server=server.name)
        more = self.tr("Its key is deleted too. Your chats with its models stay, and still say where they were sent.")
        box = question_box(self.dialog, self.tr("Remove a server"), text, more)
        ask(box, self.tr("Remove"), lambda: self._remove(server))

    def _remove(self, server: RemoteServer) -> None:
        self._leaving.add(server.address)
        self._end_asking(server.address)
        request = self._bridge.post(RemoveServer(server.address))
        request.failed.connect(self._on_remove_failed)
        request.finished.connect(lambda: self._leaving.discard(server.address))
        words = self.tr("{server} was removed.").format(server=server.name)
        request.finished.connect(lambda: self.dialog.show_words(words))

    def _end_asking(self, address: str) -> None:
        """To keep what a look tells would bring back what is removed, or was changed."""
        if (request := self._asked.pop(address, None)) is not None:
            request.stop()
            self._note(address, Sighting())

    # What the engine says

    def _on_event(self, event: Event) -> None:
        match event:
            case ServersListed(servers, notice):
                self._on_listed(servers, notice)
            case ServerSeen():
                self._on_seen(event)
            case ServerUntrusted():
                self._on_untrusted(event)
            case TargetReady(target) if target.server is not None:
                self._on_loaded(target.server)
            case Failed(sentence, LoadTarget(wanted)) if is_reference(wanted) and not event.is_stopped:
                self._note(split_reference(wanted)[0], Sighting(sentence=sentence))

    def _on_listed(self, servers: tuple[RemoteServer, ...], notice: str) -> None:
        self._servers = self._target.servers = servers
        self._problem = ""
        addresses = {each.address for each in servers}
        self._sightings = {place: each for place, each in self._sightings.items() if place in addresses}
        self._key_notice = notice
        if self._dialog is not None:
            self._dialog.form.show_key_note(notice)
        self._show()

    def _on_loaded(self, server: RemoteServer) -> None:
        """It was asked for its models on the way."""
        if self._target.servers is not None:  # else they are told soon, as they are by now
            known = tuple(server if each.address == server.address else each for each in self._servers)
            self._servers = self._target.servers = known
        self._note(server.address, Sighting(is_there=True))

    @Slot(object)
    def _on_not_listed(self, failed: Failed) -> None:
        """What waits for the servers goes on without them."""
        self._target.servers = self._target.servers or ()
        self._problem = failed.sentence
        self._window.toasts.show_error(failed.sentence)
        self._show()

    def _on_seen(self, event: ServerSeen) -> None:
        address = event.server.address
        known = self._find(address)
        if self._is_of_form(event.command):
            self._look = None
            self.dialog.form.show_seen(event.server, event.notice)
        elif not self._was_asked(event.command):
            return
        elif known is not None:
            now = replace(known, kind=event.server.kind, models=event.server.models)
            if now != known:
                self._bridge.post(SaveServer(now, None, address))
        if known is not None:
            self._note(address, Sighting(is_there=True))

    def _on_untrusted(self, event: ServerUntrusted) -> None:
        """Nothing is sent there until the user has decided."""
        if not self._is_of_form(event.command) and not self._was_asked(event.command):
            return
        is_known = self._find(event.address) is not None
        if is_known:
            self._note(event.address, Sighting(sentence=event.sentence))
        if self._is_of_form(event.command):
            self._look = None
        elif self._dialog is not None and self._dialog.isVisible() and is_known:
            self._dialog.change(event.address)
        else:
            return
        self.dialog.form.show_untrusted(event.certificate, event.sentence)

    @Slot(object)
    def _on_not_seen(self, failed: Failed) -> None:
        assert isinstance(failed.command, LookAtServer)
        if not failed.is_stopped and self._was_asked(failed.command):
            self._note(failed.command.address, Sighting(sentence=failed.sentence))

    @Slot(object)
    def _on_look_failed(self, failed: Failed) -> None:
        if not failed.is_stopped and self._is_of_form(failed.command):
            self._look = None
            self.dialog.form.show_problem(failed.sentence)

    @Slot(object)
    def _on_save_failed(self, failed: Failed) -> None:
        self.dialog.form.show_problem(failed.sentence)

    @Slot(object)
    def _on_remove_failed(self, failed: Failed) -> None:
        assert isinstance(failed.command, RemoveServer)
        self._leaving.discard(failed.command.address)
        self.dialog.show_words(failed.sentence)

    def _on_saved(self, address: str, is_new: bool) -> None:
        """The store may have given it another name."""
        server = self._find(address)
        self.dialog.form.close_form()
        if server is None:
            return
        words = self.tr("{server} was added; its models are in the list of models.")
        if not is_new:
            words = self.tr("{server} was changed.")
        self.dialog.show_words(words.format(server=server.name))
        if self.dialog.choose_button.isEnabled():
            self.dialog.choose_button.setFocus()

    # What is shown

    def _is_of_form(self, command: Command) -> bool:
        """Not, if it was dropped meanwhile."""
        return self._look is not None and self._look.command == command

    def _was_asked(self, command: LookAtServer) -> bool:
        """That look at a server that is kept was still wanted, and has ended now."""
        asked = self._asked.get(command.address)
        if asked is None or asked.command != command:
            return False
        del self._asked[command.address]
        return True

    def _find(self, address: str) -> RemoteServer | None:
        return next((each for each in self._servers if each.address == address), None)

    def _note(self, address: str, sighting: Sighting) -> None:
        self._sightings[address] = sighting
        self._show()

    def _show(self) -> None:
        self._window.target_bar.picker.set_servers(self._servers, self._sightings)
        if self._dialog is not None:
            self._dialog.show_servers(self._servers, self._sightings, self._problem)
