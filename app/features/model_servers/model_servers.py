"""Servers with models, as the user sets them up."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from PySide6.QtCore import Slot

from app.engine_bridge import EngineBridge, Request
from app.features.controller import Controller
from app.features.library.target import TargetController
from app.features.model_servers.model_servers_dialog import ModelServersDialog
from app.main_window import MainWindow
from app.models.server_rows import Sighting
from app.widgets.dialog_parts import ask, question_box, show_in_front
from engine.values.events import ServersListed, TargetReady, TargetRefused
from engine.values.remote import RemoteServer, ServerSeen, ServerUntrusted, is_reference, split_reference
from engine.values.requests import Failure


class ModelServersController(Controller):
    """Keeps the list of servers as it is in the store, and notes what came of asking each since the start. None is
    asked but when the user wants it: looked at in the form, checked, refreshed, or when a model of it is loaded."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, target: TargetController) -> None:
        super().__init__(window, bridge)
        self._target = target
        self._engine = bridge.engine.remote
        self._servers: tuple[RemoteServer, ...] = ()
        self._sightings: dict[str, Sighting] = {}  # by address
        self._key_notice: str | None = None  # None: not known yet
        self._problem = ""  # why it is not known which servers there are
        self._look: Request[Any] | None = None  # on behalf of the form
        self._asked: dict[str, Request[Any]] = {}  # looks at servers that are kept, by address
        self._leaving: set[str] = set()  # addresses of servers that are being removed
        self._dialog: ModelServersDialog | None = None
        picker = window.target_bar.picker
        picker.refresh_requested.connect(self._ask)
        picker.servers_requested.connect(self._open)
        picker.add_server_requested.connect(self._open_form)
        window.servers_action.triggered.connect(self._open)
        bridge.listen(ServersListed, self._on_listed)
        bridge.listen(TargetReady, self._on_ready)
        bridge.listen(TargetRefused, self._on_refused)

    @property
    def dialog(self) -> ModelServersDialog:
        """The dialog, made on first use."""
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
        self._bridge.ask(self._engine.list_all).failed.connect(self._on_not_listed)

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
        """Asks a server for its present models."""
        server = self._find(address)
        if server is None or address in self._asked or address in self._leaving:
            return
        self._note(address, Sighting(is_asked=True))
        request = self._bridge.ask(self._engine.look, address, certificate=server.certificate)
        request.answered.connect(partial(self._on_asked, address))
        request.failed.connect(partial(self._on_not_asked, address))
        self._asked[address] = request

    @Slot(str, object, str)
    def _look_at(self, address: str, key: str | None, certificate: str) -> None:
        self._end_look()
        self._look = self._bridge.ask(self._engine.look, address, key, certificate)
        self._look.answered.connect(self._on_looked)
        self._look.failed.connect(self._on_look_failed)
        self.dialog.form.show_looking(address)

    @Slot()
    def _end_look(self) -> None:
        if self._look is not None:
            self._look.drop()
            self._look = None

    @Slot(object, object, str)
    def _save(self, server: RemoteServer, key: str | None, replaces: str) -> None:
        self._end_asking(replaces)
        request = self._bridge.ask(self._engine.save, server, key, replaces)
        request.answered.connect(partial(self._on_saved, not replaces))
        request.failed.connect(lambda failure: self.dialog.form.show_problem(failure.sentence))

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
        request = self._bridge.ask(self._engine.remove, server.address)
        request.answered.connect(partial(self._on_removed, server))
        request.failed.connect(partial(self._on_remove_failed, server.address))

    def _end_asking(self, address: str) -> None:
        """Drops the request: storing its answer would restore what has been removed or changed."""
        if (request := self._asked.pop(address, None)) is not None:
            request.drop()
            self._note(address, Sighting())

    # What follows

    @Slot(object)
    def _on_listed(self, listed: ServersListed) -> None:
        self._problem = ""
        addresses = {each.address for each in listed.servers}
        self._sightings = {place: each for place, each in self._sightings.items() if place in addresses}
        self._key_notice = listed.notice
        if self._dialog is not None:
            self._dialog.form.show_key_note(listed.notice)
        self._use(listed.servers)
        self._show()

    @Slot(object)
    def _on_not_listed(self, failure: Failure) -> None:
        """Goes on without servers."""
        self._problem = failure.sentence
        self._window.toasts.show_error(failure.sentence)
        self._target.use_servers(self._target.servers or ())
        self._show()

    @Slot(object)
    def _on_ready(self, event: TargetReady) -> None:
        """Updates the server, whose models were listed while loading."""
        server = event.target.server
        if server is None:
            return
        if self._target.servers is not None:  # else they are announced soon
            self._use(tuple(server if each.address == server.address else each for each in self._servers))
        self._note(server.address, Sighting(is_there=True))

    def _on_refused(self, event: TargetRefused) -> None:
        if is_reference(event.order.target):
            self._note(split_reference(event.order.target)[0], Sighting(sentence=event.sentence))

    def _on_looked(self, seen: ServerSeen | ServerUntrusted) -> None:
        """Shows the form what its look at the server found."""
        self._look = None
        if isinstance(seen, ServerUntrusted):
            self._note_untrusted(seen)
            self.dialog.form.show_untrusted(seen.certificate, seen.sentence)
            return
        self.dialog.form.show_seen(seen.server, seen.notice)
        if self._find(seen.server.address) is not None:
            self._note(seen.server.address, Sighting(is_there=True))

    @Slot(object)
    def _on_look_failed(self, failure: Failure) -> None:
        self._look = None
        self.dialog.form.show_problem(failure.sentence)

    def _on_asked(self, address: str, seen: ServerSeen | ServerUntrusted) -> None:
        del self._asked[address]
        known = self._find(address)
        if known is None:
            return
        if isinstance(seen, ServerUntrusted):
            self._note_untrusted(seen)
            if self._dialog is not None and self._dialog.isVisible():
                self._dialog.change(address)
                self._dialog.form.show_untrusted(seen.certificate, seen.sentence)
            return
        now = replace(known, kind=seen.server.kind, models=seen.server.models)
        if now != known:
            self._bridge.ask(self._engine.save, now, None, address)
        self._note(address, Sighting(is_there=True))

    def _on_not_asked(self, address: str, failure: Failure) -> None:
        del self._asked[address]
        self._note(address, Sighting(sentence=failure.sentence))

    def _note_untrusted(self, seen: ServerUntrusted) -> None:
        """Notes a server that gets nothing until the user decides."""
        if self._find(seen.address) is not None:
            self._note(seen.address, Sighting(sentence=seen.sentence))

    def _on_saved(self, is_new: bool, server: RemoteServer) -> None:
        self.dialog.form.close_form()
        words = self.tr("{server} was added; its models are in the list of models.")
        if not is_new:
            words = self.tr("{server} was changed.")
        self.dialog.show_words(words.format(server=server.name))
        if self.dialog.choose_button.isEnabled():
            self.dialog.choose_button.setFocus()

    def _on_removed(self, server: RemoteServer, _answer: None) -> None:
        self._leaving.discard(server.address)
        self.dialog.show_words(self.tr("{server} was removed.").format(server=server.name))

    def _on_remove_failed(self, address: str, failure: Failure) -> None:
        self._leaving.discard(address)
        self.dialog.show_words(failure.sentence)

    # What is shown

    def _use(self, servers: tuple[RemoteServer, ...]) -> None:
        self._servers = servers
        self._target.use_servers(servers)

    def _find(self, address: str) -> RemoteServer | None:
        return next((each for each in self._servers if each.address == address), None)

    def _note(self, address: str, sighting: Sighting) -> None:
        self._sightings[address] = sighting
        self._show()

    def _show(self) -> None:
        self._window.target_bar.picker.set_servers(self._servers, self._sightings)
        if self._dialog is not None:
            self._dialog.show_servers(self._servers, self._sightings, self._problem)
