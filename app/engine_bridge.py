"""The one place where the engine's threads meet Qt's: commands go in, events and ended requests come out as signals."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QMetaMethod, QObject, Qt, Signal, Slot

from app.lasting import LastingFacts
from app.text.translation import told
from engine import Command, DownloadTarget, Engine, EngineConfig, StopSignal
from engine.messages.events import Event, Failed, Finished, Listener


class Request(QObject):
    """A command that was posted, until it ends. A listener must not refer to the request itself: such a cycle through
    Qt is never collected.

    Signals, one of the two, after all other events of the command:
        finished(): it was carried out.
        failed(Failed): it was not, or not completely. The window shows the sentence if nothing is connected.
    """

    finished = Signal()
    failed = Signal(object)

    def __init__(self, command: Command, stop: StopSignal, is_quiet: bool = False) -> None:
        super().__init__()
        self.command = command
        self._stop = stop
        self._is_quiet = is_quiet

    def stop(self) -> None:
        """Ends the command early, also when it has not begun yet."""
        self._stop.set()

    @property
    def is_stopped(self) -> bool:
        return self._stop.is_set()

    @property
    def is_failure_handled(self) -> bool:
        return self._is_quiet or self.isSignalConnected(QMetaMethod.fromSignal(self.failed))


class EngineBridge(QObject):
    """Owns the engine, and brings its events to the interface thread. After `close` nothing is emitted any more.

    What the engine says comes out in the user's language. Signals, on the interface thread and in the engine's order:
        happened(Event): any event but `Finished`, which ends a request and says nothing else.
        unhandled(str): the sentence of a failure that is not shown anywhere else.
    """

    happened = Signal(object)
    unhandled = Signal(str)
    _received = Signal(object)  # emitted on the engine's threads

    def __init__(
        self,
        config: EngineConfig,
        parent: QObject | None = None,
        make_engine: Callable[[EngineConfig, Listener], Engine] = Engine,
    ) -> None:
        super().__init__(parent)
        self._is_closed = False
        self._requests: list[Request] = []  # that have not ended, first posted first
        self._facts = LastingFacts()  # in English
        self._received.connect(self._deliver, Qt.ConnectionType.QueuedConnection)
        self._engine = make_engine(config, self._receive)

    def post(self, command: Command, quiet: bool = False) -> Request:
        """Has the engine carry out the command. If a quiet one fails, nothing is shown."""
        request = Request(command, self._engine.post(command), quiet)
        self._requests.append(request)
        return request

    @property
    def facts(self) -> tuple[Event, ...]:
        """What the engine said last of everything that stays as it is, in the language of now."""
        return tuple(map(told, self._facts.events))

    @property
    def is_at_work(self) -> bool:
        """Whether somebody waits for the end of a request. Downloads of models go on for themselves."""
        return any(not isinstance(request.command, DownloadTarget) for request in self._requests)

    def close(self) -> bool:
        """Ends everything within two seconds."""
        self._is_closed = True
        self._requests.clear()
        return self._engine.close()

    def _receive(self, event: Event) -> None:
        if not self._is_closed:
            self._received.emit(event)

    @Slot(object)
    def _deliver(self, event: Event) -> None:
        if self._is_closed:
            return
        self._facts.note(event)
        event = told(event)
        match event:
            case Finished(command):
                if request := self._take(command):
                    request.finished.emit()
                return
            case Failed(sentence, command):
                request = self._take(command)
                if request is None or not request.is_failure_handled:
                    self.unhandled.emit(sentence)
                else:
                    request.failed.emit(event)
        self.happened.emit(event)

    def _take(self, command: Command) -> Request | None:
        """The first that was posted, as equal commands end in that order. None if the engine asked itself."""
        request = next((request for request in self._requests if request.command == command), None)
        if request is not None:
            self._requests.remove(request)
        return request
