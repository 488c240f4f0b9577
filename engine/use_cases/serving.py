"""The server from the command line, with an engine of its own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from engine.config import EngineConfig, TargetSettings
from engine.errors import Cancelled, MendableError, TargetUnsupported
from engine.library.architecture import finds
from engine.library.gguf_header import read_header
from engine.messages.commands import LoadTarget
from engine.messages.events import Event, Failed, Finished, TargetReady
from engine.messages.serving import ServerSettings
from engine.stop_signal import StopSignal
from engine.target.model_files import NO_EMBEDDER
from engine.threads import Engine

_GLANCE_S = 0.05


def checked_embedder(path: Path) -> Path:
    """Absolute, by what the header of the file says. Raises TargetMissing, TargetUnusable or TargetUnsupported."""
    if not finds(read_header(path)):
        raise TargetUnsupported(NO_EMBEDDER, name=path.name)
    return path.absolute()


class Serving:
    def __init__(self, config: EngineConfig, settings: ServerSettings) -> None:
        self._loaded: Future[str] = Future()
        self._name = ""
        self._engine = Engine(config, self._hear)
        self._settings = settings
        self.address = ""
        self.needs_key = False  # every program does

    def open(self) -> None:
        """Raises MendableError."""
        opened = self._engine.ask(self._engine.server.use, self._settings).result()
        assert opened is not None
        self.address, self.needs_key = opened.address, opened.needs_key

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
        self._engine.close()

    def _hear(self, event: Event) -> None:
        match event:
            case TargetReady(target):
                self._name = target.name
            case Finished(LoadTarget()):
                self._loaded.set_result(self._name)
            case Failed(sentence, LoadTarget()) if not self._loaded.done():
                self._loaded.set_exception(MendableError(sentence))


@contextmanager
def serving(config: EngineConfig, settings: ServerSettings) -> Iterator[Serving]:
    """Raises MendableError where its address cannot be used."""
    found = Serving(config, settings)
    try:
        found.open()
        yield found
    finally:
        found.close()
