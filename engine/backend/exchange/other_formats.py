"""Conversations that other programs write, by the fields that tell which one did.

OpenAI's interface and the data sets made for it have lists of messages: `{"messages": [{"role", "content"}]}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from engine.backend.exchange import chatgpt
from engine.backend.exchange.turns import (
    Answer,
    Call,
    Found,
    Part,
    Turns,
    dict_in,
    dicts_in,
    mark,
    name_in,
    text_in,
)
from engine.values.conversations import Missing, Role
from engine.values.replies import Thought

_ROLES = {"user": Role.USER, "human": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.ASSISTANT}
_SYSTEM = frozenset({"system", "developer"})
FIELDS = chatgpt.FIELDS | frozenset(
    (
        *("title", "model", "messages", "role", "content", "type", "text", "tool_calls", "tool_call_id", "id"),
        *("function", "name", "arguments", "reasoning_content", "reasoning", "thinking"),
    )
)


def reader_of(element: dict[str, Any]) -> Callable[[dict[str, Any]], Found] | None:
    """Reads a conversation of the program that wrote it, and raises ValueError; None: it is of none that is known."""
    match element:
        case {"mapping": dict()}:
            return chatgpt.read_chatgpt
        case {"messages": list()}:
            return read_message_list
    return None


def read_message_list(element: dict[str, Any]) -> Found:
    """Raises ValueError."""
    turns = Turns()
    system_prompt, has_begun = "", False
    model = name_in(element.get("model"))
    messages = element["messages"]
    for place, each in enumerate(messages):
        message = dict_in(each)
        role = message.get("role")
        if not isinstance(role, str):
            turns.missing[Missing.MESSAGE] += 1
        elif role in _SYSTEM and not has_begun:
            system_prompt = system_prompt or "\n\n".join(filter(None, _texts(message.get("content"), turns)))
        parent = str(place - 1) if place else None
        if role in _ROLES:
            has_begun = True
            turns.add(str(place), parent, _ROLES[role], list_parts(message, turns), model=model)
        else:
            turns.skip(str(place), parent)
    if turns.missing[Missing.MESSAGE] == len(messages) > 0:
        raise ValueError("no messages")
    return turns.tree(element.get("title"), system_prompt, (None, None))


def list_parts(message: dict[str, Any], turns: Turns) -> Iterator[Part]:
    """What a message says that has a content, and calls, or the name of one that it answers."""
    if message.get("role") == "tool":
        yield Answer(name_in(message.get("tool_call_id")) or "", "\n\n".join(_texts(message.get("content"), turns)))
        return
    for field in ("reasoning_content", "reasoning", "thinking"):
        if thought := text_in(message.get(field)):
            yield Thought(0, thought)
            break
    yield from _texts(message.get("content"), turns)
    for each in dicts_in(message.get("tool_calls")):
        function = dict_in(each.get("function"))
        yield Call(name_in(each.get("id")) or "", text_in(function.get("name")), function.get("arguments"))


def _texts(content: object, turns: Turns) -> Iterator[str]:
    """The texts of a message, and what stands for its pictures."""
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            yield part
            continue
        found = dict_in(part)
        if text := text_in(found.get("text")):
            yield text
        elif text_in(found.get("type")) in ("image_url", "image", "input_image"):
            turns.missing[Missing.PICTURE] += 1
            yield mark("picture", "")
        elif text_in(found.get("type")) in ("input_audio", "audio"):
            turns.missing[Missing.RECORDING] += 1
        elif text_in(found.get("type")) in ("file", "input_file"):
            turns.missing[Missing.FILE] += 1
            yield mark("file", found.get("name"))
