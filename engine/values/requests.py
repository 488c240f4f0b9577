"""A request: a question to a service, and its answer.

A service is a plain class; its methods take arguments and return the answer. `Engine` has a door to each service
(`engine/doors.py`), which is typed as the service itself:

    engine.ask(engine.hub.search, "qwen").result()

Nothing is called there: `engine.hub.search` names the method, and the service's own thread builds the service, calls
the method and settles the request. A method that can be stopped early has a parameter `stop: StopSignal = NEVER`; one
that tells how far it has come has `progress: Callable[[P], object] = ignore`. The engine fills in both. A request that
is stopped before its method is called ends as `Cancelled`, without a call, unless its door `is_owed`.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Generic, ParamSpec, TypeVar, cast

from engine.values.errors import Cancelled, MendableError
from engine.values.logged import Loggable
from engine.values.sentences import Told, shortened, template
from engine.values.stop_signal import StopSignal

_logger = logging.getLogger("slipstream.requests")
BROKEN = template("Something went wrong inside Slipstream ({reason}). Everything stored is safe; try again.")
_REASON_LENGTH = 200  # characters of a bug's own words

NEVER = StopSignal()  # the default of methods that can be stopped; it is never set

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")


def ignore(_progress: object) -> None:
    """The default listener to progress."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a request was not answered."""

    sentence: Told  # says what to do about it
    error: type[Exception] = MendableError
    is_stopped: bool = False  # the request was stopped


class Waits(Enum):
    """Who waits for the answers of a service. The user goes first, see `precedence.py`."""

    USER = auto()
    PROGRAM = auto()
    NOBODY = auto()


@dataclass(frozen=True, slots=True)
class Door:
    """A service on its thread. Reading an attribute names a method to ask for."""

    thread: str
    build: Callable[[], Any]  # returns the same service each time; called on the thread
    waits: Waits = Waits.USER
    goes_between: bool = False  # may be called in the middle of a program's reply, which then goes on
    is_owed: bool = False  # what waits when the app is closed is carried out nevertheless
    is_newest_only: bool = False  # a request stops those before it
    ends: tuple[object, ...] = ()  # methods of other services: a request stops theirs that were asked for before

    def __getattr__(self, name: str) -> Method:
        return Method(self, name)


@dataclass(frozen=True, slots=True)
class Method:
    """The argument of `Engine.ask`."""

    door: Door
    name: str


def door_to(
    thread: str,
    build: Callable[[], S],
    waits: Waits = Waits.USER,
    goes_between: bool = False,
    is_owed: bool = False,
    is_newest_only: bool = False,
    ends: tuple[object, ...] = (),
) -> S:
    """A `Door` that type checkers and editors take for the service."""
    return cast(S, Door(thread, build, waits, goes_between, is_owed, is_newest_only, ends))


class Request(Generic[T]):
    """Any thread may use it."""

    def __init__(self, stop: StopSignal) -> None:
        self.signal = stop
        self.future: Future[T] = Future()  # for `asyncio.wrap_future`, and callbacks on the service's thread

    def stop(self) -> None:
        """Ends the work early, or keeps it from beginning."""
        self.signal.set()

    def result(self, timeout_s: float | None = None) -> T:
        """Waits for the answer. Raises MendableError if the request failed, and TimeoutError."""
        return self.future.result(timeout_s)

    @property
    def failure(self) -> Failure | None:
        """None if the request was answered. Waits until it is settled."""
        return failure_of(self.future, self.signal.is_set())


def failure_of(future: Future[Any], is_stopped: bool) -> Failure | None:
    """None if it was answered. Waits until it is settled."""
    error = future.exception()
    return None if error is None else Failure(str(error), cast(type[Exception], type(error)), is_stopped)


@dataclass(frozen=True, slots=True)
class Call:
    """A request on its way to a worker."""

    method: Method
    args: tuple[Any, ...] = field(repr=False)  # among which may be keys
    kwargs: dict[str, Any] = field(repr=False)
    request: Request[Any]
    progress: Callable[[Any], object]

    def is_of(self, kind: object) -> bool:
        """True if it asks for this method, or for any of this door."""
        return kind in (self.method, self.method.door)

    def cancel(self) -> None:
        """Settles the request without carrying it out."""
        if not self.request.future.done():
            self.request.future.set_exception(Cancelled("This was stopped before it began."))

    def carry_out(self) -> None:
        """Settles the request. Runs on the service's thread."""
        request = self.request
        try:
            call = getattr(self.method.door.build(), self.method.name)
            answer = call(*self.args, **self.kwargs, **self._filled_in(call))
        except MendableError as error:
            _logger.info("%s: %s", Loggable(self.method.name), error)
            request.future.set_exception(error)
        except Exception as error:
            _logger.exception("%s failed", Loggable(self.method.name))
            request.future.set_exception(MendableError(BROKEN, reason=reason_of(error)))
        else:
            request.future.set_result(answer)

    def _filled_in(self, call: Callable[..., Any]) -> dict[str, Any]:
        known = inspect.signature(call).parameters
        filled_in = {"stop": self.request.signal, "progress": self.progress}
        return {name: value for name, value in filled_in.items() if name in known and name not in self.kwargs}


def reason_of(error: Exception) -> str:
    """A bug in its own words, cut short."""
    return ": ".join(filter(None, (type(error).__name__, shortened(str(error).split("\n")[0], _REASON_LENGTH))))
