"""Lists of messages as in OpenAI's interface and the data sets made for it: `{"messages": [{"role", "content"}]}`."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from engine.exchange.grown_tree import Node, grow, tree
from engine.messages.conversations import ConversationTree, Role

_ROLES = {"user": Role.USER, "human": Role.USER, "assistant": Role.ASSISTANT}
_SYSTEM = frozenset({"system", "developer"})


class _Message(BaseModel):
    role: str
    content: str | list[Any] | None = None


class _Conversation(BaseModel):
    title: str | None = None
    model: str | None = None
    messages: list[_Message]


def is_message_list(element: dict[str, Any]) -> bool:
    return "messages" in element


def read(element: dict[str, Any]) -> ConversationTree:
    """Raises ValueError."""
    found = _Conversation.model_validate(element)
    system_prompt = ""
    nodes: list[Node[int]] = []
    for place, each in enumerate(found.messages):
        text = _text(each.content)
        role = _ROLES.get(each.role) if text.strip() else None
        if each.role in _SYSTEM and not system_prompt and all(node.role is None for node in nodes):
            system_prompt = text
        model = found.model if role is Role.ASSISTANT else None
        nodes.append(Node(place, place - 1 if place else None, role, text, None, model))
    grown = grow(nodes, nodes[-1].key if nodes else None, joins_turns=True)
    return tree(found.title, system_prompt, (None, None), grown)


def _text(content: str | list[Any] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    pieces = [part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, str | dict)]
    return "\n\n".join(piece for piece in pieces if isinstance(piece, str) and piece.strip())
