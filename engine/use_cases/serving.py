"""The server from the command line, with an engine of its own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from engine.config import EngineConfig, TargetSettings
from engine.errors import Cancelled, MendableError
from engine.messages.commands import LoadTarget
from engine.messages.events import Event, Failed, Finished, TargetReady
from engine.server.serving import Server
from engine.server.settings import ServerSettings
from engine.stop_signal import StopSignal
from engine.threads import Engine

_GLANCE_S = 0.05


class Serving:
    def __init__(self, config: EngineConfig, settings: ServerSettings) -> None:
        self._loaded: Future[str] = Future()
        self._name = ""
        self._engine = Engine(config, self._hear)
        self._server = Server(settings, config.data_dir, self._engine.post)

    @property
    def address(self) -> str:
        return self._server.address

    def open(self) -> None:
        """Raises NotPossible and SettingInvalid."""
        self._server.open()

    def load(self, target: str, settings: TargetSettings, stop: StopSignal) -> str:
        """The name of the target, when it is loaded. Raises MendableError."""
        loading = self._engine.post(LoadTarget(target, settings))
        while True:
            try:
                return self._loaded.result(_GLANCE_S)
            except TimeoutError:
                if stop.is_set():
                    loading.set()
                    raise Cancelled(f"Loading {target} was cancelled.") from None

    def close(self) -> None:
        self._server.close()
        self._engine.close()

    def _hear(self, event: Event) -> None:
        self._server.hear(event)
        match event:
            case TargetReady(target):
                self._name = target.name
            case Finished(LoadTarget()):
                self._loaded.set_result(self._name)
            case Failed(sentence, LoadTarget()) if not self._loaded.done():
                self._loaded.set_exception(MendableError(sentence))


@contextmanager
def serving(config: EngineConfig, settings: ServerSettings) -> Iterator[Serving]:
    """Raises NotPossible and SettingInvalid where its address cannot be used."""
    found = Serving(config, settings)
    try:
        found.open()
        yield found
    finally:
        found.close()
