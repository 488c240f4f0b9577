"""Which tools a reply may call, and what comes of its calls: asked for, carried out, stored."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.backend.chats.asking import Asking
from engine.backend.chats.message_keeper import MessageKeeper
from engine.backend.storage import Repository
from engine.backend.tools.interface import ServerUnusable, ToolAnswer, ToolHost
from engine.speculation.model.interface import PromptReader
from engine.speculation.model.prompt_text import PromptText
from engine.values.conversations import Conversation, Message
from engine.values.errors import MendableError, StoreUnusable
from engine.values.events import Listener, ToolAsked, ToolFinished, ToolsListed, ToolStarted
from engine.values.stop_signal import StopSignal
from engine.values.tools import (
    AllowedTool,
    Outcome,
    Permission,
    Redefined,
    Tool,
    ToolCall,
    ToolDefinition,
    ToolResult,
    ToolServer,
    definition_of,
    told_names,
)

_logger = logging.getLogger("slipstream.tools")

_REFUSED = "The user does not allow this call. Do not try it again; answer without it, or ask the user."
_STOPPED = "The user stopped this before it was done."
_UNKNOWN = "There is no tool called {name}. The tools are: {names}."

_RESULT_PARTS = 4  # of the context: so much of it may one result fill
_LEAST_RESULT = 64  # tokens
_MOST_ANYWHERE = 20_000  # characters
_LONGEST_TOKEN = 16  # characters, about; more of a text need not be tokenized

Fit = Callable[[str], tuple[str, int]]  # a text that a prompt has room for, and how many characters that leaves out


@dataclass(frozen=True)
class Calling:
    _repository: Repository
    _keeper: MessageKeeper
    _host: Callable[[], ToolHost]  # made when a tool is first wanted
    _asking: Asking
    _emit: Listener

    def offered(self, servers: Sequence[str], stop: StopSignal) -> tuple[Tool, ...]:
        """What a reply may call. A server that fails is left out; the host has reported why. Raises Cancelled."""
        found: list[Tool] = []
        for server in self._host().servers if servers else ():
            if server.name not in servers or not server.is_on:
                continue
            try:
                tools = self._host().tools_of(server.name, stop)
            except ServerUnusable:
                continue
            self._emit(ToolsListed(server.name, tools))
            found += [each for each in tools if each.name not in server.left_out]
        return tuple(found)

    def carry_out(
        self,
        conversation: Conversation,
        reply: Message,
        parent: Message,
        calls: Sequence[ToolCall],
        tools: Sequence[Tool],
        fit: Fit,
        stop: StopSignal,
    ) -> list[Message]:
        """The results of these calls of a reply, in their order, below `parent`. Nothing runs that the user does not
        allow, and all of them have a result, also where that is that it was stopped."""
        results: list[Message] = []
        for call in calls:
            result, text = self._result(conversation, reply, call, tools, fit, stop)
            parent = self._keeper.add_result(conversation.summary.id, parent.id, text, result)
            self._emit(ToolFinished(parent, self._keeper.siblings_of(parent)))
            results.append(parent)
        return results

    def _result(
        self,
        conversation: Conversation,
        reply: Message,
        call: ToolCall,
        tools: Sequence[Tool],
        fit: Fit,
        stop: StopSignal,
    ) -> tuple[ToolResult, str]:
        tool = next((each for each in tools if (each.server, each.name) == (call.server, call.tool)), None)
        if stop.is_set():
            return ToolResult(call, Outcome.STOPPED), _STOPPED
        if tool is None:
            names = ", ".join(told_names(tools)) or "none"
            return ToolResult(call, Outcome.FAILED), _UNKNOWN.format(name=call.tool, names=names)
        server = next((each for each in self._host().servers if each.name == tool.server), None)
        if server is None or not server.is_on:
            return ToolResult(call, Outcome.FAILED), f"The server {tool.server} was switched off."
        allowed = self._is_allowed(conversation, reply, call, tool, server, stop)
        if allowed is None:
            return ToolResult(call, Outcome.STOPPED), _STOPPED
        if not allowed:
            return ToolResult(call, Outcome.REFUSED), _REFUSED
        if server not in self._host().servers:  # it was changed while the user was asked, who saw another one
            return ToolResult(call, Outcome.FAILED), f"The server {tool.server} was changed; ask for this once more."
        self._emit(ToolStarted(conversation.summary.id, reply.id, call))
        answer = self._host().call(tool, call.arguments, stop)
        return _told(call, answer, fit)

    def _is_allowed(
        self,
        conversation: Conversation,
        reply: Message,
        call: ToolCall,
        tool: Tool,
        server: ToolServer,
        stop: StopSignal,
    ) -> bool | None:
        """None where it was stopped before the user said so."""
        number = conversation.summary.id
        allowed = AllowedTool(server.name, tool.name, definition_of(server, tool))
        before = self._allowed_before(number, allowed)
        if allowed.definition in before:
            return True
        self._asking.begin(call.id)
        self._emit(ToolAsked(number, reply.id, call, tool, _redefined(before, allowed.definition)))
        answer = self._asking.wait(call.id, stop)
        try:
            if answer is Permission.ALWAYS:
                self._repository.allow_tool(allowed)
            if answer is Permission.CHAT:
                self._repository.allow_tool_in(number, allowed)
        except MendableError as error:  # then it is asked for again
            _logger.warning("what a user allowed was not stored: %s", error)
        return None if answer is None else answer is not Permission.REFUSED

    def _allowed_before(self, conversation_id: int, tool: AllowedTool) -> tuple[ToolDefinition, ...]:
        try:
            return self._repository.allowed_definitions(conversation_id, tool.server, tool.tool)
        except StoreUnusable as error:
            _logger.warning("what a user allowed was not read: %s", error)
            return ()


def _redefined(before: Sequence[ToolDefinition], now: ToolDefinition) -> Redefined | None:
    """Compared with what was allowed last, in this chat if anything was."""
    if not before:
        return None
    last = before[-1]
    new_arguments = tuple(each for each in now.arguments if each not in last.arguments)
    return Redefined(now.changes_since(last), last.description, new_arguments)


def _told(call: ToolCall, answer: ToolAnswer, fit: Fit) -> tuple[ToolResult, str]:
    text, num_left_out = fit(answer.text)
    num_left_out += answer.num_left_out
    if num_left_out:
        text = f"{text}\n[{num_left_out:,} more characters are left out.]"
    return ToolResult(call, answer.outcome, round(answer.seconds, 3), num_left_out), text


def fitted(target: PromptReader, text: str) -> tuple[str, int]:
    """A result, as far as a prompt of this target has room for it, and how many characters are left out."""
    most = max(_LEAST_RESULT, target.limits.context_size // _RESULT_PARTS)
    kept = text[: _LONGEST_TOKEN * most]
    while (num_tokens := len(target.tokenize(PromptText(kept)))) > most:
        kept = kept[: min(len(kept) - 1, len(kept) * most // num_tokens)]
    return kept, len(text) - len(kept)


def fitted_anywhere(text: str) -> tuple[str, int]:
    """`fitted` for a target on a server, whose tokens cannot be counted here: cuts by characters."""
    return text[:_MOST_ANYWHERE], max(0, len(text) - _MOST_ANYWHERE)
