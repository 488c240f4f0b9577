"""Divides what a reply says, as it is written, into its answer and the calls of tools after it."""

from __future__ import annotations

import re
import secrets
import string
from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.speculation.model.chat.call_parsing import TAGS, WrittenCall, find_calls, find_untagged
from engine.speculation.model.chat.tool_format import ToolFormat
from engine.speculation.replies.text import overlap
from engine.speculation.replies.thoughts import PartKind, ReplyPart
from engine.values.replies import Thought
from engine.values.tools import Tool, ToolCall, told_names

_LETTERS = string.ascii_letters + string.digits
_ID_LENGTH = 9  # as some templates want it
_LONGEST_BEGINNING = 200  # characters by which it is known whether an object is a call
_TRAILING_TAGS = re.compile(r"(?:\s*<\|[^<>|\s]{1,40}\|>\s*\w{0,20})+\s*\Z")


@dataclass(frozen=True, slots=True)
class Divided:
    text: str
    thoughts: tuple[Thought, ...]
    calls: tuple[ToolCall, ...] = ()


class CallSplitter:
    """Releases parts as early as possible; together they are all of the answer, in order. From the first tag that opens
    a call, everything belongs to calls; so does an answer that begins as an object that calls."""

    def __init__(self, form: ToolFormat | None, tools: Sequence[Tool], begun: str = "") -> None:
        """`form`, `tools`: without either all is answer. `begun`: the beginning of a call, which the reply goes on
        with."""
        self._form = form if tools else None
        self._tools = told_names(tools)
        self._schemas = {name: tool.schema for name, tool in self._tools.items()}
        self._tags = () if form is None or not tools else tuple(dict.fromkeys(filter(None, (form.tag, *TAGS))))
        self._may_be_bare = form is not None and bool(tools) and not form.tag
        self._bare = re.compile(r"\s*\{\s*\"(?:name|function|tool_name|type)\"\s*:\s*\"")
        self._waiting = ""
        self._called: list[str] = [begun] if begun else []
        self.is_calling = bool(begun)

    @property
    def tags(self) -> str:
        """All letters by which its special tokens can be found."""
        form = self._form
        return "" if form is None else " ".join((form.open, form.middle, form.close, form.key_open, *self._tags))

    def feed(self, text: str) -> list[ReplyPart]:
        if self._form is None:
            return [ReplyPart(text, PartKind.ANSWER)] if text else []
        self._waiting += text
        return self._released(is_last=False)

    def finish(self) -> list[ReplyPart]:
        return self._released(is_last=True) if self._waiting else []

    def _released(self, is_last: bool) -> list[ReplyPart]:
        parts: list[ReplyPart] = []
        if not self.is_calling:
            text = self._waiting
            size, begins = self._answer_in(text, is_last)
            if size:
                parts.append(ReplyPart(text[:size], PartKind.ANSWER))
                self._waiting = text[size:]
                self._may_be_bare = self._may_be_bare and not text[:size].strip()
            self.is_calling = begins
        if self.is_calling and self._waiting:
            self._called.append(self._waiting)
            parts.append(ReplyPart(self._waiting, PartKind.CALL))
            self._waiting = ""
        return parts

    def _answer_in(self, text: str, is_last: bool) -> tuple[int, bool]:
        """How many characters surely belong to the answer, and whether a call begins after them."""
        if self._may_be_bare and text.strip():
            begun = text.lstrip()
            if self._bare.match(text):
                return 0, True
            if begun.startswith("{") and len(begun) < _LONGEST_BEGINNING and not is_last and _may_become(begun):
                return 0, False
        places = [place for tag in self._tags if (place := text.find(tag)) >= 0]
        if places:
            return min(places), True
        return len(text) - (0 if is_last else max(overlap(text, tag) for tag in self._tags)), False

    def divided(self, text: str, thoughts: tuple[Thought, ...]) -> Divided:
        """The whole reply, whose answer, as far as it was released, is `text`. What looked like a call and is none
        returns to the answer."""
        if self._form is None:
            return Divided(text, thoughts)
        called = "".join(self._called)
        found = find_calls(called, self._form, self._schemas) if called else ()
        if found:
            return Divided(text.rstrip(), thoughts, self._calls(found))
        text += called
        found = find_untagged(text, self._form, self._tools)
        if found:
            return Divided("", thoughts, self._calls(found))
        return self._from_thought(text, thoughts)

    def _from_thought(self, text: str, thoughts: tuple[Thought, ...]) -> Divided:
        """The reply of a model that ended a thought by calling, as some do."""
        assert self._form is not None
        tag = self._form.tag
        if text.strip() or not thoughts or thoughts[-1].is_whole or not tag or tag not in thoughts[-1].text:
            return Divided(text, thoughts)
        thought, _, rest = thoughts[-1].text.partition(tag)
        found = find_calls(tag + rest, self._form, self._schemas)
        if not found:
            return Divided(text, thoughts)
        last = replace(thoughts[-1], text=_TRAILING_TAGS.sub("", thought).rstrip(), is_whole=True, origins=())
        return Divided(text, (*thoughts[:-1], last), self._calls(found))

    def _calls(self, found: Sequence[WrittenCall]) -> tuple[ToolCall, ...]:
        calls = []
        for each in found:
            tool = self._tools.get(each.name)
            server, name = ("", each.name) if tool is None else (tool.server, tool.name)
            calls.append(ToolCall(new_call_id(), server, name, each.arguments))
        return tuple(calls)


def _may_become(begun: str) -> bool:
    """True if an object that begins this way may turn out to call."""
    bare = re.sub(r"\s+", "", begun)
    return any(start.startswith(bare) for start in ('{"name":"', '{"function":"', '{"tool_name":"', '{"type":"'))


def new_call_id() -> str:
    """An id for `ToolCall.id`."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_ID_LENGTH))
