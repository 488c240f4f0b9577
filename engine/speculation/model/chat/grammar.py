"""The format of a reply, by a JSON schema or a GBNF grammar: which tokens may come next.

It works on bytes, so that a text may be made of any tokens that spell it. Grammars come from anywhere, so this process
never works on one: a child with limits does (`grammar_apart.py`). A grammar that takes more is refused, or ends the
reply with a sentence.
"""

from __future__ import annotations

import itertools
import json
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from engine.speculation.model.apart.child import Child, ChildEnded, Limits
from engine.speculation.model.chat.grammar_apart import (
    BEGINNING_S,
    OPENING_S,
    STEP_S,
    TOO_MUCH,
    Line,
    lines_within,
    packed_vocabulary,
    serve,
)
from engine.speculation.model.interface import Interrupted, Vocabulary
from engine.speculation.numerics.sampling import Allowed
from engine.values.errors import Cancelled, SettingInvalid
from engine.values.sentences import unpacked
from engine.values.stop_signal import StopSignal

_MEMORY_BYTES, _BYTES_PER_TOKEN = 256 << 20, 2_000  # what a child may take; a vocabulary needs a fifth of its share
_LONGEST_TEXT = 4_000_000  # characters; tools may have many schemas


class Grammar:
    """The format of one reply, and how far it has come. Only `accept` moves it on; questions about a line of tokens
    after that change nothing. Every method raises SettingInvalid if it takes too much, and Interrupted when the reply
    is stopped meanwhile."""

    def __init__(self, desk: _Desk, number: int, stop: StopSignal) -> None:
        self._desk = desk
        self._number = number
        self._stop = stop
        self._ends = desk.ends
        self._lines: list[Line] = []  # of which the desk may know by now what may follow
        self._masks: dict[Line, bytes] = {}
        self.is_over = False  # whether nothing may follow but the end
        weakref.finalize(self, desk.dropped.append, number)

    def copy(self) -> Grammar:
        copied = Grammar(self._desk, self._desk.new_number(), self._stop)
        self._ask("copy", self._number, of=copied)
        copied.is_over = self.is_over
        return copied

    def accept(self, tokens: Sequence[int]) -> None:
        """Moves on by tokens that were written; one that ends a reply ends it. Raises SettingInvalid if they do not
        fit."""
        written = [int(token) for token in tokens if token not in self._ends]
        self.is_over = self._ask("accept", written) != b"\0"
        self._lines, self._masks = [()], {}

    def allows(self, line: Sequence[int]) -> bool:
        """True if all of these may follow, one after the other."""
        return self._ask("allows", [*map(int, line)]) != b"\0"

    def following(self, lines: Sequence[Sequence[int]]) -> Callable[[Sequence[int]], bool]:
        """`allows`, for the beginnings of these lines, which will soon be asked about: one question for all."""
        told = [[*map(int, line)] for line in lines]
        reaches = json.loads(self._ask("follow", told))
        self._lines, self._masks = lines_within(told, reaches), {}
        allowed = {*self._lines}
        return lambda line: tuple(line) in allowed

    def allowed(self, line: Sequence[int]) -> Allowed:
        """The tokens that may follow these, which it allows. Raises SettingInvalid if there are none."""
        bits = np.frombuffer(self._mask(tuple(map(int, line))), np.uint8)
        num_tokens = self._desk.num_tokens
        known = np.unpackbits(bits, count=num_tokens + 1, bitorder="little").view(np.bool_)
        allowed = known[:num_tokens]
        allowed[self._ends] = known[num_tokens]
        return allowed

    def _mask(self, line: Line) -> bytes:
        if line in self._lines and not self._masks:
            told, size = self._ask("masks", None), self._desk.mask_bytes
            self._masks = {each: told[place * size :][:size] for place, each in enumerate(self._lines)}
        return self._masks.get(line) or self._ask("allowed", line)

    def _ask(self, what: str, argument: Any, of: Grammar | None = None) -> bytes:
        try:
            return self._desk.ask(what, (of or self)._number, argument, self._stop)
        except Cancelled:
            raise Interrupted from None


class Grammars:
    """Begins grammars for the tokens of one vocabulary. The child starts with the first, and again when it has ended:
    after a grammar that took too much, or a long time without questions."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._desk: _Desk | None = None

    def begin(self, text: str, stop: StopSignal | None = None) -> Grammar:
        """Raises SettingInvalid for a text that is no grammar, and Cancelled when `stop` gets set."""
        return self._begun(text, False, stop or StopSignal())

    def begin_lark(self, rules: str, stop: StopSignal) -> Grammar:
        """Begins a grammar in llguidance's own language. Raises SettingInvalid and Cancelled."""
        return self._begun(rules, True, stop)

    def _begun(self, text: str, is_lark: bool, stop: StopSignal) -> Grammar:
        if stop.is_set():
            raise _stopped()
        if len(text) > _LONGEST_TEXT:
            raise SettingInvalid(TOO_MUCH)
        try:
            if self._desk is None or self._desk.has_ended:
                self._desk = _Desk(self._vocabulary, stop)
            begun = Grammar(self._desk, self._desk.new_number(), stop)
            begun._ask("begin", (text, is_lark))
        except (Cancelled, Interrupted):
            raise _stopped() from None
        return begun


class _Desk:
    """The place to ask about grammars of one vocabulary: a child."""

    def __init__(self, vocabulary: Vocabulary, stop: StopSignal) -> None:
        """Raises SettingInvalid, and Cancelled when `stop` gets set."""
        self.num_tokens = len(vocabulary)
        self.mask_bytes = (len(vocabulary) + 1 + 31) // 32 * 4  # with a bit for all that end a reply
        self.ends = [*vocabulary.end_of_generation]
        self.dropped: list[int] = []  # numbers of grammars that are no longer used
        self._numbers = itertools.count()
        self._open(vocabulary, stop)

    @property
    def has_ended(self) -> bool:
        return self._child.has_ended

    def new_number(self) -> int:
        return next(self._numbers)

    def ask(self, what: str, number: int, argument: Any, stop: StopSignal) -> bytes:
        """Raises SettingInvalid, and Cancelled when `stop` gets set."""
        if self.dropped:
            gone = [self.dropped.pop() for _ in range(len(self.dropped))]
            self._answered(("drop", 0, gone), STEP_S, stop)
        seconds = BEGINNING_S if what == "begin" else STEP_S
        return self._answered((what, number, argument), seconds, stop)

    def _open(self, vocabulary: Vocabulary, stop: StopSignal) -> None:
        limits = Limits(memory_bytes=_MEMORY_BYTES + _BYTES_PER_TOKEN * len(vocabulary))
        self._child = Child(serve, (), limits)
        try:
            self._child.ask(packed_vocabulary(vocabulary.pieces, vocabulary.silent), OPENING_S, stop.is_set)
        except ChildEnded as error:
            raise SettingInvalid(TOO_MUCH) from error

    def _answered(self, question: tuple[str, int, Any], seconds: float, stop: StopSignal) -> bytes:
        answer = self._said(question, seconds, stop)
        if answer[:1] == b"-":
            raise SettingInvalid(unpacked(json.loads(answer[1:])))
        return answer[1:]

    def _said(self, question: tuple[str, int, Any], seconds: float, stop: StopSignal) -> bytes:
        try:
            return self._child.ask(json.dumps(question).encode(), seconds, stop.is_set)
        except ChildEnded as error:
            raise SettingInvalid(TOO_MUCH) from error


@cache
def _letters() -> Grammars:
    """Grammars for checks while a user writes one."""
    letters = tuple(bytes((byte,)) for byte in range(256))
    return Grammars(Vocabulary(letters, frozenset(), frozenset(), None, None, False))


def _stopped() -> Cancelled:
    return Cancelled("The reply was stopped before it began.")


def check_grammar(text: str) -> None:
    """Raises SettingInvalid for a text that is no grammar, or one that allows no reply at all."""
    grammar = _letters().begin(text)
    try:
        is_empty = not grammar.allowed(()).any()
    except SettingInvalid as error:
        if error.sentence == TOO_MUCH:
            raise
        is_empty = True
    if is_empty:
        raise SettingInvalid("The reply format allows no text at all; change it.")
