"""Collects what the engine says on the interface thread, where a test can wait for it."""

from __future__ import annotations

from concurrent.futures import Future

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.engine_bridge import EngineBridge
from engine.values.events import Event
from engine.values.growing_reply import ReplySoFar


class Grew(Event):
    """More of a reply is written."""

    so_far: ReplySoFar


class Broke(Event):
    """A request failed."""

    error: BaseException


class Ear(QObject):
    """Signals:
    heard(Event): one of the engine, that a reply grew, or that a request failed; on this object's thread.
    """

    heard = Signal(object)
    _passed = Signal(object)  # queued: the window has shown what the test hears

    def __init__(self, bridge: EngineBridge) -> None:
        super().__init__()
        self.events: list[Event] = []
        self._passed.connect(self._hear, Qt.ConnectionType.QueuedConnection)
        bridge.listen(Event, self._pass_on)
        bridge._progressed.connect(self._on_progress, Qt.ConnectionType.QueuedConnection)
        bridge._settled.connect(self._on_settled, Qt.ConnectionType.QueuedConnection)

    def _pass_on(self, event: Event) -> None:
        self._passed.emit(event)

    @Slot(object)
    def _hear(self, event: Event) -> None:
        self.events.append(event)
        self.heard.emit(event)

    @Slot(object, object)
    def _on_progress(self, _request: object, progress: object) -> None:
        if isinstance(progress, ReplySoFar) and progress.num_pieces:
            self._hear(Grew(progress))

    @Slot(object, object)
    def _on_settled(self, _request: object, future: Future[object]) -> None:
        if (error := future.exception()) is not None:
            self._hear(Broke(error))
