"""The engine's threads, and which of them carries out which command."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from engine.backend.precedence import Precedence
from engine.backend.worker import Worker
from engine.doors import Doors
from engine.factory import Services
from engine.values.commands import (
    Answer,
    ChatCommand,
    Command,
    ContinueReply,
    EditPrompt,
    Embed,
    Regenerate,
    ReplyCommand,
    Send,
)
from engine.values.config import EngineConfig
from engine.values.events import Event, Listener, ReplyWaits
from engine.values.memory import settle_memory
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
_OCCUPIED_BY: dict[object, str] = {  # what a reply waits for on the chat thread
    Answer: template("Waiting for another program"),
    Embed: template("Waiting for another program"),
}


class Engine(Doors):
    """A listener, and a thread for each kind of work that must not wait for the others: see `doors.py`.

    The threads call `listener`. Nothing slow happens in the constructor or in `post`.
    """

    def __init__(self, config: EngineConfig, listener: Listener) -> None:
        settle_memory()
        self._listener = listener
        precedence = Precedence(
            lambda: self._workers["chat"].waiting,
            lambda stop: self._workers["chat"].carry_out_now(stop),  # noqa: PLW0108
        )
        self._services = Services(config, self._tell, self.post, self.ask, self, precedence)
        self._workers = {
            name: Worker(
                f"slipstream-{name}",
                self._handle,
                self._tell,
                on_end=self._services.close_chat if name == "chat" else lambda: None,
                is_owed=_is_owed,
                on_posted=precedence.note if name == "chat" else lambda _command: None,
            )
            for name in (*_STORE_THREADS, *_NETWORK_THREADS)
        }
        for worker in self._workers.values():
            worker.start()
        super().__init__(self._services)
        self._occupying: dict[object, str] = {
            **_OCCUPIED_BY,
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
        worker.post(Call(method, args, kwargs, request, progress), request.signal)
        return request

    def post(self, command: Command) -> StopSignal:
        """Has the command carried out. Setting the returned signal ends it early; an event then says how far it
        came."""
        worker = self._workers["chat"]
        if isinstance(command, ReplyCommand) and (words := self._occupied_by()):
            return self._post_waiting(command, worker, say(words))
        return worker.post(command)

    def _occupied_by(self) -> str:
        """Why a reply cannot begin now; empty where it can, or where nothing may be stored before its turn."""
        unfinished = self._workers["chat"].unfinished
        asked = (each.method if isinstance(each, Call) else type(each) for each in unfinished)
        occupied = [self._occupying[each] for each in asked if each in self._occupying]
        return occupied[0] if occupied and all(occupied) else ""

    def _post_waiting(self, command: ReplyCommand, worker: Worker, words: str) -> StopSignal:
        """What the user has written is stored first."""
        stop = worker.signal()
        match command:
            case Send() | EditPrompt():
                self.ask(self.ahead.keep, command, stop, words)
            case Regenerate(conversation_id) | ContinueReply(conversation_id):
                self._tell(ReplyWaits(conversation_id, words))
        return worker.post(command, stop)

    def _tell(self, event: Event) -> None:
        if not self._services.hosting.hear(event):
            self._listener(event)

    def _handle(self, command: Command, stop: StopSignal) -> None:
        """Waits first for changes of the store that were asked for before."""
        writing = self._workers["writing"]
        if isinstance(command, Call):
            door = command.method.door
            if door.thread in ("chat", "store"):
                writing.settle(stop, timeout_s=_SETTLING_S)
            with self._services.at_work(door):
                command.carry_out()
            return
        if isinstance(command, ReplyCommand):
            writing.settle(StopSignal(), self.ahead.keep)  # also where it is stopped: it is not to be stored twice
            writing.settle(stop, self.editor.change)
        writing.settle(stop, timeout_s=_SETTLING_S)
        assert isinstance(command, ChatCommand)
        self._services.handle(command, stop)

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


def _is_owed(command: Command) -> bool:
    return isinstance(command, Call) and command.method.door.is_owed
