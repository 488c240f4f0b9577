"""The engine's threads, and what each of them waits for before it calls a service."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from engine.backend.precedence import Precedence
from engine.backend.worker import Worker
from engine.doors import Doors
from engine.factory import Services
from engine.values.config import EngineConfig
from engine.values.events import Listener
from engine.values.growing_reply import ReplySoFar
from engine.values.memory import settle_memory
from engine.values.orders import EditPrompt, ReplyOrder, Send
from engine.values.requests import Call, Method, Request, ignore
from engine.values.sentences import say, template
from engine.values.stop_signal import StopSignal

_P = ParamSpec("_P")
_T = TypeVar("_T")

_CLOSING_PATIENCE_S = 1.8
_SETTLING_S = 0.5  # what is written for longer, because another program has locked the store, is not waited for

_STORE_THREADS = (
    "chat",
    "store",
    "writing",
    "library",
    "tuning",
    "personal",
    "files",
    "erasing",
    "caching",
    "tools",
    "answers",
)
_NETWORK_THREADS = ("hub", "search", "download", "server", "servers")


class Engine(Doors):
    """A listener, and a thread for each kind of work that must not wait for the others: see `doors.py`.

    The threads call `listener`. Nothing slow happens in the constructor, in `ask` or in `begin`.
    """

    def __init__(self, config: EngineConfig, listener: Listener) -> None:
        settle_memory()
        precedence = Precedence(
            lambda: self._workers["chat"].waiting,
            lambda stop: self._workers["chat"].carry_out_now(stop),  # noqa: PLW0108
        )
        self._services = Services(config, listener, self.begin, self, precedence)
        self._workers = {
            name: Worker(
                f"slipstream-{name}",
                self._carry_out,
                on_end=self._services.close_chat if name == "chat" else lambda: None,
                on_posted=precedence.note if name == "chat" else ignore,
            )
            for name in (*_STORE_THREADS, *_NETWORK_THREADS)
        }
        for worker in self._workers.values():
            worker.start()
        super().__init__(self._services)
        self._answer: object = self.chat.answer
        self._occupying: dict[object, str] = {  # what a reply waits for on the chat thread, and says so
            self.answering.answer: template("Waiting for another program"),
            self.embedding.embed: template("Waiting for another program"),
            self.target.load: template("Waiting until the model is loaded"),
            self.target.use_drafter: template("Waiting until the drafter is ready"),
            self.trials.compare: template("Waiting for the comparison"),
            self.trials.measure_machine: template("Waiting until this computer is measured"),
            self.forgetting.forget_everything: "",  # nothing may be stored before its turn
        }

    def ask(self, method: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> Request[_T]:
        """Has a service's thread call the method, such as `engine.hub.search`."""
        return self.begin(method, args, kwargs)

    def begin(
        self,
        method: Callable[..., _T],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        progress: Callable[[Any], object] = ignore,
    ) -> Request[_T]:
        """Does as `ask`, and calls `progress` on the service's thread."""
        assert isinstance(method, Method)
        door, worker = method.door, self._workers[method.door.thread]
        if door.is_newest_only:
            worker.stop(door)
        for each in door.ends:
            assert isinstance(each, Method)
            self._workers[each.door.thread].stop(each)
        request = Request[_T](worker.signal())
        if method == self._answer and (words := self._occupied_by()):
            self._keep_first(args[0], request.signal, words, progress)
        worker.post(Call(method, args, kwargs, request, progress))
        return request

    def _occupied_by(self) -> str:
        """Why a reply cannot begin now; empty where it can, or where nothing may be stored before its turn."""
        asked = (each.method for each in self._workers["chat"].unfinished)
        occupied = [self._occupying[each] for each in asked if each in self._occupying]
        return occupied[0] if occupied and all(occupied) else ""

    def _keep_first(
        self, order: ReplyOrder, stop: StopSignal, words: str, progress: Callable[[ReplySoFar], object]
    ) -> None:
        """Stores what the user has written, since its reply has to wait."""
        if isinstance(order, Send | EditPrompt):
            self.ask(self.ahead.keep, order, stop, say(words), progress)
        else:
            progress(ReplySoFar(order.conversation_id, waits_for=say(words)))

    def _carry_out(self, call: Call) -> None:
        """Waits first for changes of the store that were asked for before."""
        writing, stop, door = self._workers["writing"], call.request.signal, call.method.door
        if call.method == self._answer:
            writing.settle(StopSignal(), self.ahead.keep)  # also if it is stopped: it is not to be stored twice
            writing.settle(stop, self.editor.change)
        if door.thread in ("chat", "store"):
            writing.settle(stop, timeout_s=_SETTLING_S)
        with self._services.at_work(door):
            call.carry_out()

    def close(self) -> bool:
        """Ends everything within two seconds. False if a thread was still busy then (it dies with the process)."""
        self._services.end_learning()
        self._services.end_waiting()
        self._services.end_tools()
        self._services.hosting.close()
        for worker in self._workers.values():
            worker.end()
        deadline = time.monotonic() + _CLOSING_PATIENCE_S
        ended = [self._workers[name].join(deadline - time.monotonic()) for name in _STORE_THREADS]
        self._services.acquit_target()
        ended.append(all(ended) and self._services.close_store(deadline - time.monotonic()))
        # A network may be silent for longer.
        ended += [self._workers[name].join(deadline - time.monotonic()) for name in _NETWORK_THREADS]
        return all(ended)
