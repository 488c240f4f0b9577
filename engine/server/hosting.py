"""The server that the user has switched on, if any: opened, closed, told what happens."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.config import ReplySettings
from engine.errors import MendableError
from engine.messages.commands import (
    AddClient,
    ChangeClient,
    Command,
    ListClients,
    OfClient,
    RemoveClient,
    ServerCommand,
    UseServer,
)
from engine.messages.events import (
    AnswerEvent,
    ClientAdded,
    ClientsListed,
    Event,
    Failed,
    Finished,
    Listener,
    ServerChanged,
    TargetReady,
)
from engine.messages.serving import ServerSettings
from engine.server.clients import Clients
from engine.stop_signal import StopSignal

if TYPE_CHECKING:  # imported when it is opened: it takes half a second
    from engine.server.serving import Server


class Hosting:
    """One thread calls `handle`, any thread the other methods."""

    def __init__(self, data_dir: Path, emit: Listener, post: Callable[[Command], StopSignal]) -> None:
        self._data_dir = data_dir
        self._emit = emit
        self._post = post
        self._clients = Clients(data_dir)
        self._lock = threading.Lock()  # for changing the server, and what was told before there was one
        self._server: Server | None = None
        self._settings: ServerSettings | None = None
        self._reply_settings = ReplySettings()
        self._ready: TargetReady | None = None

    def hear(self, event: Event) -> bool:
        """Whether that concerns the server alone."""
        with self._lock:
            server = self._server
            if isinstance(event, TargetReady):
                self._ready = event
        if server is None:
            return False
        server.hear(event)
        ends_it = isinstance(event, Finished | Failed) and isinstance(event.command, OfClient)
        return ends_it or isinstance(event, AnswerEvent)

    def handle(self, command: ServerCommand, _stop: StopSignal) -> None:
        """Raises NotPossible and FileUnusable."""
        match command:
            case UseServer(settings, reply_settings):
                self._reply_settings = reply_settings
                if settings != self._settings:
                    self._use(settings)
                return
            case AddClient(name, is_remembered, drafts_from_chats):
                self._emit(ClientAdded(name, self._clients.add(name, is_remembered, drafts_from_chats)))
            case ChangeClient(name, is_remembered, drafts_from_chats):
                self._clients.change(name, is_remembered, drafts_from_chats)
            case RemoveClient(name):
                self._clients.remove(name)
            case ListClients():
                pass
        self._emit(ClientsListed(self._clients.all()))

    def close(self) -> None:
        with self._lock:
            server, self._server, self._settings = self._server, None, None
        if server is not None:
            server.close()

    def _use(self, settings: ServerSettings | None) -> None:
        self.close()
        told = ServerChanged("")
        if settings is not None:
            from engine.server.serving import Server

            server = Server(settings, self._data_dir, self._post, lambda: self._reply_settings)
            try:
                told = ServerChanged(server.open(), needs_key=server.needs_key)
            except MendableError as error:
                self._emit(ServerChanged("", str(error)))
                return
            with self._lock:
                self._server, self._settings = server, settings
                ready = self._ready
            if ready is not None:
                server.hear(ready)
        self._emit(told)
