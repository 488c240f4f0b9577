"""ChatGPT's export: conversations as trees of nodes by their names.

A reply lies in many nodes: thoughts, code that is run and what that printed, searches, the canvas that it writes on.
What ChatGPT does not show, such as a user's profile, stays out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from engine.backend.exchange.grown_tree import parents_first
from engine.backend.exchange.turns import (
    Answer,
    Call,
    Found,
    Part,
    Turns,
    dict_in,
    dicts_in,
    language_in,
    mark,
    moment_in,
    name_in,
    text_in,
    written,
)
from engine.values.conversations import Missing, Role
from engine.values.replies import Thought

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.ASSISTANT}
_SPOKEN_KINDS = frozenset({"text", "multimodal_text"})
_HIDDEN = ("is_visually_hidden_from_conversation", "is_user_system_message")
_CANVAS = "canmore."  # a tool, called as a rule with JSON
_PYTHON = "python"
_CITED = re.compile("( ?)(\ue200([^\ue200\ue201]{0,5000})\ue201?|【[^】\n]{0,80}†[^】\n]{0,200}】)")
_MARKS = re.compile("[\ue200-\ue2ff]")
_SIGNS = ("\ue200", "\ue203", "【")  # one of them is where any other is
_BETWEEN_MARKS = "\ue202"
FIELDS = frozenset(
    (
        *("title", "create_time", "update_time", "current_node", "mapping", "default_model_slug", "is_archived"),
        *("is_starred", "message", "parent", "children", "author", "role", "name", "content", "content_type", "parts"),
        *("text", "thoughts", "summary", "language", "recipient", "metadata", "model_slug", "attachments", "id"),
        *("asset_pointer", "content_references", "matched_text", "alt", *_HIDDEN),
    )
)


def read_chatgpt(element: dict[str, Any]) -> Found:
    """Raises TooLarge."""
    mapping = dict_in(element.get("mapping"))
    turns = Turns()
    model = name_in(element.get("default_model_slug"))
    system_prompt = ""
    for name, parent in _in_order(mapping):
        node = mapping[name]
        told = node.get("message") if isinstance(node, dict) else node
        message = dict_in(told)
        role = text_in(dict_in(message.get("author")).get("role"))
        if told is not None and not role:
            turns.missing[Missing.MESSAGE] += 1
        if role == "system" and not system_prompt and not _is_hidden(message):
            system_prompt = "\n\n".join(each for each in _spoken(message, turns) if isinstance(each, str))
        if role not in _ROLES or _is_hidden(message):
            turns.skip(name, parent)
            continue
        metadata = dict_in(message.get("metadata"))
        turns.add(
            name,
            parent,
            _ROLES[role],
            _parts(name, parent, message, role, turns),
            moment_in(message.get("create_time")),
            name_in(metadata.get("model_slug")) or model,
        )
    times = moment_in(element.get("create_time")), moment_in(element.get("update_time"))
    return turns.tree(element.get("title"), system_prompt, times, element.get("current_node"))


def _in_order(mapping: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Names with those of their parents, which come first. Where a node names none that is there, it is below the one
    that names it."""
    names = [*mapping]
    places = {name: place for place, name in enumerate(names)}
    above: dict[str, int] = {}
    for place, node in enumerate(mapping.values()):
        children = dict_in(node).get("children")
        for child in children if isinstance(children, list) else ():
            if isinstance(child, str):
                above.setdefault(child, place)
    told = (name_in(dict_in(node).get("parent")) for node in mapping.values())
    parents = [places.get(parent or "", above.get(name)) for name, parent in zip(names, told, strict=True)]
    for place in parents_first(parents):
        parent = parents[place]
        yield names[place], None if parent is None else names[parent]


def _is_hidden(message: dict[str, Any]) -> bool:
    metadata = dict_in(message.get("metadata"))
    return any(metadata.get(each) is True for each in _HIDDEN)


def _parts(name: str, parent: str | None, message: dict[str, Any], role: str, turns: Turns) -> Iterator[Part]:
    content = dict_in(message.get("content"))
    kind = text_in(content.get("content_type")) or "text"
    recipient = text_in(message.get("recipient")) or "all"
    if role == "tool":
        yield from _from_tool(parent, message, content, kind, turns)
    elif recipient.startswith(_CANVAS):
        yield from _on_canvas("".join(_texts(content)))
    elif recipient == _PYTHON:
        yield Call(name, _PYTHON, {"code": "".join(_texts(content))})
    elif recipient != "all":
        turns.missing[Missing.STEP] += 1
    elif kind == "thoughts":
        for each in dicts_in(content.get("thoughts")):
            yield Thought(0, text_in(each.get("content")) or text_in(each.get("summary")))
    elif kind in _SPOKEN_KINDS:
        yield from _spoken(message, turns)
    elif kind == "code":
        yield written("", "".join(_texts(content)), language_in(content.get("language")) or "text")


def _from_tool(
    parent: str | None, message: dict[str, Any], content: dict[str, Any], kind: str, turns: Turns
) -> Iterator[Part]:
    if kind == "execution_output":
        yield Answer(parent or "", "".join(_texts(content)))
        return
    pictures = [each for each in dicts_in(content.get("parts")) if each.get("content_type") == "image_asset_pointer"]
    for _ in pictures:  # those that were made for the user
        turns.missing[Missing.PICTURE] += 1
        yield mark("picture", "")
    if not pictures and not text_in(dict_in(message.get("author")).get("name")).startswith(_CANVAS):
        turns.missing[Missing.STEP] += any(text.strip() for text in _texts(content))


def _texts(content: dict[str, Any]) -> list[str]:
    parts = content.get("parts")
    found = parts if isinstance(parts, list) else [content.get("text")]
    return [each for each in found if isinstance(each, str)]


def _on_canvas(text: str) -> Iterator[str]:
    """What is written, or what takes the place of it."""
    try:
        told = dict_in(json.loads(text, strict=False))
    except (ValueError, RecursionError):
        yield text
        return
    language = (
        language_in(text_in(told.get("type")).removeprefix("code/")) if "code" in text_in(told.get("type")) else ""
    )
    if body := text_in(told.get("content")):
        yield written(text_in(told.get("name")), body, language)
    for each in dicts_in(told.get("updates")):
        yield text_in(each.get("replacement"))
    for each in dicts_in(told.get("comments")):
        yield text_in(each.get("comment"))


def _spoken(message: dict[str, Any], turns: Turns) -> Iterator[str]:
    metadata = dict_in(message.get("metadata"))
    attachments = dicts_in(metadata.get("attachments"))
    alternatives = {
        text_in(each.get("matched_text")): text_in(each.get("alt"))
        for each in dicts_in(metadata.get("content_references"))
    }
    names = {name_in(each.get("id")) or "": each.get("name") for each in attachments}
    content = dict_in(message.get("content"))
    shown: set[str] = set()
    parts = content.get("parts")
    for part in parts if isinstance(parts, list) else _texts(content):
        if isinstance(part, str):
            yield _without_marks(part, alternatives)
            continue
        found = dict_in(part)
        pointer = text_in(found.get("asset_pointer")).rpartition("/")[2]
        kind = text_in(found.get("content_type"))
        if text := text_in(found.get("text")):
            yield text  # what was spoken
        elif kind == "image_asset_pointer":
            turns.missing[Missing.PICTURE] += 1
            shown.add(pointer)
            yield mark("picture", names.get(pointer))
        elif "audio" in kind:
            turns.missing[Missing.RECORDING] += 1
    files = [name for each, name in names.items() if each not in shown]
    turns.missing[Missing.FILE] += len(files)
    yield from (mark("file", name) for name in files)


def _without_marks(text: str, alternatives: dict[str, str]) -> str:
    """The text with links in place of signs that only ChatGPT shows as sources."""

    def readable(found: re.Match[str]) -> str:
        told = alternatives.get(found[2]) or _told_by(found[3] or "")
        return found[1] + told if told else ""

    if not any(sign in text for sign in _SIGNS):
        return text
    lines = text.splitlines(keepends=True)  # other threads wait for one at a time
    return "".join(_MARKS.sub("", _CITED.sub(readable, line)) for line in lines)


def _told_by(signs: str) -> str:
    kind, _, rest = signs.partition(_BETWEEN_MARKS)
    if kind == "url":
        return rest.partition(_BETWEEN_MARKS)[0]
    try:
        return text_in(json.loads(rest)[1]) if kind == "entity" else ""
    except (ValueError, RecursionError, LookupError, TypeError):
        return ""
