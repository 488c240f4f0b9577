"""What programs for models on one's own machine write: Open WebUI, LM Studio, SillyTavern, llama-server's window."""

from __future__ import annotations

import contextlib
import html
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from engine.backend.exchange.grown_tree import sound_time
from engine.backend.exchange.json_stream import MOST_KEPT, MOST_TEXT_BYTES, Flawed, JsonStream
from engine.backend.exchange.turns import (
    Answer,
    Call,
    Found,
    Part,
    Turns,
    attached,
    dict_in,
    dicts_in,
    list_parts,
    mark,
    moment_in,
    name_in,
    text_in,
    texts_in,
    with_thoughts,
)
from engine.values.conversations import LeftOut, Missing, Role
from engine.values.replies import Thought

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.ASSISTANT}
_DETAILS = re.compile(r'<details type="(reasoning|tool_calls|code_interpreter)"([^<>]*)>')
_DETAILS_END = "</details>"
_SUMMARY = re.compile(r"\s*<summary>[^<]*</summary>")
_ATTRIBUTE = re.compile(r'\b(\w{1,40})="([^"]*)"')
_DATES = ("%B %d, %Y %I:%M%p", "%Y-%m-%d@%Hh%Mm%Ss", "%Y-%m-%d @%Hh %Mm %Ss")  # SillyTavern's, by the user's clock
_OF_HEADER = frozenset({"chat_metadata", "character_name"})
LINES = "lines"  # the field of a chat that was put together from them
_NUM_FLAWED = "flawed"
FIELDS = frozenset(
    (
        *(
            "chat",
            "history",
            "messages",
            "currentId",
            "title",
            "pinned",
            "archived",
            "created_at",
            "updated_at",
            "role",
        ),
        *(
            "params",
            "system",
            "content",
            "parentId",
            "timestamp",
            "model",
            "files",
            "file",
            "data",
            "name",
            "type",
            "id",
        ),
        *("systemPrompt", "createdAt", "versions", "currentlySelected", "steps", "style", "senderInfo", "senderName"),
        *("text", "callId", "toolCallRequestId", "toolCallId", "parameters", "user_name", "character_name"),
        *("create_date", "chat_metadata", "is_user", "is_system", "send_date", "mes", "swipe_id", "swipes", "extra"),
        *("swipe_info", "reasoning", "conv", "lastModified", "currNode", "parent", "thinking", "reasoningContent"),
        *("toolCalls", "function", "arguments", "fileType"),
    )
)


def read_open_webui(element: dict[str, Any]) -> Found:
    """An entry of an export, or the chat in it. Raises TooLarge."""
    chat = dict_in(element.get("chat")) or element
    history = dict_in(chat.get("history"))
    found = history.get("messages")
    messages = [*found.items()] if isinstance(found, dict) else [("", each) for each in dicts_in(chat.get("messages"))]
    turns = Turns()
    system_prompt = text_in(dict_in(chat.get("params")).get("system"))
    before: str | None = None
    for place, (name, each) in enumerate(messages):
        message = dict_in(each)
        key = name or name_in(message.get("id")) or str(place)
        parent = name_in(message.get("parentId")) or (None if name or "parentId" in message else before)
        before = key
        role = _ROLES.get(text_in(message.get("role")))
        if role is None:
            if message.get("role") == "system":
                system_prompt = system_prompt or text_in(message.get("content"))
            else:
                turns.missing[Missing.MESSAGE] += 1
            turns.skip(key, parent)
            continue
        parts = _open_webui_parts(message, role, turns)
        turns.add(key, parent, role, parts, moment_in(message.get("timestamp")), name_in(message.get("model")))
    began = moment_in(element.get("created_at")) or moment_in(chat.get("timestamp"))
    title = text_in(element.get("title")) or chat.get("title")
    tree, missing = turns.tree(
        title, system_prompt, (began, moment_in(element.get("updated_at"))), history.get("currentId")
    )
    pinned, archived = element.get("pinned") is True, element.get("archived") is True
    return replace(tree, is_pinned=pinned, is_archived=archived), missing


def _open_webui_parts(message: dict[str, Any], role: Role, turns: Turns) -> Iterator[Part]:
    for each in dicts_in(message.get("files")):
        file = dict_in(each.get("file"))
        text = text_in(dict_in(file.get("data")).get("content"))
        if text:
            yield attached(text_in(each.get("name")), text)
        else:
            is_picture = each.get("type") == "image"
            turns.missing[Missing.PICTURE if is_picture else Missing.FILE] += 1
            yield mark("picture" if is_picture else "file", each.get("name"))
    for text in texts_in(message.get("content"), turns):
        yield from _without_details(text) if role is Role.ASSISTANT else [text]


def _without_details(text: str) -> Iterator[Part]:
    """Thoughts, and calls with their results, which are folded within a reply."""
    place = 0
    while opened := _DETAILS.search(text, place):
        yield from with_thoughts(text[place : opened.start()].strip())
        end = text.find(_DETAILS_END, opened.end())
        body = text[opened.end() : end if end >= 0 else len(text)]
        body = body[match.end() :] if (match := _SUMMARY.match(body)) else body
        place = end + len(_DETAILS_END) if end >= 0 else len(text)
        told = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(opened[2])}
        if opened[1] == "reasoning":
            lines = html.unescape(body).strip().split("\n")
            thought = "\n".join(line[1:].removeprefix(" ") if line.startswith(">") else line for line in lines)
            yield Thought(0, thought, _number(told.get("duration")))
        elif opened[1] == "tool_calls":
            yield Call(told.get("id", ""), told.get("name", ""), _unquoted(told.get("arguments", "")) or "{}")
            if told.get("done") != "false":
                yield Answer(told.get("id", ""), _unquoted(told.get("result", "")))
        else:
            yield html.unescape(body).strip()
    yield from with_thoughts(text[place:].strip() if place else text)


def _number(text: str | None) -> float:
    return float(text) if text and text.isascii() and text.isdigit() and len(text) < 9 else 0.0


def _unquoted(text: str) -> str:
    """The text that a JSON string stands for; another text as it is."""
    with contextlib.suppress(ValueError, RecursionError):
        if isinstance(found := json.loads(text), str):
            return found
    return text


def read_lm_studio(element: dict[str, Any]) -> Found:
    """A message has versions, of which the next one follows that which is selected. Raises TooLarge."""
    turns = Turns()
    system_prompt = text_in(element.get("systemPrompt"))
    before: str | None = None
    for place, each in enumerate(element["messages"]):
        versions = dicts_in(dict_in(each).get("versions"))
        selected = dict_in(each).get("currentlySelected")
        if not versions:
            turns.missing[Missing.MESSAGE] += 1
            continue
        for number, version in enumerate(versions):
            role = _ROLES.get(text_in(version.get("role")))
            key = f"{place}/{number}"
            if role is None:
                turns.missing[Missing.MESSAGE] += version.get("role") != "system"
                turns.skip(key, before)
                continue
            model = name_in(dict_in(version.get("senderInfo")).get("senderName"))
            turns.add(key, before, role, _lm_studio_parts(version, turns), None, model)
        chosen = selected if isinstance(selected, int) and 0 <= selected < len(versions) else len(versions) - 1
        before = f"{place}/{chosen}"
    times = moment_in(element.get("createdAt")), None
    return turns.tree(element.get("name"), system_prompt, times, before)


def _lm_studio_parts(version: dict[str, Any], turns: Turns) -> Iterator[Part]:
    steps = dicts_in(version.get("steps")) if "steps" in version else [version]
    called = ""
    for step in steps:
        is_thought = dict_in(step.get("style")).get("type") == "thinking"
        content = step.get("content")
        for part in dicts_in(content) if isinstance(content, list) else [{"type": "text", "text": content}]:
            name = next(filter(None, map(name_in, map(part.get, ("toolCallRequestId", "callId", "toolCallId")))), "")
            match text_in(part.get("type")):
                case "text" if is_thought:
                    yield Thought(0, text_in(part.get("text")).removeprefix("<think>").removesuffix("</think>").strip())
                case "text":
                    yield from with_thoughts(text_in(part.get("text")))
                case "toolCallRequest":
                    called = name
                    yield Call(name, text_in(part.get("name")), part.get("parameters"))
                case "toolCallResult":
                    yield Answer(name or called, "\n\n".join(texts_in(part.get("content"), turns)))
                case "file":
                    is_picture = part.get("fileType") == "image"
                    turns.missing[Missing.PICTURE if is_picture else Missing.FILE] += 1
                    yield mark("picture" if is_picture else "file", part.get("name"))


def with_lines_joined(elements: Iterable[Any], stream: JsonStream) -> Iterator[Any]:
    """SillyTavern's chats, of which each message is a value of its own, as one value each; and all others."""
    chat: dict[str, Any] | None = None
    num_kept = num_bytes = 0
    for element in elements:
        is_line = isinstance(element, dict) and isinstance(element.get("mes"), str)
        is_header = isinstance(element, dict) and not is_line and not element.keys().isdisjoint(_OF_HEADER)
        if chat is not None and isinstance(element, Flawed):
            chat[_NUM_FLAWED] += 1
            continue
        if chat is not None and not is_line:
            yield chat if chat[LINES] is not None else Flawed(LeftOut.TOO_LARGE, chat["title"])
            chat = None
        if is_header or (is_line and chat is None):
            name = text_in(element.get("character_name")) or text_in(element.get("name"))
            chat = {**(element if is_header else {}), "title": name, LINES: [], _NUM_FLAWED: 0}
            num_kept = num_bytes = 0
        if is_line and chat is not None:
            num_kept += stream.num_kept
            num_bytes += stream.text_bytes
            if num_kept > MOST_KEPT or num_bytes > MOST_TEXT_BYTES:
                chat[LINES] = None
            if chat[LINES] is not None:
                chat[LINES].append(element)
        elif not is_header:
            yield element
    if chat is not None:
        yield chat if chat[LINES] is not None else Flawed(LeftOut.TOO_LARGE, chat["title"])


def read_silly_tavern(element: dict[str, Any]) -> Found:
    """The versions of a message are its swipes. Raises TooLarge."""
    turns = Turns()
    turns.missing[Missing.MESSAGE] = element[_NUM_FLAWED]
    title = element["title"]
    if title in ("", "unused"):
        title = next((text_in(line.get("name")) for line in element[LINES] if line.get("is_user") is not True), "")
    before: str | None = None
    for place, line in enumerate(element[LINES]):
        if line.get("is_system") is True:
            continue  # notes, and what a user has hidden
        role = Role.USER if line.get("is_user") is True else Role.ASSISTANT
        swipes = [text_in(each) for each in line["swipes"]] if isinstance(line.get("swipes"), list) else []
        shown = line.get("swipe_id")
        if not isinstance(shown, int) or not 0 <= shown < len(swipes):
            shown, swipes = 0, [line["mes"]]
        swipes[shown] = line["mes"]  # as it was edited
        told = dicts_in(line.get("swipe_info"))
        for number, text in enumerate(swipes):
            own = line if number == shown else told[number] if number < len(told) == len(swipes) else {}
            extra = dict_in(own.get("extra"))
            parts: list[Part] = [Thought(0, text_in(extra.get("reasoning"))), text]
            turns.add(
                f"{place}/{number}", before, role, parts, _when(own.get("send_date")), name_in(extra.get("model"))
            )
        before = f"{place}/{shown}"
    return turns.tree(title, "", (_when(element.get("create_date")), None), before)


def _when(value: object) -> datetime | None:
    for form in _DATES:
        with contextlib.suppress(ValueError, OverflowError, OSError):
            return sound_time(datetime.strptime(text_in(value), form).astimezone())
    return moment_in(value)


def read_llama_server(element: dict[str, Any]) -> Found:
    """Raises TooLarge."""
    conversation = element["conv"]
    turns = Turns()
    system_prompt = ""
    for place, each in enumerate(element["messages"]):
        message = dict_in(each)
        key, parent = name_in(message.get("id")) or str(place), name_in(message.get("parent"))
        role = _ROLES.get(text_in(message.get("role")))
        if role is None or message.get("type") == "root":
            if message.get("role") == "system":
                system_prompt = system_prompt or text_in(message.get("content"))
            elif role is None:
                turns.missing[Missing.MESSAGE] += 1
            turns.skip(key, parent)
            continue
        model = name_in(message.get("model"))
        turns.add(key, parent, role, _llama_parts(message, turns), moment_in(message.get("timestamp")), model)
    times = None, moment_in(conversation.get("lastModified"))
    return turns.tree(conversation.get("name"), system_prompt, times, conversation.get("currNode"))


def _llama_parts(message: dict[str, Any], turns: Turns) -> Iterator[Part]:
    for each in dicts_in(message.get("extra")):
        name, text = each.get("name"), text_in(each.get("content"))
        kind = text_in(each.get("type")).lower()
        if text:
            yield attached(text_in(name), text)
        elif "audio" in kind:
            turns.missing[Missing.RECORDING] += 1
        else:
            turns.missing[Missing.PICTURE if "image" in kind else Missing.FILE] += 1
            yield mark("picture" if "image" in kind else "file", name)
    calls = message.get("toolCalls")
    if isinstance(calls, str):
        try:
            calls = json.loads(calls) if calls else []
        except (ValueError, RecursionError):
            turns.missing[Missing.STEP] += 1
    names = {"tool_calls": calls, "tool_call_id": message.get("toolCallId")}
    thought = text_in(message.get("reasoningContent")) or text_in(message.get("thinking"))
    yield from list_parts({**message, **names, "reasoning": thought, "thinking": None}, turns)
