"""A bridge whose engine only records what it is asked; the test answers, and sends events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from unittest.mock import MagicMock

from PySide6.QtCore import QCoreApplication

from app.engine_bridge import EngineBridge
from engine import Engine, EngineConfig, StopSignal
from engine.doors import Doors
from engine.values.errors import MendableError, NotPossible
from engine.values.events import Event, TargetRefused
from engine.values.growing_reply import GrowingReply
from engine.values.orders import ReplyOrder
from engine.values.requests import Request
from engine.values.targets import LoadOrder
from tests.fakes.answers import Answered, Began, Broke, GrowingStep, Step


@dataclass
class Asked:
    """A request to a service; the test settles it."""

    method: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    request: Request[Any]
    progress: Callable[[Any], object]

    @property
    def call(self) -> tuple[Any, ...]:
        return (self.method.name, *self.args, *self.kwargs.values())

    @property
    def taken(self) -> Any:
        """See `FakeBridge.take`."""
        first = next(iter(self.args), None)
        return first if isinstance(first, ReplyOrder) else self.call

    def answer(self, value: Any = None) -> None:
        self.request.future.set_result(value)
        QCoreApplication.processEvents()

    def fail(self, error: Exception | str) -> None:
        self.request.future.set_exception(MendableError(error) if isinstance(error, str) else error)
        QCoreApplication.processEvents()

    def tell(self, progress: Any) -> None:
        self.progress(progress)
        QCoreApplication.processEvents()


class _Notebook(Doors):
    """The part of `engine.Engine` that a bridge uses."""

    def __init__(self) -> None:
        super().__init__(MagicMock())
        self.asked: list[Asked] = []
        self.log: list[Asked] = []

    def begin(
        self, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any], progress: Callable[[Any], object]
    ) -> Request[Any]:
        self.asked.append(Asked(method, args, kwargs, Request(StopSignal()), progress))
        self.log.append(self.asked[-1])
        return self.asked[-1].request

    def close(self) -> bool:
        return True


class FakeBridge(EngineBridge):
    """Its requests end as real ones do: when the engine, here the test, settles them."""

    def __init__(self) -> None:
        notebook = _Notebook()
        super().__init__(EngineConfig(Path()), make_engine=lambda _config, _listener: cast(Engine, notebook))
        self.all_asked = notebook.asked
        self._log = notebook.log
        self._growing: tuple[Asked, GrowingReply] | None = None  # the last one

    @property
    def answers(self) -> list[Asked]:
        """The replies that were asked for."""
        return self.asked(self.engine.chat.answer)

    @property
    def orders(self) -> list[Any]:
        return [each.args[0] for each in self.answers]

    def asked(self, method: Any) -> list[Asked]:
        """What was asked of this method, such as `bridge.engine.hub.search`, first to last."""
        return [each for each in self.all_asked if each.method == method]

    def last(self, method: Any) -> Asked:
        return self.asked(method)[-1]

    @property
    def calls(self) -> list[tuple[Any, ...]]:
        """The names and the arguments of all methods that were asked for."""
        return [each.call for each in self.all_asked]

    def asked_now(self) -> list[Asked]:
        """What was asked since `take`."""
        return [*self._log]

    def take(self) -> list[Any]:
        """Everything since the last time: the name of each method that was asked for with its arguments; for replies,
        the order alone."""
        taken = [each.taken for each in self._log]
        self._log.clear()
        return taken

    @property
    def loads(self) -> list[LoadOrder]:
        """The targets that were asked for."""
        return [each.args[0] for each in self.loading]

    @property
    def loading(self) -> list[Asked]:
        return self.asked(self.engine.target.load)

    def refuse(self, error: Exception | str, load: LoadOrder | None = None) -> None:
        """The target of `load`, or the last one, cannot be loaded, as the engine says it."""
        loads = self.loading
        asked = loads[-1] if load is None else next(each for each in reversed(loads) if each.args[0] is load)
        if not asked.request.signal.is_set():
            kind = NotPossible if isinstance(error, str) else type(error)
            self.tell(TargetRefused(asked.args[0], str(error), kind))
        asked.fail(error)

    def tell(self, *events: Event) -> None:
        """Sends events as the engine would, and what it tells of the last reply, and lets the interface handle them."""
        for event in events:
            if isinstance(event, Step):
                self._take_step(event)
            else:
                self._receive(event)
        QCoreApplication.processEvents()

    def _take_step(self, step: Step) -> None:
        asked = self.answers[-1]
        match step:
            case GrowingStep():
                if self._growing is None or self._growing[0] is not asked or isinstance(step, Began):
                    self._growing = asked, GrowingReply(asked.progress, step.conversation_id, step.prompt_id)
                step.feed(self._growing[1])
            case Answered():
                asked.request.future.set_result(None)
            case Broke(error):
                asked.request.future.set_exception(error)

    def finish_all(self) -> None:
        """What was asked of services, also because of that, ends without an answer, unless it outlasts the window."""
        while waiting := [each for each in self._requests if not each.outlasts_window]:
            for request in waiting:
                request.is_dropped = True
            ended = {request.signal for request in waiting}
            for asked in self.all_asked:
                if asked.request.signal in ended and not asked.request.future.done():
                    asked.answer()
