"""Tools on the command line: servers of a file, and a chat that calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.backend.remote.keys import Keys
from engine.backend.tools.host import ServerHost
from engine.backend.tools.interface import ServerUnusable, ToolHost
from engine.backend.tools.keys import ToolKeys
from engine.backend.tools.servers import MOST_BYTES, read_tool_servers
from engine.speculation.replies.writing import AnyWriter, Reply
from engine.values.config import ReplySettings
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import FileUnusable, NotPossible
from engine.values.events import Listener
from engine.values.growing_reply import GrowingReply, ReplySoFar
from engine.values.replies import joined_thoughts
from engine.values.requests import ignore
from engine.values.stop_signal import StopSignal
from engine.values.tools import MOST_TURNS, Outcome, Tool, ToolCall, ToolResult

_REFUSED = "The user does not allow this call. Do not try it again; answer without it."
_MOST_RESULT = 20_000  # characters


@dataclass(frozen=True, slots=True)
class ToolDesk:
    """Carries out calls, asks the user, and reports results."""

    host: ToolHost
    tools: tuple[Tool, ...]
    allows: Callable[[Tool, ToolCall], bool]  # asks the user, who may take long
    on_result: Callable[[ToolResult, str], None]


@contextmanager
def open_tool_host(path: Path, emit: Listener) -> Iterator[ToolHost]:
    """Starts none of the servers in the file. Raises FileUnusable and SettingInvalid."""
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise FileUnusable(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    host = ServerHost(emit, ToolKeys(Keys()).filled)
    try:
        host.use(read_tool_servers(text))
        yield host
    finally:
        host.close()


def list_tools(host: ToolHost, stop: StopSignal) -> tuple[Tool, ...]:
    """The tools of all servers that are on; one that fails is left out, and its host reports why. Raises Cancelled."""
    found: list[Tool] = []
    for server in host.servers:
        try:
            tools = host.tools_of(server.name, stop) if server.is_on else ()
        except ServerUnusable:
            continue
        found += [each for each in tools if each.name not in server.left_out]
    return tuple(found)


def answer(
    writer: AnyWriter,
    turns: Sequence[ChatTurn],
    settings: ReplySettings,
    stop: StopSignal,
    progress: Callable[[ReplySoFar], object] = ignore,
    desk: ToolDesk | None = None,
) -> Reply:
    """The last reply to these turns, after as many calls as it takes. Raises NotPossible for a target that cannot use
    tools, and what preparing a reply raises."""
    tools = () if desk is None else desk.tools
    if tools and not writer.calls_tools:
        raise NotPossible(f"{writer.target_name} cannot use tools: the chat template inside it knows none.")
    told = list(turns)
    for _ in range(MOST_TURNS):
        prepared = writer.prepare(told, thinks=settings.asks_to_think, tools=tools)
        reply = writer.write(prepared, settings, stop, GrowingReply(progress))
        if desk is None or not reply.calls or stop.is_set() or reply.failure is not None:
            break
        told.append(ChatTurn(Role.ASSISTANT, reply.text, joined_thoughts(reply.thoughts), calls=reply.calls))
        told += [_carried_out(call, desk, stop) for call in reply.calls]
    return reply


def _carried_out(call: ToolCall, desk: ToolDesk, stop: StopSignal) -> ChatTurn:
    tool = next((each for each in desk.tools if (each.server, each.name) == (call.server, call.tool)), None)
    if tool is None:
        result, text = ToolResult(call, Outcome.FAILED), f"There is no tool called {call.tool}."
    elif not desk.allows(tool, call):
        result, text = ToolResult(call, Outcome.REFUSED), _REFUSED
    else:
        answered = desk.host.call(tool, call.arguments, stop)
        num_left_out = answered.num_left_out + max(0, len(answered.text) - _MOST_RESULT)
        text = answered.text[:_MOST_RESULT]
        text = f"{text}\n[{num_left_out:,} more characters are left out.]" if num_left_out else text
        result = ToolResult(call, answered.outcome, answered.seconds, num_left_out)
    desk.on_result(result, text)
    return ChatTurn(Role.TOOL, text, answers=call)
