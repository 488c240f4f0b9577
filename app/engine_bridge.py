"""The one place where the engine's threads meet Qt's: commands go in as they are, events come out as a signal."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from engine import Command, Engine, EngineConfig, StopSignal
from engine.messages.events import Event


class EngineBridge(QObject):
    """Owns the engine.

    Signals:
        happened(Event): something happened. Emitted on the engine's threads: connect it to a method of a QObject that
        lives on the
            interface thread, with a queued connection.
    """

    happened = Signal(object)

    def __init__(self, config: EngineConfig, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._closed = False
        self._engine = Engine(config, self._receive)

    def post(self, command: Command) -> StopSignal:
        """Have the engine carry out the command; setting the signal ends it early."""
        return self._engine.post(command)

    def close(self) -> bool:
        """Ends everything within two seconds; no event comes after that."""
        self._closed = True
        return self._engine.close()

    def _receive(self, event: Event) -> None:
        if not self._closed:
            self.happened.emit(event)
