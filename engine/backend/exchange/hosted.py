"""What services export whose models are elsewhere.

Claude's chats have branches; of Google AI Studio's, each is a file without an ending.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from engine.backend.exchange.turns import (
    Answer,
    Call,
    Found,
    Part,
    Turns,
    attached,
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

_SENDERS = {"human": Role.USER, "user": Role.USER, "assistant": Role.ASSISTANT}
_ARTIFACT = "artifacts"  # a tool that writes beside the chat
_CODE = "application/vnd.ant.code"
_PICTURES = ("png", "jpg", "jpeg", "gif", "webp", "heic", "bmp")  # endings of names
_RAN = "code"  # the name of what AI Studio ran last
CLAUDE_FIELDS = frozenset(
    (
        *(
            "name",
            "created_at",
            "updated_at",
            "chat_messages",
            "uuid",
            "parent_message_uuid",
            "sender",
            "text",
            "title",
        ),
        *("content", "type", "thinking", "start_timestamp", "stop_timestamp", "id", "input", "tool_use_id", "is_error"),
        *("attachments", "file_name", "extracted_content", "files", "current_leaf_message_uuid", "model"),
    )
)
AI_STUDIO_FIELDS = frozenset(
    (
        *("runSettings", "model", "systemInstruction", "parts", "text", "chunkedPrompt", "chunks", "role", "isThought"),
        *("createTime", "driveImage", "inlineImage", "driveVideo", "driveAudio", "driveDocument", "inlineFile", "id"),
        *("executableCode", "code", "codeExecutionResult", "output", "outcome"),
    )
)
_KINDS = {
    **dict.fromkeys(("driveImage", "inlineImage"), Missing.PICTURE),
    **dict.fromkeys(("driveVideo", "driveAudio"), Missing.RECORDING),
    **dict.fromkeys(("driveDocument", "inlineFile"), Missing.FILE),
}


def read_claude(element: dict[str, Any]) -> Found:
    """Raises TooLarge."""
    turns = Turns()
    before: str | None = None
    for place, each in enumerate(element["chat_messages"]):
        message = dict_in(each)
        key = name_in(message.get("uuid")) or str(place)
        role = _SENDERS.get(text_in(message.get("sender")))
        parent = name_in(message.get("parent_message_uuid")) or before  # older exports have no branches
        before = key
        if role is None:
            turns.missing[Missing.MESSAGE] += 1
            turns.skip(key, parent)
            continue
        parts = _claude_parts(message, turns)
        turns.add(key, parent, role, parts, moment_in(message.get("created_at")), name_in(element.get("model")))
    times = moment_in(element.get("created_at")), moment_in(element.get("updated_at"))
    return turns.tree(element.get("name"), "", times, element.get("current_leaf_message_uuid"))


def _claude_parts(message: dict[str, Any], turns: Turns) -> Iterator[Part]:
    texts = {text_in(each.get("file_name")) for each in dicts_in(message.get("attachments"))}
    for each in dicts_in(message.get("attachments")):
        yield attached(text_in(each.get("file_name")), text_in(each.get("extracted_content")))
    for each in dicts_in(message.get("files")):
        name = text_in(each.get("file_name"))
        if name not in texts:
            is_picture = name.lower().endswith(_PICTURES)
            turns.missing[Missing.PICTURE if is_picture else Missing.FILE] += 1
            yield mark("picture" if is_picture else "file", name)
    content = dicts_in(message.get("content"))
    if not content:
        yield text_in(message.get("text"))
    beside: set[str] = set()  # calls that are told as what they write
    for part in content:
        match text_in(part.get("type")):
            case "text":
                yield text_in(part.get("text"))
            case "thinking":
                yield Thought(0, text_in(part.get("thinking")), _seconds(part))
            case "tool_use" if part.get("name") == _ARTIFACT:
                beside.add(name_in(part.get("id")) or "")
                yield _artifact(dict_in(part.get("input")))
            case "tool_use":
                yield Call(name_in(part.get("id")) or "", text_in(part.get("name")), part.get("input"))
            case "tool_result" if (name_in(part.get("tool_use_id")) or "") not in beside:
                told = "\n\n".join(text_in(each.get("text")) for each in dicts_in(part.get("content")))
                text = told or text_in(part.get("content"))
                yield Answer(name_in(part.get("tool_use_id")) or "", text, part.get("is_error") is True)


def _artifact(told: dict[str, Any]) -> str:
    """What is written, or what takes the place of a passage."""
    text = text_in(told.get("content")) or text_in(told.get("new_str"))
    kind = text_in(told.get("type"))
    language = "" if kind in ("", "text/markdown") else language_in(told.get("language")) or kind.rpartition("/")[2]
    return written(text_in(told.get("title")), text, (language_in(language) or "text") if language else "")


def _seconds(part: dict[str, Any]) -> float:
    """How long a thought took."""
    match moment_in(part.get("start_timestamp")), moment_in(part.get("stop_timestamp")):
        case datetime() as begin, datetime() as end:
            return max(0.0, (end - begin).total_seconds())
    return 0.0


def read_ai_studio(element: dict[str, Any]) -> Found:
    """Raises TooLarge."""
    turns = Turns()
    model = text_in(dict_in(element.get("runSettings")).get("model")).removeprefix("models/")
    chunks = element["chunkedPrompt"].get("chunks")
    before: str | None = None
    for place, each in enumerate(chunks if isinstance(chunks, list) else ()):
        chunk = dict_in(each)
        role = {"user": Role.USER, "model": Role.ASSISTANT}.get(text_in(chunk.get("role")))
        if role is None:
            turns.missing[Missing.MESSAGE] += 1
            continue
        turns.add(
            str(place), before, role, _chunk_parts(chunk, turns), moment_in(chunk.get("createTime")), model or None
        )
        before = str(place)
    return turns.tree(element.get("title"), _joined(dict_in(element.get("systemInstruction"))), (None, None))


def _chunk_parts(chunk: dict[str, Any], turns: Turns) -> Iterator[Part]:
    for what in (what for field, what in _KINDS.items() if field in chunk):
        turns.missing[what] += 1
        yield mark(what.value, "")
    text = _joined(chunk)
    yield Thought(0, text) if chunk.get("isThought") is True else text
    if code := text_in(dict_in(chunk.get("executableCode")).get("code")):
        yield Call(_RAN, "python", {"code": code})
    if isinstance(result := chunk.get("codeExecutionResult"), dict):
        yield Answer(_RAN, text_in(result.get("output")), result.get("outcome") not in (None, "OUTCOME_OK"))


def _joined(told: dict[str, Any]) -> str:
    return text_in(told.get("text")) or "".join(text_in(each.get("text")) for each in dicts_in(told.get("parts")))
