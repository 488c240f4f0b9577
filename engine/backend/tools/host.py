"""Talks to the process that talks to tool servers.

Whatever a server does, it does to that process: it hangs, is flooded or dies there. Each question has a deadline, and
where the process itself does not answer by then, it is killed with all servers, and started again when one is used
next."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import psutil

from engine.backend.tools.interface import ServerUnusable, ToolAnswer
from engine.backend.tools.left_behind import is_over, kill_all, marked, with_all_below
from engine.speculation.model.apart.child import Limits, begin_child
from engine.speculation.model.chat.tool_format import parsed_object
from engine.values.errors import Cancelled
from engine.values.events import Listener, ToolServerChanged
from engine.values.sentences import say, template
from engine.values.stop_signal import StopSignal
from engine.values.tools import Outcome, ServerState, Tool, ToolServer

START_S = 60.0  # until a server has said what it offers: some are downloaded first
CALL_S = 120.0
_GRACE_S = 15.0  # for the process itself, whose libraries take seconds to load on a slow machine
_LOOK_S = 0.05  # between two looks at the stop signal, which wakes no thread
_END_S = 3.0
_MOST_ANSWER = 64 << 20  # bytes of the process's answers, which are bounded there
_STOPPED = "The user stopped this before it was done."  # shown to the model
_MORE = template("{sentence} It reported: {detail}")
_SENTENCES = {
    "not_found": template(
        "{server} cannot be started: there is no program {detail}. Install it, or enter its full path."
    ),
    "no_folder": template("{server} cannot be started: there is no folder {detail}."),
    "not_started": template("{server} cannot be started ({detail})."),
    "no_start": template("{server} did not say what it offers within a minute of starting; it was stopped."),
    "not_reached": template("{server} cannot be reached ({detail}); check its address and the network."),
    "not_authorized": template("{server} denies access ({detail}); check the headers in its settings."),
    "ended": template("{server} stopped by itself; it starts again when it is next used."),
    "floods": template("{server} sent more than it may and was stopped; it starts again when it is next used."),
    "hangs": template("{server} did not answer in time and was stopped; it starts again when it is next used."),
    "unreadable": template("{server} sent something that is not a message of the protocol and was stopped."),
    "asks": template("{server} asked for more than this call, which is not allowed."),
    "failed": template("{server} failed ({detail})."),
}
_SAYS_MORE = ("ended", "no_start")


@dataclass(eq=False, slots=True)
class _Question:
    is_answered: bool = False
    answer: Any = None
    kind: str = ""  # of what went wrong; empty: nothing did
    detail: str = ""


@dataclass(eq=False, slots=True)
class _Process:
    """One that runs, and the questions that it has not answered."""

    process: BaseProcess
    pipe: Connection
    mark: str  # of all that its servers start
    waiting: dict[int, _Question] = field(default_factory=dict)
    tools: dict[str, tuple[Tool, ...]] = field(default_factory=dict)  # of the servers that run, by their names
    servers: dict[str, psutil.Process] = field(default_factory=dict)  # that it has started, by their names
    is_over: bool = False


class ServerHost:
    """Implements `tools.interface.ToolHost`."""

    def __init__(
        self,
        emit: Listener,
        fill: Callable[[ToolServer], ToolServer] = lambda server: server,
        start_s: float = START_S,
        call_s: float = CALL_S,
        grace_s: float = _GRACE_S,
    ) -> None:
        """`fill`: gives a server that is about to be used its keys, and raises ServerUnusable."""
        self._emit = emit
        self._fill = fill
        self._start_s, self._call_s, self._grace_s = start_s, call_s, grace_s
        self._servers: tuple[ToolServer, ...] = ()
        self._changed = threading.Condition()
        self._numbers = itertools.count()
        self._running: _Process | None = None
        self._is_closed = False

    @property
    def servers(self) -> tuple[ToolServer, ...]:
        return self._servers

    def use(self, servers: Sequence[ToolServer]) -> None:
        before, self._servers = self._servers, tuple(servers)
        gone = [each.name for each in before if each not in self._servers or not each.is_on]
        self._end([each for each in before if each.name in gone])

    def tools_of(self, server: str, stop: StopSignal) -> tuple[Tool, ...]:
        found = self._server(server)
        running = self._running
        if running is not None and not running.is_over and (known := running.tools.get(server)) is not None:
            return known
        self._emit(ToolServerChanged(server, ServerState.STARTING))
        question = None
        try:
            with suppress(Cancelled):
                asked = {"do": "list", "server": _written(self._filled(found, stop))}
                question = self._asked(asked, stop, self._start_s)
        except ServerUnusable as error:
            self._emit(ToolServerChanged(server, ServerState.FAILED, str(error)))
            raise
        if question is None:
            self._emit(ToolServerChanged(server, ServerState.ENDED))
            raise Cancelled("Starting {server} was cancelled.", server=server)
        if question.kind:
            sentence = _sentence(server, question)
            self._emit(ToolServerChanged(server, ServerState.FAILED, sentence))
            raise ServerUnusable(sentence)
        tools = tuple(Tool(server, **each) for each in question.answer)
        with self._changed:
            if self._running is not None:
                self._running.tools[server] = tools
        self._emit(ToolServerChanged(server, ServerState.READY))
        return tools

    def call(self, tool: Tool, arguments: str, stop: StopSignal) -> ToolAnswer:
        start = time.monotonic()
        try:
            server = self._server(tool.server)
            offered = self.tools_of(tool.server, stop)
            server = self._filled(server, stop)
        except ServerUnusable as error:
            return ToolAnswer(str(error), Outcome.FAILED, seconds=time.monotonic() - start)
        except Cancelled:
            return ToolAnswer(_STOPPED, Outcome.STOPPED, seconds=time.monotonic() - start)
        if tool not in offered:  # the user saw another one, or one that is gone
            is_changed = any(each.name == tool.name for each in offered)
            changed = f"The tool {tool.name} of {tool.server} has changed; ask for this once more."
            gone = f"{tool.server} does not offer {tool.name} any more."
            return ToolAnswer(changed if is_changed else gone, Outcome.FAILED)
        asked = {"do": "call", "server": _written(server), "tool": tool.name, "seconds": self._call_s}
        asked["arguments"] = parsed_object(arguments)
        question = self._asked(asked, stop, self._call_s)
        seconds = time.monotonic() - start
        if question is None:
            return ToolAnswer(_STOPPED, Outcome.STOPPED, seconds=seconds)
        if question.kind:
            outcome = Outcome.TIMED_OUT if question.kind == "hangs" else Outcome.FAILED
            return ToolAnswer(_sentence(tool.server, question), outcome, seconds=seconds)
        found = question.answer
        outcome = Outcome.FAILED if found["is_error"] else Outcome.DONE
        return ToolAnswer(found["text"], outcome, found["num_left_out"], seconds)

    def end(self, servers: Sequence[str] | None = None) -> None:
        self._end([each for each in self._servers if servers is None or each.name in servers])

    def close(self) -> None:
        """Callers that are waiting learn that it has ended."""
        with self._changed:
            self._is_closed = True
            running = self._running
        if running is not None:
            with suppress(OSError, ValueError):
                running.pipe.send_bytes(json.dumps({"do": "close"}).encode())  # it ends its servers, and then itself
            threading.Thread(target=self._kill, args=(running, _END_S), daemon=True).start()

    def _filled(self, server: ToolServer, stop: StopSignal) -> ToolServer:
        """Fills in its keys. Raises ServerUnusable, and Cancelled when it is stopped: a keyring may wait for its
        user."""
        filling = Future[ToolServer]()

        def fill() -> None:
            try:
                filling.set_result(self._fill(server))
            except Exception as error:
                filling.set_exception(error)

        threading.Thread(target=fill, name="slipstream-tool-keys", daemon=True).start()
        while not stop.is_set():
            if wait([filling], _LOOK_S).done:
                return filling.result()
        raise Cancelled("Starting {server} was cancelled.", server=server.name)

    def _server(self, name: str) -> ToolServer:
        found = next((each for each in self._servers if each.name == name and each.is_on), None)
        if found is None:
            raise ServerUnusable(f"There is no server {name}, or it is switched off.")
        return found

    def _end(self, servers: Sequence[ToolServer]) -> None:
        running = self._running
        if running is None or running.is_over:
            return
        for each in servers:
            self._asked({"do": "end", "server": _written(each)}, StopSignal(), _END_S)

    def _asked(self, message: dict[str, Any], stop: StopSignal, seconds: float) -> _Question | None:
        """None when it is stopped."""
        question = _Question()
        number = next(self._numbers)
        deadline = time.monotonic() + seconds + self._grace_s
        try:
            running = self._process()
            with self._changed:
                running.waiting[number] = question
            running.pipe.send_bytes(json.dumps({**message, "id": number, "start_s": self._start_s}).encode())
        except (OSError, ValueError) as error:
            question.kind, question.detail = "failed", str(error)
            return question
        with self._changed:
            while not question.is_answered and not running.is_over:
                if stop.is_set() or time.monotonic() > deadline:
                    break
                self._changed.wait(_LOOK_S)
            running.waiting.pop(number, None)
        if question.is_answered:
            return question
        if stop.is_set():
            with suppress(OSError, ValueError):
                running.pipe.send_bytes(json.dumps({"do": "cancel", "id": number}).encode())
            return None
        question.kind = "ended" if running.is_over else "hangs"
        if not running.is_over:
            self._kill(running)
        return question

    def _process(self) -> _Process:
        """The one that runs, or a new one. Raises OSError where none can be started."""
        with self._changed:
            if self._is_closed:
                raise OSError("Slipstream is being closed")
            if self._running is None or self._running.is_over:
                ours, theirs = multiprocessing.Pipe()
                mark = secrets.token_hex(8)
                process = begin_child(_serve, (theirs, mark), Limits(), access=None)  # it starts programs
                theirs.close()
                self._running = _Process(process, ours, mark)
                threading.Thread(
                    target=self._listen, args=(self._running,), name="slipstream-tool-answers", daemon=True
                ).start()
            return self._running

    def _listen(self, running: _Process) -> None:
        try:
            while True:
                self._take(running, json.loads(running.pipe.recv_bytes(_MOST_ANSWER)))
        except (OSError, EOFError, ValueError, TypeError):  # TypeError: closed meanwhile on another thread
            pass
        self._kill(running)
        for name in list(running.tools):
            self._emit(ToolServerChanged(name, ServerState.ENDED))

    def _take(self, running: _Process, message: dict[str, Any]) -> None:
        with self._changed:
            if "id" in message:
                question = running.waiting.get(message["id"])
                if question is not None:
                    question.answer = message.get("answer")
                    question.kind, question.detail = message.get("kind", ""), message.get("detail", "")
                    question.is_answered = True
                    self._changed.notify_all()
                return
            if "process" in message:
                with suppress(psutil.Error):
                    running.servers[message["server"]] = psutil.Process(message["process"])
                return
            was_known = running.tools.pop(message["server"], None) is not None
        if not was_known or message["kind"] == "changed":
            return  # it was never reported as ready, or still is
        question = _Question(kind=message["kind"], detail=message["detail"])
        state = ServerState.FAILED if question.kind else ServerState.ENDED
        sentence = _sentence(message["server"], question) if question.kind else ""
        self._emit(ToolServerChanged(message["server"], state, sentence))

    def _kill(self, running: _Process, after_s: float = 0.0) -> None:
        """Kills everything it has started too, which would not notice by itself if it hangs."""
        with self._changed:
            if running.is_over:
                return
            running.is_over = True
            self._changed.notify_all()
        running.process.join(after_s)
        kill_all(partial(_left_of, running))
        with suppress(OSError):
            running.pipe.close()
        running.process.join(_END_S)


def _left_of(running: _Process) -> list[psutil.Process]:
    """The process itself, and all that it and its servers have started."""
    heads = [each for each in running.servers.values() if each.is_running()]
    with suppress(psutil.Error):
        heads.append(psutil.Process(running.process.pid))
    below = [one for each in heads for one in with_all_below(each)]
    return [*(each for each in below if not is_over(each)), *marked(lambda mark: mark.startswith(running.mark))]


def _written(server: ToolServer) -> dict[str, Any]:
    return {
        "name": server.name,
        "command": server.command,
        "args": [*server.args],
        "env": [list(each) for each in server.env],
        "folder": server.folder,
        "url": server.url,
        "headers": [list(each) for each in server.headers],
    }


def _sentence(server: str, question: _Question) -> str:
    if question.kind == "says":
        return question.detail
    told = say(_SENTENCES.get(question.kind, _SENTENCES["failed"]), server=server, detail=question.detail)
    if question.kind in _SAYS_MORE and question.detail:
        return say(_MORE, sentence=told, detail=question.detail)
    return told


def _serve(pipe: Connection, mark: str) -> None:
    """Runs in the process of its own, where `mcp` is imported."""
    from engine.backend.tools.apart.serving import serve

    serve(pipe, mark)
