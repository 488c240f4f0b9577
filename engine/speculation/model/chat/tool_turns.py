"""Turns that call tools, and their results, for a chat template that knows them, or one that does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from engine.speculation.model.chat.thinking import ThinkingStyle
from engine.speculation.model.chat.tool_format import ToolFormat
from engine.speculation.model.prompt_text import PromptText
from engine.values.conversations import ChatTurn, Role
from engine.values.tools import Tool, ToolCall, told_names


def num_said_in(turn: ChatTurn) -> int:
    return len(turn.text) + len(turn.thought) + sum(len(each.arguments) for each in turn.calls)


def num_told_of(tools: Sequence[Tool]) -> int:
    return sum(len(each.name) + len(each.description) + len(each.schema) for each in tools)


def is_plain(turn: ChatTurn) -> bool:
    return not turn.calls and turn.role is not Role.TOOL


def as_plain(turns: Sequence[ChatTurn]) -> list[ChatTurn]:
    """The turns for a target that knows no tools: what was called, and what came of it, as text."""
    plain: list[ChatTurn] = []
    for turn in turns:
        if turn.role is Role.TOOL:
            name = "a tool" if turn.answers is None else turn.answers.tool
            plain.append(ChatTurn(Role.USER, f"[{name} answered: {turn.text}]"))
        elif turn.calls:
            called = "\n".join(f"[Called {each.tool} with {each.arguments}]" for each in turn.calls)
            plain.append(replace(turn, text="\n\n".join(filter(None, (turn.text, called))), calls=()))
        else:
            plain.append(turn)
    return plain


def messages_of(
    turns: Sequence[ChatTurn], thinking: ThinkingStyle, form: ToolFormat, tools: Sequence[Tool]
) -> list[dict[str, Any]]:
    """The messages as the template sees them."""
    told = {(tool.server, tool.name): name for name, tool in told_names(tools).items()}
    messages: list[dict[str, Any]] = []
    for turn in turns if form.takes_many else _one_by_one(turns):
        message: dict[str, Any] = dict(thinking.message(turn))
        if turn.calls:
            names = {each: _name(each, told) for each in turn.calls}
            message |= form.message(message["content"], turn.calls, names)
        if turn.answers is not None:
            message |= {"tool_call_id": turn.answers.id, "name": PromptText(_name(turn.answers, told))}
        messages.append(message)
    return messages


def _name(call: ToolCall, told: dict[tuple[str, str], str]) -> str:
    return told.get((call.server, call.tool), call.tool)


def _one_by_one(turns: Sequence[ChatTurn]) -> Iterator[ChatTurn]:
    """Each call as a separate reply, followed by its result."""
    waiting: list[ChatTurn] = []
    for turn in turns:
        if len(turn.calls) > 1:
            waiting = [
                replace(turn, calls=(call,), text=turn.text if not place else "", thought="" if place else turn.thought)
                for place, call in enumerate(turn.calls)
            ]
            yield waiting.pop(0)
        elif turn.role is Role.TOOL:
            found = next((each for each in waiting if each.calls[0] == turn.answers), None)
            if found is not None:
                waiting.remove(found)
                yield found
            yield turn
        else:
            yield turn
