"""Requests of OpenAI's Responses interface: /v1/responses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from engine.backend.server.chat_requests import (
    MOST_TOOLS,
    ChosenTool,
    ImageUrl,
    Wanted,
    checked_turns,
    must_call,
    split_begun,
    tool_of,
)
from engine.backend.server.pictures import PictureReader
from engine.backend.server.refusals import invalid
from engine.backend.server.sampling import (
    Count,
    Lenient,
    Name,
    ResponseFormat,
    SampledRequest,
    Some,
    checked_count,
    checked_sampling,
)
from engine.values.asked import Asked
from engine.values.conversations import ChatTurn, Role
from engine.values.pictures import Picture
from engine.values.tools import Tool, ToolCall

INPUT = "input"  # the one argument of a tool that takes any text
_ANY_TEXT = {"type": "object", "properties": {INPUT: {"type": "string"}}, "required": [INPUT]}


class ItemPart(Lenient):
    type: Name = "input_text"
    text: str | None = None
    refusal: str | None = None
    image_url: ImageUrl | str | None = None


class Item(Lenient):
    type: Name = "message"
    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: str | Some[ItemPart] | None = None
    summary: Some[ItemPart] | None = None
    call_id: Name | None = None
    name: Name | None = None
    arguments: str | None = None
    input: str | None = None
    output: str | Some[ItemPart] | None = None


class OfferedTool(Lenient):
    type: Name = "function"
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Reasoning(Lenient):
    effort: Name | None = None


class TextForm(Lenient):
    format: ResponseFormat | None = None


class ResponsesRequest(SampledRequest):
    input: str | Some[Item] = ""
    instructions: str | None = None
    max_output_tokens: Count | None = None
    tools: Annotated[Some[OfferedTool], Field(max_length=MOST_TOOLS)] | None = None
    tool_choice: Literal["none", "auto", "required"] | ChosenTool | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    reasoning: Reasoning | None = None
    text: TextForm | None = None
    previous_response_id: Name | None = None
    store: bool | None = None
    background: bool | None = None
    conversation: Any = None


async def read_response(
    request: ResponsesRequest, before: Sequence[ChatTurn], client: str, pictures: PictureReader
) -> tuple[Wanted, Sequence[ChatTurn]]:
    """What is asked, and its turns without the instructions, which later requests go on from. `before`: the turns of
    the response that this one follows. Raises RequestRefused."""
    if request.background or request.conversation is not None:
        raise invalid("Replies are not written in the background here, nor kept as conversations; leave both out.")
    told = [*before, *await _turns(request.input, before, pictures)]
    system = [ChatTurn(Role.SYSTEM, request.instructions)] if request.instructions else []
    turns, begun = split_begun(checked_turns([*system, *told]))
    tools = _tools(request)
    if request.text is not None and request.text.format is not None:
        request.response_format = request.text.format
    chosen, called = request.chosen, must_call(tools, _choice(request))
    if called is not None:
        chosen.pop("grammar", None)  # it is the form of an answer
    effort = None if request.reasoning is None else request.reasoning.effort
    asked = Asked(
        turns=turns,
        begun=begun,
        client=client,
        sampling=checked_sampling(chosen),
        max_tokens=checked_count(request.max_output_tokens, "max_output_tokens"),
        stop_strings=request.stops,
        thinks=None if effort is None else effort not in ("none", "minimal"),
        names=() if effort in (None, "none") else (("reasoning_effort", effort),),
        tools=tools,
        must_call=called,
        expected=request.expected,
    )
    return Wanted((asked,), bool(request.stream), is_parallel=request.parallel_tool_calls is not False), told


def takes_any_text(request: ResponsesRequest) -> frozenset[str]:
    """The names of the tools whose calls are a text, not JSON."""
    return frozenset(each.name for each in request.tools or () if each.type == "custom" and each.name)


def _choice(request: ResponsesRequest) -> str | ChosenTool | None:
    choice = request.tool_choice
    if not isinstance(choice, dict):
        return choice
    if choice.get("type") == "custom" and isinstance(choice.get("name"), str):
        return ChosenTool.model_validate({"function": {"name": choice["name"]}})
    raise invalid("This tool_choice is not offered here; choose auto, none, required, or a function.", "tool_choice")


def _tools(request: ResponsesRequest) -> tuple[Tool, ...]:
    """Those that the program carries out. Others are the server's own elsewhere: there are none here, and as a model
    need not call any, they are left out."""
    if request.tool_choice == "none":
        return ()
    kinds = {"function": None, "custom": _ANY_TEXT}
    offered = [each for each in request.tools or () if each.type in kinds]
    for place, each in enumerate(offered):
        if each.name is None:
            raise invalid("A tool needs a name.", f"tools[{place}].name")
    return tuple(tool_of(each.name or "", each.description, kinds[each.type] or each.parameters) for each in offered)


async def _turns(told: str | list[Item], before: Sequence[ChatTurn], pictures: PictureReader) -> list[ChatTurn]:
    if isinstance(told, str):
        return [ChatTurn(Role.USER, told)]
    turns: list[ChatTurn] = []
    calls = {call.id: call for turn in before for call in turn.calls}
    for place, item in enumerate(told):
        turn = await _turn(item, f"input[{place}]", calls, pictures)
        calls |= {call.id: call for call in turn.calls}
        if turn.role is Role.ASSISTANT and turns and turns[-1].role is Role.ASSISTANT:
            turns[-1] = _joined(turns[-1], turn)
        else:
            turns.append(turn)
    return turns


def _joined(one: ChatTurn, other: ChatTurn) -> ChatTurn:
    """One reply, of which each thought, text and call is an item of its own."""
    return replace(
        one,
        text="\n\n".join(filter(None, (one.text, other.text))),
        thought="\n\n".join(filter(None, (one.thought, other.thought))),
        calls=(*one.calls, *other.calls),
    )


async def _turn(item: Item, at: str, calls: dict[str, ToolCall], pictures: PictureReader) -> ChatTurn:
    id_ = item.call_id or ""
    match item.type:
        case "message":
            role = Role.SYSTEM if item.role in ("system", "developer") else Role(item.role or "user")
            text, seen = await _content(item.content, f"{at}.content", pictures, role)
            return ChatTurn(role, text, pictures=seen)
        case "reasoning":
            parts = item.content if isinstance(item.content, list) else item.summary
            return ChatTurn(Role.ASSISTANT, "", "\n\n".join(each.text or "" for each in parts or ()))
        case "function_call":
            return ChatTurn(Role.ASSISTANT, "", calls=(ToolCall(id_, "", item.name or "", item.arguments or "{}"),))
        case "custom_tool_call":
            told = json.dumps({INPUT: item.input or ""}, ensure_ascii=False)
            return ChatTurn(Role.ASSISTANT, "", calls=(ToolCall(id_, "", item.name or "", told),))
        case "function_call_output" | "custom_tool_call_output":
            text, seen = await _content(item.output, f"{at}.output", pictures, Role.TOOL)
            answers = calls.get(id_) or ToolCall(id_, "", item.name or "tool")
            return ChatTurn(Role.TOOL, text, pictures=seen, answers=answers)
        case _:
            raise invalid(f"Items of the type {item.type[:40]} are not offered here; leave them out.", at)


async def _content(
    told: str | list[ItemPart] | None, at: str, pictures: PictureReader, role: Role
) -> tuple[str, tuple[Picture, ...]]:
    if told is None or isinstance(told, str):
        return told or "", ()
    texts: list[str] = []
    seen: list[Picture] = []
    for place, part in enumerate(told):
        where = f"{at}[{place}]"
        if part.text is not None or part.refusal is not None:
            texts.append(part.text or part.refusal or "")
        elif part.image_url is not None and role in (Role.USER, Role.TOOL):
            url = part.image_url if isinstance(part.image_url, str) else part.image_url.url
            if role is Role.USER:
                seen.append(await pictures.read(url, where))
            else:
                await pictures.add_result(url, where, True, texts, seen)
        else:
            raise invalid(f"Parts of the type {part.type[:40]} are not offered here; send texts and pictures.", where)
    return "\n\n".join(texts), tuple(seen)
