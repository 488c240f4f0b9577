"""The server that the user has switched on, if any: opens it, closes it, tells it what happens."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.values.commands import Command, OfClient
from engine.values.config import ReplySettings
from engine.values.events import AnswerEvent, Event, Failed, Finished, TargetReady
from engine.values.serving import OpenServer, ServerSettings
from engine.values.stop_signal import StopSignal

if TYPE_CHECKING:  # imported when it is opened: it takes half a second
    from engine.backend.server.serving import Server


class Hosting:
    """One thread calls `use`, any thread the other methods."""

    def __init__(self, data_dir: Path, post: Callable[[Command], StopSignal]) -> None:
        self._data_dir = data_dir
        self._post = post
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

    def use(
        self,
        settings: ServerSettings | None,
        reply_settings: ReplySettings = ReplySettings(),  # noqa: B008
    ) -> OpenServer | None:
        """Opens the server, in place of one that is open; without settings, closes it. `reply_settings` are the
        user's, for what programs leave open. Raises MendableError where its address cannot be used."""
        self._reply_settings = reply_settings
        if settings != self._settings:
            self.close()
            if settings is not None:
                self._open(settings)
        server = self._server
        return None if server is None else OpenServer(server.address, server.needs_key)

    def _open(self, settings: ServerSettings) -> None:
        from engine.backend.server.serving import Server

        server = Server(settings, self._data_dir, self._post, lambda: self._reply_settings)
        server.open()
        with self._lock:
            self._server, self._settings = server, settings
            ready = self._ready
        if ready is not None:
            server.hear(ready)

    def close(self) -> None:
        with self._lock:
            server, self._server, self._settings = self._server, None, None
        if server is not None:
            server.close()
