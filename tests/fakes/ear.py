"""Collects the engine's events on the interface thread, where a test can wait for them."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.engine_bridge import EngineBridge
from engine.values.events import Event


class Ear(QObject):
    """Signals:
    heard(Event): passed on from the bridge, on this object's thread.
    """

    heard = Signal(object)

    def __init__(self, bridge: EngineBridge) -> None:
        super().__init__()
        self.events: list[Event] = []
        bridge.happened.connect(self._hear, Qt.ConnectionType.QueuedConnection)

    @Slot(object)
    def _hear(self, event: Event) -> None:
        self.events.append(event)
        self.heard.emit(event)
