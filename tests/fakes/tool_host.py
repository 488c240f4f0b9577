"""A host of tools without servers: its tools are functions."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.backend.tools.interface import ServerUnusable, ToolAnswer
from engine.values.errors import Cancelled
from engine.values.events import Listener, ToolServerChanged
from engine.values.stop_signal import StopSignal
from engine.values.tools import Outcome, ServerState, Tool, ToolServer

WEATHER = ToolServer("weather", command="weather-server", args=("--offline",))
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FORECAST = Tool("weather", "forecast", "The weather of a city.", json.dumps(SCHEMA))


def _forecast(arguments: Mapping[str, Any]) -> str:
    return f"Rain in {arguments.get('city', 'nowhere')}."


class FakeToolHost:
    """Implements `tools.interface.ToolHost`. Where `waits` is set, a call goes on only when it is stopped, or
    when `go_on` is set."""

    def __init__(
        self,
        tools: Mapping[Tool, Callable[[Mapping[str, Any]], str]] | None = None,
        emit: Listener = lambda _event: None,
    ) -> None:
        self._tools = {FORECAST: _forecast} if tools is None else dict(tools)
        self.emit = emit
        self.servers: tuple[ToolServer, ...] = ()
        self.calls: list[tuple[Tool, str]] = []  # that were carried out
        self.failing: dict[str, str] = {}  # servers, with why
        self.running: set[str] = set()
        self.waits, self.is_waiting, self.go_on = False, threading.Event(), threading.Event()
        self.is_closed = False

    def use(self, servers: Sequence[ToolServer]) -> None:
        self.servers = tuple(servers)

    def tools_of(self, server: str, stop: StopSignal) -> tuple[Tool, ...]:
        if stop.is_set():
            raise Cancelled("Starting the server was cancelled.")
        if server not in self.running:
            self.emit(ToolServerChanged(server, ServerState.STARTING))
        if server in self.failing:
            self.emit(ToolServerChanged(server, ServerState.FAILED, self.failing[server]))
            raise ServerUnusable(self.failing[server])
        tools = tuple(each for each in self._tools if each.server == server)
        if server not in self.running:
            self.running.add(server)
            self.emit(ToolServerChanged(server, ServerState.READY))
        return tools

    def call(self, tool: Tool, arguments: str, stop: StopSignal) -> ToolAnswer:
        self.calls.append((tool, arguments))
        self.is_waiting.set()
        while self.waits and not self.go_on.wait(0.01):
            if stop.is_set():
                return ToolAnswer("You were stopped.", Outcome.STOPPED)
        try:
            return ToolAnswer(self._tools[tool](json.loads(arguments)), seconds=0.01)
        except Exception as error:
            return ToolAnswer(str(error), Outcome.FAILED)

    def end(self, servers: Sequence[str] | None = None) -> None:
        for each in [*self.running] if servers is None else servers:
            self.running.discard(each)
            self.emit(ToolServerChanged(each, ServerState.ENDED))

    def close(self) -> None:
        self.is_closed = True
