"""Conversations that other programs write.

ChatGPT's own export is a list of conversations, each a tree of nodes by their names. OpenAI's interface and the data
sets made for it have lists of messages: `{"messages": [{"role", "content"}]}`.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from engine.backend.exchange.grown_tree import FileNode, grow, time_from, tree
from engine.values.conversations import ConversationTree, Role

_ROLES = {"user": Role.USER, "human": Role.USER, "assistant": Role.ASSISTANT}
_SYSTEM = frozenset({"system", "developer"})
_SPOKEN_KINDS = frozenset({"text", "multimodal_text"})  # others are tool calls, thoughts, what a tool returned, …


class _Author(BaseModel):
    role: str


class _Content(BaseModel):
    content_type: str = "text"
    parts: list[Any] | None = None


class _Message(BaseModel):
    author: _Author
    content: _Content | None = None
    create_time: float | None = None
    recipient: str | None = None
    metadata: dict[str, Any] | None = None


class _Node(BaseModel):
    message: _Message | None = None
    parent: str | None = None


class _Conversation(BaseModel):
    title: str | None = None
    create_time: float | None = None
    update_time: float | None = None
    current_node: str | None = None
    mapping: dict[str, _Node]


class _ListedMessage(BaseModel):
    role: str
    content: str | list[Any] | None = None


class _MessageList(BaseModel):
    title: str | None = None
    model: str | None = None
    messages: list[_ListedMessage]


_HIDDEN = "is_visually_hidden_from_conversation"
_MODEL = "model_slug"
_MODELS: tuple[type[BaseModel], ...] = (_Author, _Content, _Message, _Node, _Conversation, _ListedMessage, _MessageList)
FIELDS = frozenset({_HIDDEN, _MODEL, "text"}).union(*(each.model_fields for each in _MODELS))


def read_chatgpt(element: dict[str, Any]) -> ConversationTree:
    """The messages with their branches, without tool calls. Raises ValueError."""
    found = _Conversation.model_validate(element)
    nodes = [_node(name, each) for name, each in found.mapping.items()]
    times = time_from(found.create_time), time_from(found.update_time)
    return tree(found.title, _system_prompt(found), times, grow(nodes, found.current_node, joins_turns=True))


def _node(name: str, found: _Node) -> FileNode[str]:
    message = found.message
    role = None if message is None else _ROLES.get(message.author.role)
    text = "" if message is None else _text(message.content)
    if message is None or role is None or _is_hidden(message) or not text.strip():
        return FileNode(name, found.parent, None, "")
    model = (message.metadata or {}).get(_MODEL) if role is Role.ASSISTANT else None
    return FileNode(
        name,
        found.parent,
        role,
        text,
        time_from(message.create_time),
        model if isinstance(model, str) else None,
    )


def _is_hidden(message: _Message) -> bool:
    hidden = (message.metadata or {}).get(_HIDDEN) is True
    return hidden or message.recipient not in (None, "all")


def _text(content: _Content | None) -> str:
    if content is None or content.content_type not in _SPOKEN_KINDS:
        return ""
    pieces = [_piece(part) for part in content.parts or ()]
    return "\n\n".join(piece for piece in pieces if piece.strip())


def _piece(part: object) -> str:
    """A transcript for what was spoken; of other parts without text only their kind."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    if isinstance(text := part.get("text"), str):
        return text
    return "[picture]" if part.get("content_type") == "image_asset_pointer" else ""


def _system_prompt(found: _Conversation) -> str:
    for node in found.mapping.values():
        message = node.message
        if message is not None and message.author.role == "system" and not _is_hidden(message):
            return _text(message.content)
    return ""


def read_message_list(element: dict[str, Any]) -> ConversationTree:
    """Raises ValueError."""
    found = _MessageList.model_validate(element)
    system_prompt = ""
    nodes: list[FileNode[int]] = []
    for place, each in enumerate(found.messages):
        text = _listed_text(each.content)
        role = _ROLES.get(each.role) if text.strip() else None
        if each.role in _SYSTEM and not system_prompt and all(node.role is None for node in nodes):
            system_prompt = text
        model = found.model if role is Role.ASSISTANT else None
        nodes.append(FileNode(place, place - 1 if place else None, role, text, None, model))
    grown = grow(nodes, nodes[-1].key if nodes else None, joins_turns=True)
    return tree(found.title, system_prompt, (None, None), grown)


def _listed_text(content: str | list[Any] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    pieces = [part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, str | dict)]
    return "\n\n".join(piece for piece in pieces if isinstance(piece, str) and piece.strip())
