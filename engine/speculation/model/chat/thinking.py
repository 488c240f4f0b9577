"""How a target thinks: the tags around its thoughts, the switch of its chat template, and what becomes of earlier
thoughts. All of it is found from what the template does with a small conversation, and where that is silent from the
letters of its tags; nothing is known of any model by its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from engine.speculation.model.prompt_text import PromptText, joined, with_pictures
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import TemplateFailed

Written = Callable[[Sequence[Mapping[str, Any]], bool, Mapping[str, Any]], str]
"""What a template writes for these messages, with or without the beginning of a reply, with these names besides."""

_WORD = "(?:think|thought|reason)"
_NAME = re.compile(rf"\b[A-Za-z_]{{0,40}}?{_WORD}[A-Za-z_]{{0,40}}\b", re.IGNORECASE)
_INSIDE = r"[^\s<>\[\]|◁▷'\"{}]{0,40}"
_TAG = re.compile(rf"[<\[◁]\|?/?{_INSIDE}?{_WORD}{_INSIDE}\|?[>\]▷]", re.IGNORECASE)
_TAG_BYTES = re.compile(rb"^[<\[\xe2][^\n ]{0,24}(?:think|thought|reason)[^\n ]{0,24}$", re.IGNORECASE | re.MULTILINE)
_ENDS = (("end_of_", "begin_of_"), ("end_", "start_"), ("end_", "begin_"), ("end", "start"), ("end", "begin"))
_MOST_NAMES = 12  # that are tried out
_CALL_ID = "aBcD12345"
_QUESTION, _THOUGHT, _ANSWER, _NEXT, _NONSENSE = "Wodan?", "Freya.", "Baldur.", "Loki?", "Heimdall"


@dataclass(frozen=True, slots=True)
class ThinkingTags:
    """The letters that a target puts around a thought, as in its chat template or its vocabulary."""

    open: str
    close: str
    ending: str  # what its template writes between a thought and the answer: `close`, with the spaces around it
    lead: str = ""  # what stands before an answer without a thought; empty: nothing does


class Past(Enum):
    """What becomes of the thoughts of earlier turns."""

    LEFT_OUT = auto()
    FIELD = auto()  # the template reads them from fields of the message
    INLINE = auto()  # it writes them as they stand in the message, between the tags that it knows


@dataclass(frozen=True, slots=True)
class ThinkingStyle:
    """What is known of a target that thinks, or may."""

    tags: ThinkingTags | None = None  # None: it does not
    past: Past = Past.LEFT_OUT
    fields: tuple[str, ...] = ()  # of a message, that the template may read a thought from
    switch: str = ""  # the name by which the template is told whether to think; empty: there is none
    on: bool = True  # the value of the switch with which it thinks
    by_default: bool = True  # whether it thinks unless it is told
    between_calls: bool = False  # the template tells of a thought before a call, until the user has spoken again
    beside_text: bool = False  # also if the reply has a text besides

    def said(self, turn: ChatTurn) -> str:
        return turn.text if self.past is Past.LEFT_OUT else turn.text + turn.thought

    def message(self, turn: ChatTurn, is_current: bool = False) -> dict[str, str]:
        """`is_current`: the user has said nothing since."""
        said = {"role": turn.role.value, "content": with_pictures(len(turn.pictures), turn.text)}
        if turn.thought and turn.calls and is_current and self.between_calls:
            is_taken = self.beside_text or not turn.text.strip()
            return said | dict.fromkeys(self.fields, PromptText(turn.thought)) if is_taken else said
        if not turn.thought or self.tags is None or self.past is Past.LEFT_OUT:
            return said
        if self.past is Past.FIELD:
            return said | dict.fromkeys(self.fields, PromptText(turn.thought))
        return said | {"content": joined((self.tags.open, PromptText(turn.thought), self.tags.ending, said["content"]))}

    def names(self, thinks: bool | None) -> dict[str, bool]:
        """The variables of the template; None: none."""
        return {} if thinks is None or not self.switch else {self.switch: thinks is self.on}

    def is_open(self, prompt: PromptText) -> bool:
        """True if the template has begun a thought at the end of a prompt, which the reply goes on with."""
        if self.tags is None:
            return False
        tail = str(prompt)[prompt.said.rfind(b"\1") + 1 :]
        return tail.rfind(self.tags.open) > tail.rfind(self.tags.close)


NO_THINKING = ThinkingStyle()


def thinking_of(source: str, written: Written, pieces: Sequence[bytes]) -> ThinkingStyle:
    """How a target thinks. `source`: of the template; `pieces`: the tokens of the vocabulary."""
    names = tuple(dict.fromkeys(_NAME.findall(source)))[:_MOST_NAMES]
    probe = _ThinkingProbe(written, names)
    if not names:
        return ThinkingStyle(_tags_in(_found_in(pieces), "", ""))
    told = probe.tags()
    tags = told or _tags_in([*_TAG.findall(source), *_found_in(pieces)], source, probe.begun())
    between, beside = probe.keeps_between_calls(""), probe.keeps_between_calls(_ANSWER)
    if tags is None:
        return ThinkingStyle(fields=names, between_calls=between or beside, beside_text=beside)
    past = probe.past(tags, source, reads_field=told is not None)
    return ThinkingStyle(tags, past, names, *probe.switch(tags), between or beside, beside)


@dataclass(frozen=True, slots=True)
class _ThinkingProbe:
    """Has a template write small conversations. What it refuses to write is empty."""

    written: Written
    names: tuple[str, ...]

    def prompt(self, **names: Any) -> str:
        return self._write([_said(_QUESTION)], True, names)

    def begun(self) -> str:
        told = ({name: value} for name in self.names for value in (True, False))
        return "".join(self.prompt(**names) for names in ({}, *told))

    def tags(self) -> ThinkingTags | None:
        """The tags as the template writes them around a thought that it is given."""
        begun = self.prompt()
        reply = _said(_ANSWER, Role.ASSISTANT)
        before, found, rest = self._write(
            [_said(_QUESTION), reply | dict.fromkeys(self.names, _THOUGHT)], False, {}
        ).partition(_THOUGHT)
        ending, answered, _ = rest.partition(_ANSWER)
        close = ending.strip()
        if not found or not answered or not close:
            return None
        opened = before[len(begun) :].strip() if before.startswith(begun) else ""
        opened = opened or next((each for each in _openings(close) if before.rstrip().endswith(each)), "")
        if not opened:
            return None
        plain, found, _ = self._write([_said(_QUESTION), reply], False, {}).partition(_ANSWER)
        lead = plain[len(begun) :].strip() if found and plain.startswith(begun) else ""
        return ThinkingTags(opened, close, ending, "" if close in lead or opened in lead else lead)

    def switch(self, tags: ThinkingTags) -> tuple[str, bool, bool]:
        """The first name that takes yes and no for an answer; one whose value is written is no switch."""
        for name in self.names:
            on, off, other = (self.prompt(**{name: value}) for value in (True, False, _NONSENSE))
            if on and off and on != off and other and _NONSENSE not in other:
                opens = [text.rfind(tags.open) > text.rfind(tags.close) for text in (on, off)]
                thinks = opens != [False, True]
                return name, thinks, self.prompt() == (on if thinks else off)
        return "", True, True

    def past(self, tags: ThinkingTags, source: str, reads_field: bool) -> Past:
        """A template that reads thoughts from a field says with it what becomes of them."""
        reply = _said(_ANSWER, Role.ASSISTANT)
        if self._writes_thought(reply | dict.fromkeys(self.names, _THOUGHT)):
            return Past.FIELD
        if reads_field or not (tags.open in source or tags.close in source):
            return Past.LEFT_OUT
        inline = f"{tags.open}\n{_THOUGHT}{tags.ending}{_ANSWER}"
        return Past.INLINE if self._writes_thought(reply | {"content": inline}) else Past.LEFT_OUT

    def keeps_between_calls(self, text: str) -> bool:
        """Whether a thought is told before a call whose result has just come, beside this text."""
        tool = {
            "type": "function",
            "function": {"name": _NONSENSE, "description": "", "parameters": {"type": "object"}},
        }
        for arguments in ({"a": "b"}, '{"a": "b"}'):
            function: Mapping[str, object] = {"name": _NONSENSE, "arguments": arguments}
            called = {"tool_calls": [{"id": _CALL_ID, "type": "function", "function": function}]}
            reply = _said(text, Role.ASSISTANT) | dict.fromkeys(self.names, _THOUGHT) | called
            result = _said(_NEXT, Role.TOOL) | {"tool_call_id": _CALL_ID, "name": _NONSENSE}
            if _THOUGHT in self._write([_said(_QUESTION), reply, result], True, {"tools": [tool]}):
                return True
        return False

    def _writes_thought(self, reply: Mapping[str, str]) -> bool:
        return _THOUGHT in self._write([_said(_QUESTION), reply, _said(_NEXT)], True, {})

    def _write(self, messages: Sequence[Mapping[str, Any]], begins: bool, names: Mapping[str, Any]) -> str:
        try:
            return self.written(messages, begins, names)
        except TemplateFailed:
            return ""


def _said(text: str, role: Role = Role.USER) -> dict[str, str]:
    return {"role": role.value, "content": text}


def _found_in(pieces: Sequence[bytes]) -> Iterator[str]:
    """Tokens that look like tags."""
    for found in _TAG_BYTES.findall(b"\n".join(pieces)):
        text = found.decode("utf-8", "replace")
        if _TAG.fullmatch(text):
            yield text


def _tags_in(found: Iterable[str], source: str, begun: str) -> ThinkingTags | None:
    """The first closing tag among these whose opening one is there, too, or else in `source` or `begun`."""
    known = dict.fromkeys(found)
    for close in known:
        for opened in _openings(close):
            if opened in known or opened in source or opened in begun:
                return ThinkingTags(opened, close, f"\n{close}\n\n")
    return None


def _openings(close: str) -> Iterator[str]:
    """Tags that this one may close."""
    if "/" in close:
        yield close.replace("/", "", 1)
    for end, start in _ENDS:
        for each in ((end, start), (end.upper(), start.upper())):
            if each[0] in close:
                yield close.replace(*each, 1)
