"""Builds the engine from its configuration; the only file that names every concrete class.

Slow libraries (llama.cpp, SQLAlchemy) are imported here and inside functions on purpose: they load on the engine's
own threads, after the window is up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.commands import ChatCommand, Command, StoreCommand
from engine.config import EngineConfig, TargetSettings
from engine.events import Listener
from engine.stop_signal import StopSignal
from engine.worker import Worker

if TYPE_CHECKING:
    from engine.chat_service import ChatService
    from engine.reply import ReplyWriter
    from engine.storage import Repository
    from engine.store_service import StoreService
    from engine.target.interface import Target
    from engine.targets import TargetFile

_CLOSING_PATIENCE_S = 1.8


class Engine:
    """Two threads and a listener: one thread answers, the other looks after the kept conversations meanwhile.

    `listener` is called on either thread. Nothing slow happens in the constructor or in `post`.
    """

    def __init__(self, config: EngineConfig, listener: Listener) -> None:
        self._parts = _Parts(config, listener)
        self._chat = Worker("slipstream-chat", self._parts.handle_chat, listener, self._parts.close_chat)
        self._store = Worker("slipstream-store", self._parts.handle_store, listener)
        self._chat.start()
        self._store.start()

    def post(self, command: Command) -> StopSignal:
        """Have the command carried out. Setting the returned signal ends it early; the engine then says how far it
        came."""
        worker = self._chat if isinstance(command, ChatCommand) else self._store
        return worker.post(command)

    def close(self) -> bool:
        """Ends everything within two seconds. False if a thread was still busy then (it dies with the process)."""
        workers = (self._chat, self._store)
        for worker in workers:
            worker.end()
        deadline = time.monotonic() + _CLOSING_PATIENCE_S
        ended = [worker.join(deadline - time.monotonic()) for worker in workers]
        if all(ended):
            self._parts.close_store()
        return all(ended)


class _Parts:
    """The services behind the threads, each built on its own thread by the first command that needs it.

    What could not be built (a store that cannot be opened, say) is tried again by the next command.
    """

    def __init__(self, config: EngineConfig, emit: Listener) -> None:
        self._config = config
        self._emit = emit
        self._lock = threading.Lock()
        self._repository: Repository | None = None
        self._chat: ChatService | None = None
        self._store: StoreService | None = None

    def handle_chat(self, command: Command, stop: StopSignal) -> None:
        assert isinstance(command, ChatCommand)
        if self._chat is None:
            from engine.chat_service import ChatService

            self._chat = ChatService(self._open_repository(), load_file, self._emit)
        self._chat.handle(command, stop)

    def handle_store(self, command: Command, _stop: StopSignal) -> None:
        assert isinstance(command, StoreCommand)
        if self._store is None:
            from engine.store_service import StoreService

            self._store = StoreService(self._open_repository(), self._emit)
        self._store.handle(command)

    def close_chat(self) -> None:
        if self._chat is not None:
            self._chat.close()

    def close_store(self) -> None:
        if self._repository is not None:
            self._repository.close()

    def _open_repository(self) -> Repository:
        with self._lock:  # one thread brings the store up to date, the other waits for it
            if self._repository is None:
                self._repository = open_repository(self._config)
                self._repository.purge_deleted()
            return self._repository


def open_repository(config: EngineConfig) -> Repository:
    """Raises StoreUnusable."""
    from engine.storage import Repository

    return Repository.open(config.data_dir)


def load_file(
    file: TargetFile, settings: TargetSettings, on_progress: Callable[[float], None], stop: StopSignal
) -> Target:
    """Loads a target with llama.cpp. Raises what `LlamaCppTarget.load` raises."""
    from engine.target.llama_cpp import LlamaCppTarget
    from engine.target.preflight import preflight

    if not file.trusted:
        preflight(file.path, stop)
    return LlamaCppTarget.load(file.path, file.name, settings, on_progress, stop)


def open_writer(
    config: EngineConfig,
    target: str,
    settings: TargetSettings,
    on_progress: Callable[[float], None],
    stop: StopSignal,
) -> ReplyWriter:
    """A writer of replies without threads or kept conversations, for the command line. It leaves the store as it is,
    and opens it only for the name of a target used before.

    Raises what resolving and loading the target raise, TemplateFailed and StoreUnusable.
    """
    from engine.reply import ReplyWriter
    from engine.targets import named_file, resolve_target

    file = named_file(target)
    if file is None:
        repository = open_repository(config)
        try:
            file = resolve_target(target, repository)
        finally:
            repository.close()
    return ReplyWriter(load_file(file, settings, on_progress, stop))
