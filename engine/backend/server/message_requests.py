"""Requests of Anthropic's interface: /v1/messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from engine.backend.server.chat_requests import MOST_TOOLS, Wanted, checked_choice, checked_turns, split_begun, tool_of
from engine.backend.server.pictures import PictureReader
from engine.backend.server.refusals import invalid
from engine.backend.server.sampling import Lenient, Name, Number, Some, checked_count, checked_sampling, checked_stops
from engine.values.asked import Asked
from engine.values.conversations import ChatTurn, Role
from engine.values.pictures import Picture
from engine.values.tools import Tool, ToolCall


class Source(Lenient):
    type: Name = "base64"
    data: str | None = None
    url: str | None = None
    content: str | Some[Block] | None = None


class Block(Lenient):
    type: Name
    text: str | None = None
    thinking: str | None = None
    source: Source | None = None
    id: Name | None = None
    name: Name | None = None
    input: dict[str, Any] | None = None
    tool_use_id: Name | None = None
    content: str | Some[Block] | None = None
    is_error: bool | None = None
    title: Name | None = None


class Said(Lenient):
    role: Literal["user", "assistant", "system"]
    content: str | Some[Block]


class DeclaredTool(Lenient):
    type: Name | None = None
    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: str | None = None
    input_schema: dict[str, Any] | None = None


class Choice(Lenient):
    type: Literal["auto", "any", "tool", "none"]
    name: Name | None = None
    disable_parallel_tool_use: bool | None = None


class Thinking(Lenient):
    type: Literal["enabled", "disabled", "adaptive"]
    budget_tokens: Annotated[int, Field(ge=1, le=10_000_000)] | None = None


class MessagesRequest(Lenient):
    model: Name
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000)]
    messages: Annotated[Some[Said], Field(min_length=1)]
    system: str | Some[Block] | None = None
    stop_sequences: Some[str] | None = None
    stream: bool | None = None
    temperature: Number | None = None
    top_p: Number | None = None
    top_k: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    tools: Annotated[Some[DeclaredTool], Field(max_length=MOST_TOOLS)] | None = None
    tool_choice: Choice | None = None
    thinking: Thinking | None = None


class CountRequest(MessagesRequest):
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000)] = 1  # of no reply


async def read_messages(request: MessagesRequest, client: str, pictures: PictureReader) -> Wanted:
    """Raises RequestRefused."""
    turns = [ChatTurn(Role.SYSTEM, _text(request.system, "system"))] if request.system else []
    calls: dict[str, ToolCall] = {}
    for place, said in enumerate(request.messages):
        turns += await _turns(said, f"messages[{place}]", calls, pictures)
    asked_turns, begun = split_begun(checked_turns(turns))
    chosen = {
        name: value for name in ("temperature", "top_p", "top_k") if (value := getattr(request, name)) is not None
    }
    choice, thinking = request.tool_choice, request.thinking
    tools = () if choice is not None and choice.type == "none" else _tools(request.tools or ())
    asked = Asked(
        turns=asked_turns,
        begun=begun,
        client=client,
        sampling=checked_sampling(chosen),
        max_tokens=checked_count(request.max_tokens, "max_tokens"),
        max_thought=None if thinking is None or thinking.type == "disabled" else thinking.budget_tokens,
        stop_strings=checked_stops(request.stop_sequences or [], "stop_sequences"),
        thinks=None if thinking is None else thinking.type != "disabled",
        tools=tools,
        must_call=_must_call(tools, choice),
    )
    is_parallel = choice is None or not choice.disable_parallel_tool_use
    return Wanted((asked,), bool(request.stream), is_parallel=is_parallel)


def _tools(declared: Sequence[DeclaredTool]) -> tuple[Tool, ...]:
    for place, each in enumerate(declared):
        if each.input_schema is None:
            raise invalid(
                f"The tool {each.name[:80]} is one that another server carries out; send tools with an input_schema.",
                f"tools[{place}]",
            )
    return tuple(tool_of(each.name, each.description, each.input_schema) for each in declared)


def _must_call(tools: Sequence[Tool], choice: Choice | None) -> str | None:
    if choice is None or choice.type in ("auto", "none"):
        return None
    return checked_choice(tools, choice.name or "" if choice.type == "tool" else "")


async def _turns(said: Said, at: str, calls: dict[str, ToolCall], pictures: PictureReader) -> list[ChatTurn]:
    """Results come before what the user says along with them."""
    if isinstance(said.content, str):
        return [ChatTurn(Role(said.role), said.content)]
    texts: list[str] = []
    thoughts: list[str] = []
    made: list[ToolCall] = []
    results: list[ChatTurn] = []
    seen: list[Picture] = []
    for place, block in enumerate(said.content):
        where = f"{at}.content[{place}]"
        match block.type:
            case "text":
                texts.append(block.text or "")
            case "thinking":
                thoughts.append(block.thinking or "")
            case "redacted_thinking":
                pass
            case "image":
                seen.append(await _picture(block, where, pictures))
            case "tool_use":
                call = ToolCall(block.id or "", "", block.name or "", json.dumps(block.input or {}, ensure_ascii=False))
                calls[call.id] = call
                made.append(call)
            case "document":
                texts.append(_document(block, where))
            case "tool_result":
                call = calls.get(block.tool_use_id or "") or ToolCall(block.tool_use_id or "", "", "tool")
                results.append(await _result(block, call, where, pictures))
            case _:
                raise invalid(
                    f"Blocks of the type {block.type[:40]} are not offered here; send texts and pictures.", where
                )
    text = "\n\n".join(texts)
    if said.role == "assistant":
        return [ChatTurn(Role.ASSISTANT, text, "\n\n".join(thoughts), calls=tuple(made))]
    spoken = ChatTurn(Role(said.role), text, pictures=tuple(seen) if said.role == "user" else ())
    return [*results, *([spoken] if text or seen else [])]


async def _result(block: Block, call: ToolCall, at: str, pictures: PictureReader) -> ChatTurn:
    if block.content is None or isinstance(block.content, str):
        return ChatTurn(Role.TOOL, block.content or "", answers=call)
    texts: list[str] = []
    seen: list[Picture] = []
    for place, part in enumerate(block.content):
        where = f"{at}.content[{place}]"
        if part.type == "image":
            await pictures.add_result(_base64(part, where), where, False, texts, seen)
        elif part.type == "document":
            texts.append(_document(part, where))
        else:
            texts.append(_text([part], where))
    return ChatTurn(Role.TOOL, "\n\n".join(texts), pictures=tuple(seen), answers=call)


def _document(block: Block, at: str) -> str:
    """The text of a document that is sent as text."""
    source = block.source
    if source is None or source.type not in ("text", "content"):
        raise invalid("Documents are read as text here; send their text, as a source of the type text.", at)
    text = source.data or "" if source.type == "text" else _text(source.content, at)
    return f"{block.title}\n\n{text}" if block.title else text


async def _picture(block: Block, at: str, pictures: PictureReader) -> Picture:
    return await pictures.decode(_base64(block, at), at)


def _base64(block: Block, at: str) -> str:
    """Of a picture."""
    if block.source is None or block.source.data is None:
        raise invalid("A picture must stand in the request itself, as base64.", at)
    return block.source.data


def _text(content: str | list[Block] | None, at: str) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    for place, block in enumerate(content):
        if block.text is None:
            raise invalid("Only texts can stand here.", f"{at}[{place}]")
    return "\n\n".join(block.text or "" for block in content)
