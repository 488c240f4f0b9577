"""The turns of a conversation as a chat template takes them. Templates refuse, or leave out without a word, system
texts that come late, calls without a result, and results without a call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from engine.speculation.model.chat.thinking import ThinkingStyle
from engine.speculation.model.chat.tool_format import ToolFormat, description_of, spelled
from engine.speculation.model.prompt_text import PromptText
from engine.values.conversations import ChatTurn, Role
from engine.values.tools import UNDONE, Tool, ToolCall, told_names


def tellings(turns: Sequence[ChatTurn]) -> Iterator[list[ChatTurn]]:
    """The conversation in forms of which a template may take one, the most faithful first: calls as calls, those that
    were broken off as text, or all of them; and system texts where they stand, at the beginning, or in the first
    prompt, for models that know no system role."""
    known: list[list[ChatTurn]] = []
    for told in _calls_told(turns):
        for form in (_joined(told), *_systems_told(told)):
            if form not in known:
                known.append(form)
                yield form


def _calls_told(turns: Sequence[ChatTurn]) -> Iterator[list[ChatTurn]]:
    whole = [*_with_results(turns)]
    yield whole
    if not all(map(is_plain, whole)):
        yield [*_broken_off_as_text(whole)]
        yield as_plain(whole)


def _systems_told(turns: Sequence[ChatTurn]) -> Iterator[list[ChatTurn]]:
    system = "\n\n".join(turn.text for turn in turns if turn.role is Role.SYSTEM)
    if not system:
        return
    others = _joined([turn for turn in turns if turn.role is not Role.SYSTEM])
    yield [ChatTurn(Role.SYSTEM, system), *others]
    place = next((place for place, turn in enumerate(others) if turn.role is Role.USER), None)
    if place is not None:
        others[place] = replace(others[place], text=f"{system}\n\n{others[place].text}")
    yield others


def _with_results(turns: Sequence[ChatTurn]) -> Iterator[ChatTurn]:
    """The turns with a result for each call, and a call for each result: a call without one was stopped, and a result
    without one is told as text."""
    waiting: list[ToolCall] = []
    for turn in turns:
        if turn.role is Role.TOOL and waiting:  # the id may be another one, or be missing
            call = turn.answers if turn.answers in waiting else waiting[0]
            assert call is not None
            waiting.remove(call)
            yield replace(turn, answers=call)
            continue
        yield from (_undone(call) for call in waiting)
        waiting = [*turn.calls]
        yield from as_plain([turn]) if turn.role is Role.TOOL else (turn,)
    if turns and turns[-1].role is Role.TOOL:
        yield from (_undone(call) for call in waiting)


def _undone(call: ToolCall) -> ChatTurn:
    return ChatTurn(Role.TOOL, UNDONE, answers=call)


def _broken_off_as_text(turns: Sequence[ChatTurn]) -> Iterator[ChatTurn]:
    """The turns with calls as text where no reply follows their results: some templates insist on one."""
    groups = [(is_call, [*group]) for is_call, group in groupby(turns, lambda turn: not is_plain(turn))]
    for place, (is_call, group) in enumerate(groups):
        follows = groups[place + 1][1][0].role if place + 1 < len(groups) else None
        yield from as_plain(group) if is_call and follows is Role.USER else group


def _joined(turns: Sequence[ChatTurn]) -> list[ChatTurn]:
    """Joins adjacent turns of one role: many templates insist on alternation, and a prompt may lack its reply."""
    joined: list[ChatTurn] = []
    for turn in turns:
        if joined and joined[-1].role is turn.role and is_plain(joined[-1]) and is_plain(turn):
            before = joined[-1]
            thought = "\n\n".join(filter(None, (before.thought, turn.thought)))
            text = f"{before.text}\n\n{turn.text}"
            joined[-1] = ChatTurn(turn.role, text, thought, (*before.pictures, *turn.pictures))
        else:
            joined.append(turn)
    return joined


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


def with_described(turns: Sequence[ChatTurn], tools: Sequence[Tool]) -> list[ChatTurn]:
    """The same with tools that it may call, described in its system text: see `tool_format.DESCRIBED`."""
    told = {(tool.server, tool.name): name for name, tool in told_names(tools).items()}
    system = "\n\n".join(turn.text for turn in turns[:1] if turn.role is Role.SYSTEM)
    described = [ChatTurn(Role.SYSTEM, "\n\n".join(filter(None, (system, description_of(tools)))))]
    for turn in turns[1:] if system else turns:
        if turn.role is Role.TOOL:
            described.append(ChatTurn(Role.USER, f"<tool_response>\n{turn.text}\n</tool_response>"))
        elif turn.calls:
            called = [spelled(_name(each, told), each.arguments) for each in turn.calls]
            described.append(replace(turn, text="\n".join(filter(None, (turn.text, *called))), calls=()))
        else:
            described.append(turn)
    return described


def messages_of(
    turns: Sequence[ChatTurn], thinking: ThinkingStyle, form: ToolFormat, tools: Sequence[Tool]
) -> list[dict[str, Any]]:
    told = {(tool.server, tool.name): name for name, tool in told_names(tools).items()}
    messages: list[dict[str, Any]] = []
    turns = turns if form.takes_many else [*_one_by_one(turns)]
    since = max((place for place, turn in enumerate(turns) if turn.role is Role.USER), default=-1)
    for place, turn in enumerate(turns):
        message: dict[str, Any] = dict(thinking.message(turn, place > since))
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
