"""Conversations that other programs write, by the fields that tell which one did.

OpenAI's interface and the data sets made for it have lists of messages: `{"messages": [{"role", "content"}]}`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.backend.exchange import chatgpt, hosted, local_programs
from engine.backend.exchange.turns import Found, Turns, dict_in, list_parts, name_in, texts_in
from engine.values.conversations import Missing, Role

_ROLES = {"user": Role.USER, "human": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.ASSISTANT}
_SYSTEM = frozenset({"system", "developer"})
FIELDS = frozenset(
    (
        *chatgpt.FIELDS,
        *hosted.CLAUDE_FIELDS,
        *hosted.AI_STUDIO_FIELDS,
        *local_programs.FIELDS,
        *("title", "model", "messages", "role", "content", "type", "text", "tool_calls", "tool_call_id", "id"),
        *("function", "name", "arguments", "reasoning_content", "reasoning", "thinking"),
    )
)


def reader_of(element: dict[str, Any]) -> Callable[[dict[str, Any]], Found] | None:
    """Reads a conversation of the program that wrote it, and raises ValueError; None: it is of none that is known."""
    match element:
        case {"mapping": dict()}:
            return chatgpt.read_chatgpt
        case {"chat_messages": list()}:
            return hosted.read_claude
        case {"chunkedPrompt": dict()}:
            return hosted.read_ai_studio
        case {"chat": {"history": dict()} | {"messages": list()}} | {"history": {"messages": dict()}}:
            return local_programs.read_open_webui
        case {"conv": dict(), "messages": list()}:
            return local_programs.read_llama_server
        case {local_programs.LINES: list()}:
            return local_programs.read_silly_tavern
        case {"messages": list() as messages} if any(
            isinstance(each, dict) and "versions" in each for each in messages
        ):
            return local_programs.read_lm_studio
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
            system_prompt = system_prompt or "\n\n".join(filter(None, texts_in(message.get("content"), turns)))
        parent = str(place - 1) if place else None
        if role in _ROLES:
            has_begun = True
            turns.add(str(place), parent, _ROLES[role], list_parts(message, turns), model=model)
        else:
            turns.skip(str(place), parent)
    if turns.missing[Missing.MESSAGE] == len(messages) > 0:
        raise ValueError("no messages")
    return turns.tree(element.get("title"), system_prompt, (None, None))
