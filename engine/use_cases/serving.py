"""The server from the command line, with an engine of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.speculation.model.files.architecture import finds
from engine.speculation.model.files.gguf_header import read_header
from engine.speculation.model.files.model_files import NO_EMBEDDER
from engine.threads import Engine
from engine.values.config import EngineConfig, TargetSettings
from engine.values.errors import Cancelled, TargetUnsupported
from engine.values.serving import ServerSettings
from engine.values.stop_signal import StopSignal
from engine.values.targets import LoadOrder

_GLANCE_S = 0.05


def checked_embedder(path: Path) -> Path:
    """Absolute, by what the header of the file says. Raises TargetMissing, TargetUnusable or TargetUnsupported."""
    if not finds(read_header(path)):
        raise TargetUnsupported(NO_EMBEDDER, name=path.name)
    return path.absolute()


class Serving:
    def __init__(self, config: EngineConfig, settings: ServerSettings) -> None:
        self._engine = Engine(config, lambda _event: None)
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
        loading = self._engine.ask(self._engine.target.load, LoadOrder(target, settings))
        while True:
            try:
                return loading.result(_GLANCE_S).name
            except TimeoutError:
                if stop.is_set():
                    loading.stop()
                    raise Cancelled(f"Loading {target} was cancelled.") from None

    def close(self) -> None:
        self._engine.close()


@contextmanager
def serving(config: EngineConfig, settings: ServerSettings) -> Iterator[Serving]:
    """Raises MendableError where its address cannot be used."""
    found = Serving(config, settings)
    try:
        found.open()
        yield found
    finally:
        found.close()
