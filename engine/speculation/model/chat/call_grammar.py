"""Holds a model to whole calls: from the tag that opens one on, only what such a call may be can be written.

Before and after calls a reply is free, and nothing is computed for it. What a call may be comes from the schemas of
servers: a schema that cannot be used allows any object.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.speculation.model.chat.grammar import Grammar, Grammars
from engine.speculation.model.chat.grammar_apart import WHITESPACE, closed_schema
from engine.speculation.model.chat.tool_format import Shape, ToolFormat, parsed_object
from engine.speculation.model.interface import Interrupted, PromptReader
from engine.speculation.numerics.sampling import Allowed
from engine.values.errors import Cancelled, SettingInvalid
from engine.values.stop_signal import StopSignal
from engine.values.tools import Tool, told_names

_ANY: dict[str, Any] = {"type": "object"}
_SPACE = "SPACE?"
_SPACES = r"SPACE: /[ \n]{1,4}/"


@dataclass(frozen=True, slots=True)
class _Trigger:
    letters: bytes
    follows: str  # in Lark, what may follow
    plainly: str  # the same if a schema cannot be used


@dataclass(frozen=True, slots=True)
class _Free:
    tail: tuple[int, ...] = ()  # the last tokens, in which a tag may have begun


_State = _Free | Grammar


class CallGrammar:
    """A `Grammar` for the calls of one reply; raises Interrupted when it is stopped meanwhile."""

    is_over = False

    def __init__(self, made: CallGrammars, stop: StopSignal) -> None:
        self.made = made
        self._stop = stop
        self._state: _State = _Free()

    def accept(self, tokens: Sequence[int]) -> None:
        self._state = self._walked(self._state, tokens, is_own=True)

    def allows(self, line: Sequence[int]) -> bool:
        state = self._state
        for place, token in enumerate(line):
            if isinstance(state, Grammar) and not self._allows(state, line[place]):
                return False
            state = self._walked(state, (token,), is_own=place > 0)
        return True

    def following(self, _lines: Sequence[Sequence[int]]) -> Callable[[Sequence[int]], bool]:
        return self.allows

    def allowed(self, line: Sequence[int]) -> Allowed | None:
        """The tokens that may follow these; None: all."""
        state = self._walked(self._state, line, is_own=False)
        try:
            return state.allowed(()) if isinstance(state, Grammar) else None
        except SettingInvalid:  # no server's schema ends a reply
            return None

    @staticmethod
    def _allows(state: Grammar, token: int) -> bool:
        try:
            return state.allows((token,))
        except SettingInvalid:
            return True

    def _walked(self, state: _State, tokens: Sequence[int], is_own: bool) -> _State:
        """The state after these tokens. `is_own`: the state is used nowhere else, and may change."""
        for token in tokens:
            if token in self.made.ends:
                continue
            if isinstance(state, Grammar):
                try:
                    state = state if is_own else state.copy()
                    state.accept((token,))
                except SettingInvalid:  # not the model's choice, such as the end of a thought; or it is too much
                    state = _Free()
                else:
                    state = _Free() if state.is_over else state
            else:
                state = self.made.after((*state.tail, token), self._stop)
            is_own = True
        return state


class FormOrCalls:
    """A `Grammar` for a reply that either has a form, or begins with calls: its first letters decide."""

    def __init__(self, form: Grammar, calls: CallGrammar, opening: str) -> None:
        """`opening`: with what each call begins."""
        self._form: Grammar | None = form
        self._calls: CallGrammar | None = calls
        self._made = calls.made
        self._opening = opening.encode()
        self._begun = b""

    @property
    def is_over(self) -> bool:
        return self._form is not None and self._form.is_over

    def accept(self, tokens: Sequence[int]) -> None:
        calls = self._calls_after(tokens)
        if self._form is not None and calls is not None and not self._form.allows(tokens):
            self._form = None
        self._calls, self._begun = calls, self._begun_with(tokens)
        for each in (self._form, self._calls):
            if each is not None:
                each.accept(tokens)

    def allows(self, line: Sequence[int]) -> bool:
        calls = self._calls_after(line)
        return (self._form is not None and self._form.allows(line)) or (calls is not None and calls.allows(line))

    def following(self, lines: Sequence[Sequence[int]]) -> Callable[[Sequence[int]], bool]:
        return self.allows if self._form is None or self._calls is not None else self._form.following(lines)

    def allowed(self, line: Sequence[int]) -> Allowed | None:
        """The tokens that may follow these; None: all."""
        calls, begun = self._calls_after(line), self._begun_with(line)
        of_form = self._form.allowed(line) if self._form is not None and self._form.allows(line) else None
        if calls is None:
            return of_form
        of_calls = self._made.beginning(self._opening[len(begun) :]) if begun != self._opening else calls.allowed(line)
        return of_calls if of_form is None or of_calls is None else of_form | of_calls

    def _calls_after(self, line: Sequence[int]) -> CallGrammar | None:
        return self._calls if self._opening.startswith(self._begun_with(line)) else None

    def _begun_with(self, line: Sequence[int]) -> bytes:
        """As much of the reply as an opening has, after these tokens."""
        return (self._begun + b"".join(self._made.pieces[token] for token in line))[: len(self._opening)]


ReplyGrammar = Grammar | CallGrammar | FormOrCalls


class CallGrammars:
    """The calls that these tools allow, in the shape of a target's template."""

    def __init__(self, target: PromptReader, form: ToolFormat, tools: Sequence[Tool]) -> None:
        self._target = target
        self.pieces = target.vocabulary.pieces
        self.ends = target.vocabulary.end_of_generation
        self._triggers = [*_triggers(form, tools)]
        self._longest = max((len(each.letters) for each in self._triggers), default=0)
        self._tags = f"{form.open} {form.middle} {form.close}"
        self._grammars: Grammars | None = None
        self._rules: dict[tuple[bytes, int], list[str]] = {}  # in Lark, of what is tried
        self._beginnings: dict[bytes, Allowed] = {}

    @property
    def is_empty(self) -> bool:
        return not self._triggers

    def begin(self, stop: StopSignal) -> CallGrammar:
        return CallGrammar(self, stop)

    def beginning(self, letters: bytes) -> Allowed:
        """The tokens that such a text may begin with."""
        if letters not in self._beginnings:
            fits = [bool(each) and (letters.startswith(each) or each.startswith(letters)) for each in self.pieces]
            self._beginnings[letters] = np.array(fits)
        return self._beginnings[letters]

    def after(self, tail: tuple[int, ...], stop: StopSignal) -> _State:
        """The state where the free part of a reply ends with these tokens. Raises Interrupted when `stop` gets set."""
        data = b"".join(self.pieces[token] for token in tail)
        for number, trigger in enumerate(self._triggers):
            place = data.find(trigger.letters)
            if place < 0:
                continue
            first = start = 0
            while start + len(self.pieces[tail[first]]) <= place:
                start += len(self.pieces[tail[first]])
                first += 1
            grammar = self._grammar(data[start:place], number, stop)
            if grammar is None:
                return _Free()
            try:
                grammar.accept(tail[first:])
            except SettingInvalid:  # it goes on in another way within its last token
                return _Free()
            return grammar
        while tail and len(data) - len(self.pieces[tail[0]]) >= self._longest - 1:
            data = data[len(self.pieces[tail[0]]) :]
            tail = tail[1:]
        return _Free(tail)

    def _grammar(self, before: bytes, number: int, stop: StopSignal) -> Grammar | None:
        """A new grammar. `before`: what stands before the tag in its first token."""
        key = before, number
        if self._grammars is None:
            known = self._target.vocabulary
            spelled = {*self._target.tokenize(self._tags)} - known.end_of_generation
            self._grammars = Grammars(replace(known, special=known.special - spelled))
        if key not in self._rules:
            self._rules[key] = [*_rules(before, self._triggers[number])]
        while self._rules[key]:
            try:
                return self._grammars.begin_lark(self._rules[key][0], stop)
            except Cancelled:
                raise Interrupted from None
            except SettingInvalid:
                del self._rules[key][0]
        return None


def _rules(before: bytes, trigger: _Trigger) -> Iterator[str]:
    """The rules in the order in which they are tried."""
    opening = _literal((before + trigger.letters).decode("utf-8", "replace"))
    for follows in (trigger.follows, trigger.plainly):
        yield f"start: {opening} {follows}\n{_SPACES}\n"


def _triggers(form: ToolFormat, tools: Sequence[Tool]) -> Iterator[_Trigger]:
    """The triggers; none for calls whose shape has more in it than can be known."""
    told = told_names(tools)
    close = _first_tag(form.close)
    end = f"{_SPACE} {_literal(close)}" if close else ""
    if form.shape is Shape.OBJECT and form.name_key and not form.id_key:
        if form.tag:
            rest = form.open.partition(form.tag)[2].strip()
            head = f"{_SPACE} {_literal(rest)} {_SPACE}" if rest else _SPACE
            whole, plain = (_json({"anyOf": [*_objects(form, told, kept)]}) for kept in (True, False))
            lists = [f'"[" {_SPACE} {each} ({_SPACE} "," {_SPACE} {each})* {_SPACE} "]"' for each in (whole, plain)]
            whole, plain = lists if form.is_list else (whole, plain)
            yield _Trigger(form.tag.encode(), f"{head} {whole} {end}", f"{head} {plain} {end}")
        elif not form.open.strip():
            for name, tool in told.items():
                opened = f'{{"{form.name_key}": {json.dumps(name)}, "{form.arguments_key}": '
                schema, plain = (f'{_json(each)} {_SPACE} "}}"' for each in (_schema(tool), _ANY))
                yield _Trigger(opened.encode(), schema, plain)
    if (
        form.shape is Shape.NAMED
        and form.tag[:1] in ("<", "[")
        and form.middle.strip("=>\n ").startswith(("[", "<", ""))
    ):
        if any(letter.isdigit() for letter in form.open + form.middle):  # an id, or a number
            return
        for name, tool in told.items():
            opened = f"{form.open.lstrip()}{name}{form.middle}"
            schema, plain = (f"{_json(each)} {end}" for each in (_schema(tool), _ANY))
            yield _Trigger(opened.encode(), schema, plain)


def _objects(form: ToolFormat, told: Mapping[str, Tool], keeps_schemas: bool) -> Iterator[dict[str, Any]]:
    for name, tool in told.items():
        arguments = _schema(tool) if keeps_schemas else _ANY
        yield {
            "type": "object",
            "properties": {form.name_key: {"const": name}, form.arguments_key: arguments},
            "required": [form.name_key, form.arguments_key],
            "additionalProperties": False,
        }


def _schema(tool: Tool) -> dict[str, Any]:
    found = parsed_object(tool.schema)
    kept = {key: value for key, value in found.items() if not key.startswith("$") or key == "$defs"}
    known: dict[str, Any] = closed_schema({"type": "object", "properties": {}} | kept)
    return known


def _json(schema: dict[str, Any]) -> str:
    return f"%json {json.dumps(schema | {'x-guidance': WHITESPACE})}"


def _first_tag(text: str) -> str:
    bare = text.strip()
    end = bare.find(">" if bare.startswith("<") else "]")
    return bare[: end + 1] if bare[:1] in ("<", "[") and end > 0 else ""


def _literal(text: str) -> str:
    return json.dumps(text)
