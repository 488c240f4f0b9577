"""The one place where the engine's threads meet Qt's: questions go in, answers come out as signals, facts as calls."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, cast
from weakref import WeakMethod

from PySide6.QtCore import QMetaMethod, QObject, Qt, Signal, SignalInstance, Slot
from shiboken6 import isValid

from app.lasting import LastingFacts
from app.text.translation import in_words, told
from engine import Engine, EngineConfig, StopSignal
from engine.values.events import Event, Listener, OwnWorkFailed
from engine.values.requests import failure_of

P = ParamSpec("P")
T = TypeVar("T")
_Fact = TypeVar("_Fact", bound=Event)


class Told(Protocol[T]):
    """A signal whose receivers are checked against what it passes."""

    def connect(self, slot: Callable[[T], object], /) -> object: ...
    def emit(self, value: T, /) -> None: ...


class Request(QObject, Generic[T]):
    """What was asked of the engine, until it is settled. A listener must not refer to the request itself: such a cycle
    through Qt is never collected.

    Signals, in the user's language, on the interface thread, in the engine's order; `progressed` any number of times,
    then one of the others:
        progressed(object): how far it has come.
        answered(T): what the method returned.
        failed(Failure): why it did not. The window shows the sentence if nothing is connected.
    """

    if TYPE_CHECKING:
        answered: Told[T]
    else:
        answered = Signal(object)
    progressed = Signal(object)
    failed = Signal(object)

    def __init__(self, stop: StopSignal | None = None) -> None:
        super().__init__()
        self.signal = stop or StopSignal()
        self.is_quiet = False  # nothing is shown if it fails
        self.is_dropped = False
        self.outlasts_window = False  # goes on when the window is made again

    def stop(self) -> None:
        """Ends the work early, or keeps it from beginning."""
        self.signal.set()

    def drop(self) -> None:
        """Stops the request, and reports nothing of it any more."""
        self.is_dropped = True
        self.stop()

    @property
    def is_stopped(self) -> bool:
        return self.signal.is_set()

    @property
    def is_failure_handled(self) -> bool:
        return self.is_quiet or self.isSignalConnected(QMetaMethod.fromSignal(self.failed))


class EngineBridge(QObject):
    """Owns the engine, and brings what it says to the interface thread, in the engine's order and the user's language.
    After `close` nothing is said any more.

    Signals:
        unhandled(str): the sentence of a failure that is not shown anywhere else.
    """

    unhandled = Signal(str)
    _received = Signal(object)  # this and the next two are emitted on the engine's threads
    _progressed = Signal(object, object)
    _settled = Signal(object, object)

    def __init__(
        self,
        config: EngineConfig,
        parent: QObject | None = None,
        make_engine: Callable[[EngineConfig, Listener], Engine] = Engine,
    ) -> None:
        super().__init__(parent)
        self._is_closed = False
        self._listeners: dict[type[Event], list[WeakMethod[Callable[[Any], object]]]] = {}
        self._requests: list[Request[Any]] = []  # that are not settled, oldest first
        self._facts = LastingFacts()  # in English
        self._received.connect(self._deliver, Qt.ConnectionType.QueuedConnection)
        self._progressed.connect(self._show_progress, Qt.ConnectionType.QueuedConnection)
        self._settled.connect(self._settle, Qt.ConnectionType.QueuedConnection)
        self.engine = make_engine(config, self._receive)

    def ask(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Request[T]:
        """Has the service's thread call the method, such as `engine.hub.search`."""
        request = Request[T]()
        asked = self.engine.begin(method, args, kwargs, partial(self._tell, self._progressed, request))
        request.signal = asked.signal
        self._requests.append(request)
        # Which must not refer to `asked`: a future keeps its callbacks.
        asked.future.add_done_callback(partial(self._tell, self._settled, request))
        return request

    def listen(self, kind: type[_Fact], slot: Callable[[_Fact], object]) -> None:
        """Calls `slot`, a method of a QObject, with every fact of this kind; earlier listeners first. It ends with its
        object. `Event` stands for all kinds, as they happen."""
        self._listeners.setdefault(kind, []).append(WeakMethod(slot))

    def repeat_facts(self) -> None:
        """Passes lasting facts to all listeners again, in the current language."""
        for event in self._facts.events:
            self._tell_listeners(type(event), told(event))

    @property
    def facts(self) -> tuple[Event, ...]:
        """What the engine said last of everything that stays as it is, in the current language."""
        return tuple(map(told, self._facts.events))

    @property
    def is_at_work(self) -> bool:
        """True if a request is under way that the window waits for."""
        return not all(request.outlasts_window or request.is_dropped for request in self._requests)

    def close(self) -> bool:
        """Ends everything within two seconds."""
        self._is_closed = True
        self._requests.clear()
        return self.engine.close()

    def _receive(self, event: Event) -> None:
        self._tell(self._received, event)

    def _tell(self, signal: SignalInstance, *values: object) -> None:
        if not self._is_closed:
            signal.emit(*values)

    @Slot(object, object)
    def _show_progress(self, request: Request[Any], progress: object) -> None:
        if not (self._is_closed or request.is_dropped):
            request.progressed.emit(in_words(progress))

    @Slot(object, object)
    def _settle(self, request: Request[Any], future: Future[Any]) -> None:
        if self._is_closed:
            return
        self._requests.remove(request)
        failure = failure_of(future, request.is_stopped)
        if request.is_dropped:
            return
        if failure is None:
            request.answered.emit(in_words(future.result()))
        elif request.is_failure_handled:
            request.failed.emit(told(failure))
        else:
            self.unhandled.emit(told(failure).sentence)

    @Slot(object)
    def _deliver(self, event: Event) -> None:
        if self._is_closed:
            return
        self._facts.note(event)
        event = told(event)
        if isinstance(event, OwnWorkFailed):
            self.unhandled.emit(event.sentence)
        for kind in (type(event), Event):
            self._tell_listeners(kind, event)

    def _tell_listeners(self, kind: type[Event], event: Event) -> None:
        listeners = self._listeners.get(kind, [])
        for each in tuple(listeners):
            slot = each()
            if slot is None or not isValid(cast(MethodType, slot).__self__):
                listeners.remove(each)
            else:
                slot(event)
