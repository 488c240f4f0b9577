"""Tools in the terminal: the person there is asked before anything is called."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import engine
from engine.values.events import Event, ToolServerChanged
from engine.values.tools import Outcome, ServerState, Tool, ToolCall, ToolResult

_LOOK_S = 0.05
_MOST_SHOWN = 2_000  # characters of a call's arguments


class AskingDesk:
    """Asks at the terminal, once for each call, unless the answer was given before."""

    def __init__(self, always: Iterable[str], stop: engine.StopSignal, tells: bool) -> None:
        """`always`: names of tools, or SERVER/TOOL, that may be called without being asked for. `tells`: what
        happens, on standard error."""
        self._always = set(always)
        self._stop = stop
        self._tells = tells
        self.results: list[tuple[ToolResult, str]] = []

    def allows(self, tool: Tool, call: ToolCall) -> bool:
        if {tool.name, f"{tool.server}/{tool.name}"} & self._always:
            return True
        if not sys.stdin.isatty():
            self._say(f"{tool.name} was not called, because nobody can be asked; --yes-to {tool.name} allows it.")
            return False
        more = "…" if len(call.arguments) > _MOST_SHOWN else ""
        self._say(f"\nThe model wants to call {tool.name} of {tool.server} with {call.arguments[:_MOST_SHOWN]}{more}")
        self._say("Allow it? [y]es, [a]lways while this runs, [n]o: ", end="")
        answer = self._line().strip().lower()
        if answer in ("a", "always"):
            self._always.add(f"{tool.server}/{tool.name}")
        return answer in ("y", "yes", "a", "always")

    def on_result(self, result: ToolResult, text: str) -> None:
        self.results.append((result, text))
        if self._tells:
            self._say(f"({result.call.tool}: {'done' if result.outcome is Outcome.DONE else text[:200]})")

    def on_event(self, event: Event) -> None:
        if isinstance(event, ToolServerChanged) and event.state is ServerState.FAILED:
            self._say(event.sentence)

    def _say(self, text: str, end: str = "\n") -> None:
        print(text, file=sys.stderr, end=end, flush=True)

    def _line(self) -> str:
        """The typed line; empty when Ctrl+C ends the wait."""
        typed: queue.Queue[str] = queue.Queue()
        threading.Thread(target=lambda: typed.put(sys.stdin.readline()), daemon=True).start()
        while not self._stop.is_set():
            try:
                return typed.get(timeout=_LOOK_S)
            except queue.Empty:
                continue
        return ""


@contextmanager
def opened_desk(
    path: Path | None, always: Iterable[str], stop: engine.StopSignal, tells: bool
) -> Iterator[tuple[AskingDesk, engine.ToolDesk] | None]:
    """None without a file. Raises FileUnusable, SettingInvalid and Cancelled."""
    if path is None:
        yield None
        return
    asking = AskingDesk(always, stop, tells)
    with engine.open_tool_host(path, asking.on_event) as host:
        tools = engine.list_tools(host, stop)
        yield asking, engine.ToolDesk(host, tools, asking.allows, asking.on_result)
