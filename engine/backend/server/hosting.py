"""The server that the user has switched on, if any."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from engine.values.asked import Answered, Asked, Embeddings
from engine.values.config import ReplySettings
from engine.values.events import Event, TargetInfo, TargetLoading, TargetReady
from engine.values.growing_reply import ReplySoFar
from engine.values.owner import Owner
from engine.values.requests import Request
from engine.values.serving import OpenServer, ServerSettings

if TYPE_CHECKING:  # imported when it is opened: it takes half a second
    from engine.backend.chats.answering import Answering
    from engine.backend.chats.embedding import Embedding
    from engine.backend.server.desk import ServedTarget
    from engine.backend.server.serving import Server


class _Doors(Protocol):
    answering: Answering
    embedding: Embedding


class Served:
    """Implements `server.desk.ServedTarget`: asks the engine. Any thread may use it."""

    def __init__(self, begin: Callable[..., Request[Any]], doors: _Doors) -> None:
        """`begin` is that of the engine."""
        self._begin = begin
        self._doors = doors
        self.loaded: TargetInfo | None = None
        self.is_loading = False

    def note(self, event: Event) -> None:
        match event:
            case TargetLoading():
                self.is_loading = True
            case TargetReady(target):
                self.loaded, self.is_loading = target, False

    def answer(
        self,
        asked: Asked,
        settings: ReplySettings,
        is_remembered: bool,
        owner: Owner,
        progress: Callable[[ReplySoFar], object],
    ) -> Request[Answered]:
        return self._begin(self._doors.answering.answer, (asked, settings, is_remembered, owner), {}, progress)

    def count(self, asked: Asked, settings: ReplySettings, owner: Owner) -> Request[int]:
        return self._begin(self._doors.answering.count, (asked, settings, owner), {})

    def embed(self, path: Path, texts: tuple[str, ...]) -> Request[Embeddings]:
        return self._begin(self._doors.embedding.embed, (path, texts), {})


class Hosting:
    """One thread calls `use`, any thread `close`."""

    def __init__(self, data_dir: Path, target: ServedTarget) -> None:
        self._data_dir = data_dir
        self._target = target
        self._lock = threading.Lock()  # for changing the server
        self._server: Server | None = None
        self._settings: ServerSettings | None = None
        self._reply_settings = ReplySettings()

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

        server = Server(settings, self._data_dir, self._target, lambda: self._reply_settings)
        server.open()
        with self._lock:
            self._server, self._settings = server, settings

    def close(self) -> None:
        with self._lock:
            server, self._server, self._settings = self._server, None, None
        if server is not None:
            server.close()
