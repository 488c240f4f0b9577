"""Collects what a file of another program says of one conversation, however it says it, and makes a tree of that.

Nothing there needs to be of the type that is expected: what is not counts as absent, so that the rest is read.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

from engine.backend.exchange.grown_tree import (
    MOST_JOINED,
    MOST_MESSAGES,
    FileNode,
    TooLarge,
    grow,
    sound_time,
    time_from,
    tree,
)
from engine.values.conversations import ConversationTree, Missing, Role
from engine.values.prompts import Attachment
from engine.values.replies import Thought
from engine.values.tools import Outcome, ToolCall, ToolResult

_BETWEEN = "\n\n"  # what a message says in several parts
_TICKS = re.compile("`{3,}")
_LATEST_S = 1e11  # of a time in seconds; larger numbers are thousandths, or millionths
_ID_LENGTH = 9  # as `ToolCall.id` has it
_LANGUAGE = re.compile(r"[a-z0-9+#-]{1,20}")
_THINKS, _HAS_THOUGHT = "<think>", "</think>"
_MOST_NAME = 200  # characters


@dataclass(frozen=True, slots=True)
class Call:
    """One of a tool, by the name that the file gives it."""

    name: str
    tool: str
    arguments: object  # JSON as a text, or what it stands for


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a call."""

    name: str  # of the call
    text: str
    has_failed: bool = False


Part = str | Thought | Call | Answer
Found = tuple[ConversationTree, Mapping[Missing, int]]


@dataclass(slots=True)
class _Said:
    """A message as its parts come."""

    pieces: list[str] = field(default_factory=list)
    length: int = 0
    thoughts: list[Thought] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)

    def say(self, text: str) -> None:
        if text.strip():
            self.length += len(text) + (len(_BETWEEN) if self.pieces else 0)
            self.pieces.append(text)

    def __bool__(self) -> bool:
        return bool(self.pieces or self.thoughts or self.calls)


class Turns:
    """The messages of a conversation, in any order."""

    def __init__(self) -> None:
        self.missing: Counter[Missing] = Counter()
        self._nodes: list[FileNode[str]] = []
        self._calls: dict[str, ToolCall] = {}  # by the file's names

    def skip(self, key: str, parent: str | None) -> None:
        """Adds what only joins its children to its parent."""
        self._add(FileNode(key, parent, None, ""))

    def add(
        self,
        key: str,
        parent: str | None,
        role: Role,
        parts: Iterable[Part],
        created_at: datetime | None = None,
        model: str | None = None,
    ) -> None:
        """Adds a message. Where results of calls stand among its parts, it becomes several, each below the one before;
        `key` names the last of them. Raises TooLarge."""
        line: list[FileNode[str]] = []
        said = _Said()
        name = model if role is Role.ASSISTANT else None

        def put(role: Role, text: str, result: ToolResult | None = None) -> None:
            thoughts, calls = ((), ()) if result else (tuple(said.thoughts), tuple(said.calls))
            line.append(FileNode(key, None, role, text, created_at, name, thoughts, calls, result))
            if len(self._nodes) + len(line) > MOST_MESSAGES:
                raise TooLarge("too many messages")

        for place, part in enumerate(parts):
            match part:
                case str():
                    said.say(part)
                case Thought():
                    if part.text.strip():
                        said.thoughts.append(Thought(said.length, part.text, part.seconds, is_whole=True))
                case Call():
                    said.calls.append(self._called(part, f"{key} {place}"))
                case Answer(called) if called in self._calls:
                    if said:
                        put(role, _BETWEEN.join(said.pieces))
                        said = _Said()
                    outcome = Outcome.FAILED if part.has_failed else Outcome.DONE
                    put(Role.TOOL, part.text, ToolResult(self._calls[called], outcome))
                case Answer():
                    self.missing[Missing.STEP] += 1
        if said:
            put(role, _BETWEEN.join(said.pieces))
        if not line:
            self.skip(key, parent)
        for place, node in enumerate(line, 1):
            own = key if place == len(line) else f"{key}\0{place}"
            self._add(FileNode(own, parent, *_told(node)))
            parent = own

    def tree(
        self,
        title: object,
        system_prompt: str,
        times: tuple[datetime | None, datetime | None],
        head: object = None,
    ) -> Found:
        """`head`: None for the last message. Raises TooLarge."""
        grown = grow(self._nodes, str(head) if isinstance(head, str | int) else None, joins_turns=True)
        return tree(text_in(title) or None, system_prompt, times, grown), +self.missing

    def _add(self, node: FileNode[str]) -> None:
        self._nodes.append(node)
        if len(self._nodes) > MOST_MESSAGES:
            raise TooLarge("too many messages")

    def _called(self, call: Call, place: str) -> ToolCall:
        told = call.arguments
        # in pieces: as a whole, a large one would hold other threads
        arguments = told if isinstance(told, str) else "".join(json.JSONEncoder().iterencode(told or {}))
        if len(arguments) > MOST_JOINED:
            raise TooLarge("too long a call")
        digest = sha256(f"{place} {call.name}".encode("utf-8", "replace")).hexdigest()[:_ID_LENGTH]
        made = ToolCall(digest, "", call.tool[:_MOST_NAME] or "tool", arguments)
        self._calls[call.name] = made
        return made


def _told(node: FileNode[str]) -> tuple[Any, ...]:
    return (
        node.role,
        node.text,
        node.created_at,
        node.target_name,
        node.thoughts,
        node.calls,
        node.result,
    )


def text_in(value: object) -> str:
    return value if isinstance(value, str) else ""


def dicts_in(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def dict_in(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def name_in(value: object) -> str | None:
    """What names a message: a text or a number."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def moment_in(value: object) -> datetime | None:
    """The moment of a number of seconds since 1970, or their thousandths or millionths, or of a text as ISO 8601 has
    it."""
    if isinstance(value, str):
        try:
            return sound_time(datetime.fromisoformat(value))
        except ValueError:
            return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    for _ in range(3):
        if value > _LATEST_S:
            value /= 1000
    return time_from(value)


def language_in(value: object) -> str:
    """The name of a programming language; empty: it is none."""
    named = text_in(value)
    return named if _LANGUAGE.fullmatch(named) and named != "unknown" else ""


def with_thoughts(text: str) -> Iterator[Part]:
    """A reply that may begin with thoughts in the tags of most models."""
    body = text.lstrip()
    if not body.startswith(_THINKS):
        yield text
        return
    thought, _, answer = body.removeprefix(_THINKS).partition(_HAS_THOUGHT)
    yield Thought(0, thought.strip())
    yield answer.lstrip()


def list_parts(message: dict[str, Any], turns: Turns) -> Iterator[Part]:
    """What a message says that has a content, and calls, or the name of one that it answers."""
    if message.get("role") == "tool":
        yield Answer(name_in(message.get("tool_call_id")) or "", "\n\n".join(texts_in(message.get("content"), turns)))
        return
    for each in ("reasoning_content", "reasoning", "thinking"):
        if thought := text_in(message.get(each)):
            yield Thought(0, thought)
            break
    for text in texts_in(message.get("content"), turns):
        yield from with_thoughts(text) if message.get("role") == "assistant" else [text]
    for call in dicts_in(message.get("tool_calls")):
        function = dict_in(call.get("function"))
        yield Call(name_in(call.get("id")) or "", text_in(function.get("name")), function.get("arguments"))


def texts_in(content: object, turns: Turns) -> Iterator[str]:
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


def fenced(text: str, language: str) -> str:
    """A block of code in Markdown."""
    fence = "`" * max((len(ticks) + 1 for ticks in _TICKS.findall(text)), default=3)
    body = text.removesuffix("\n")
    return f"{fence}{language}\n{body}\n{fence}"


def written(title: str, text: str, language: str = "") -> str:
    """A text of its own within a reply: a page as it is below its title, code in a block."""
    if language:
        return fenced(text, language)
    return f"**{title}**\n\n{text}" if title.strip() else text


def attached(name: str, text: str) -> str:
    return Attachment(name or "file", text).block


def mark(kind: str, name: object) -> str:
    """Stands in place of what is missing, such as a picture."""
    named = " ".join(text_in(name)[:_MOST_NAME].replace("[", "(").replace("]", ")").split())
    return f"[{kind}: {named}]" if named else f"[{kind}]"
