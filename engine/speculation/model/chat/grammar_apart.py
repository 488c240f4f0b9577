"""Answers questions about the format of a reply in a separate process, the only one that uses llguidance.

Its own limits do not bound what a grammar takes. Parts that may be empty and are doubled a few times, in three hundred
letters, become gigabytes, and some do so only when a reply has gone on for a while. Here that ends this process.
"""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from engine.speculation.model.apart.child import take_at_most
from engine.speculation.model.apart.sandbox import confine
from engine.values.errors import SettingInvalid
from engine.values.sentences import Sentence, packed, say, shortened, template

if TYPE_CHECKING:  # only the child imports it
    from llguidance import LLMatcher

OPENING_S = 20.0  # of processor time, for a vocabulary
BEGINNING_S = 2.0  # for a grammar; ordinary ones take milliseconds
STEP_S = 0.5  # ordinary ones take less than a millisecond

TOO_MUCH = template(
    "The reply format takes too much time or memory; make it simpler, above all where parts that may be empty are "
    "repeated."
)

Line = tuple[int, ...]  # tokens, one after the other

_AHEAD_S = 0.02
_IDLE_S = 3600.0  # without a question until it ends: a reply with a grammar may read its prompt for long before
# Any tokens that spell what is allowed: by default it allows only those that its tokenizer would choose where the text
# is certain, which would change the distribution.
_NO_OPTIONS, _OPTIONS = "%llguidance {}", '%llguidance {"no_forcing": true}'
_UNFIT = template("The reply does not follow its set format; change the format in the chat's settings.")
_DEAD_END = template("The reply format allows nothing here, not even the end; change it in the chat's settings.")
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|.)", re.DOTALL)  # which the converter gets wrong
_SYMBOLS = 100_000
_LEXER_STATES = 50_000  # at most 2 KB each
_LONGEST_REASON = 200  # characters
_LIMITS = ("lexer error", "max is", "too many", "fuel", "limit")
# Between the parts of a value, as llama.cpp has it: without a limit, a reply might be made of spaces.
WHITESPACE = {"whitespace_flexible": True, "whitespace_pattern": r"( |\n{1,2}[ \t]{0,20})?"}
_INNER = frozenset({"items", "prefixItems", "anyOf", "oneOf"})  # keys of schemas within a schema
_INNER_BY_NAME = frozenset({"properties", "$defs", "definitions"})
_OPEN = frozenset(
    {"additionalProperties", "patternProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "$ref"}
)


def serve(pipe: Connection) -> None:
    """Takes a vocabulary, then questions as `Matchers` answers them, in JSON. An answer begins with +, or with - if it
    is a sentence that says why there is none."""
    import llguidance.gbnf_to_lark  # noqa: F401 (nothing can be opened later)

    confine()
    take_at_most(OPENING_S)
    matchers = Matchers(pipe.recv_bytes())
    pipe.send_bytes(b"+")
    while True:
        take_at_most(0)
        _end_after(_IDLE_S)
        what, number, argument = json.loads(pipe.recv_bytes())
        _end_after(0)
        take_at_most(BEGINNING_S if what == "begin" else STEP_S)
        pipe.send_bytes(answered(matchers, what, number, argument))
        matchers.look_ahead(lambda: take_at_most(STEP_S))  # while the model reads what was written or guessed


def answered(matchers: Matchers, what: str, number: int, argument: Any) -> bytes:
    try:
        return b"+" + matchers.answer(what, number, argument)
    except SettingInvalid as error:
        return b"-" + json.dumps(packed(error.sentence)).encode()


class Matchers:
    """The formats of replies, in the tokens of one vocabulary. Each has a number."""

    def __init__(self, vocabulary: bytes) -> None:
        from llguidance import LLTokenizer, TokenizerWrapper

        self._tokenizer = LLTokenizer(TokenizerWrapper(_Tokens(vocabulary)), slices=LLTokenizer.json_slices())
        self._matchers: dict[int, LLMatcher] = {}
        self._ahead_of = -1  # the number of which something is known ahead:
        self._ahead: dict[Line, bytes] = {}  # which tokens may come next, after lines that may be written
        self._lines: tuple[LLMatcher, list[Line]] | None = None  # of which that is to be known

    def answer(self, what: str, number: int, argument: Any) -> bytes:
        """Raises SettingInvalid."""
        match what:
            case "begin":  # of a text, and whether that is in llguidance's own language
                text, is_lark = argument
                self._matchers[number] = self._begun(f"{_OPTIONS}\n{text}" if is_lark else _compiled(text))
            case "copy":  # of another one, as far as that has come
                self._matchers[number] = self._matchers[argument].deep_copy()
            case "drop":
                for each in argument:
                    self._matchers.pop(each, None)
            case "accept":  # tokens, after which it tells whether nothing may follow
                matcher = self._matchers[number]
                if argument and not matcher.consume_tokens(argument):
                    raise _refusal(matcher, _UNFIT)
                self._ahead_of, self._ahead = number, {}
                self._lines = None if matcher.is_stopped() else (matcher, [()])
                return bytes((matcher.is_stopped(),))
            case "follow":  # how many tokens of each line may follow
                matcher = self._matchers[number]
                if self._ahead_of != number:
                    self._ahead_of, self._ahead = number, {}
                reaches = [matcher.validate_tokens(line) for line in argument]
                self._lines = matcher.deep_copy(), lines_within(argument, reaches)
                return json.dumps(reaches).encode()
            case "masks":  # what `allowed` tells, for as many of the lines that were followed as it is known
                return b"".join(self._ahead.values()) if self._ahead_of == number else b""
            case "allows":  # whether these tokens may follow
                return bytes((self._matchers[number].validate_tokens(argument) == len(argument),))
            case "allowed":  # after these tokens; a bit for each of the vocabulary
                return self._allowed(self._matchers[number], argument)
        return b""

    def look_ahead(self, limit_step: Callable[[], None]) -> None:
        """Prepares masks for some milliseconds. `limit_step` is called before each step."""
        if self._lines is None:
            return
        (matcher, lines), self._lines = self._lines, None
        end = time.monotonic() + _AHEAD_S
        for line in lines[len(self._ahead) :]:
            limit_step()
            with suppress(SettingInvalid):
                self._ahead[line] = self._allowed(matcher, [*line])
            if line not in self._ahead or time.monotonic() > end:
                return

    def _begun(self, lark: str) -> LLMatcher:
        from llguidance import LLMatcher, LLParserLimits

        limits = LLParserLimits(max_grammar_size=_SYMBOLS, max_lexer_states=_LEXER_STATES, verbose_errors=False)
        matcher = LLMatcher(self._tokenizer, LLMatcher.grammar_from_lark(lark), log_level=0, limits=limits)
        if matcher.is_error():
            raise _unusable(matcher.get_error())
        return matcher

    def _allowed(self, matcher: LLMatcher, line: list[int]) -> bytes:
        if line and not matcher.consume_tokens(line):
            raise _refusal(matcher, _UNFIT)
        bits = bytes(matcher.compute_bitmask())
        if matcher.is_error():
            raise _refusal(matcher, _DEAD_END)
        if line:
            matcher.rollback(len(line))
        return bits


class _Tokens:
    """A tokenizer as llguidance wants it: the tokens, and after them one that stands for all that end a reply, of which
    there may be none. Nothing has to be tokenized."""

    bos_token_id = None

    def __init__(self, vocabulary: bytes) -> None:
        self.tokens, special = unpacked_vocabulary(vocabulary)
        self.eos_token_id = len(self.tokens)
        self.tokens.append(b"<end>")
        self.special_token_ids = [*special, self.eos_token_id]

    def __call__(self, text: bytes) -> list[int]:  # noqa: ARG002
        return []  # only asked where text is forced


def _compiled(text: str) -> str:
    """The grammar in llguidance's language. Raises SettingInvalid."""
    from llguidance.gbnf_to_lark import gbnf_to_lark

    is_schema = text.lstrip().startswith("{")
    if not is_schema and "::=" not in text:
        raise SettingInvalid(
            "The reply format is neither a JSON schema, which starts with {, nor a GBNF grammar, which has lines "
            "such as: root ::= [a-z]+"
        )
    try:
        if is_schema:
            schema = closed_schema(json.loads(text)) | {"x-guidance": WHITESPACE}
            return f"{_OPTIONS}\nstart: %json {json.dumps(schema)}\n"
        lark = gbnf_to_lark(_ESCAPED.sub(_unescaped, text)).replace(_NO_OPTIONS, _OPTIONS, 1)
        lark.encode()  # half a character cannot be handed on
        return lark
    except json.JSONDecodeError as error:
        raise _unusable(
            say(
                "line {line}, column {column} is not valid JSON: {reason}",
                line=error.lineno,
                column=error.colno,
                reason=error.msg,
            )
        ) from None
    except RecursionError:
        raise _unusable(say("it is nested too deeply")) from None
    except Exception as error:  # the converter has no class of its own for its errors
        raise _unusable(str(error)) from None


def _unescaped(escape: re.Match[str]) -> str:
    code = int(escape[1] or escape[2] or "0", 16)
    return chr(code) if code >= 0x80 else f"\\x{code:02x}" if escape[1] or escape[2] else escape[0]


def _refusal(matcher: LLMatcher, otherwise: str) -> SettingInvalid:
    """The error of a refusal: llguidance has limits, too, and reports them in its own words."""
    is_limit = any(words in matcher.get_error() for words in _LIMITS)
    return SettingInvalid(TOO_MUCH if is_limit else otherwise)


def _unusable(reason: str) -> SettingInvalid:
    return SettingInvalid("The reply format cannot be used: {reason}.", reason=_first_line(reason))


def _first_line(reason: str) -> str:
    if isinstance(reason, Sentence):
        return reason
    lines = reason.strip().splitlines()
    if not lines:
        return say("it is too complicated")
    return shortened(lines[0].split("JSON schema: ")[-1], _LONGEST_REASON).rstrip(". ")


def _end_after(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def packed_vocabulary(pieces: Sequence[bytes], special: Iterable[int]) -> bytes:
    """A line of JSON, and all tokens in one."""
    told = {"lengths": [*map(len, pieces)], "special": sorted(special)}
    return json.dumps(told).encode() + b"\n" + b"".join(pieces)


def unpacked_vocabulary(data: bytes) -> tuple[list[bytes], list[int]]:
    told, _, joined = data.partition(b"\n")
    known = json.loads(told)
    pieces, place = [], 0
    for length in known["lengths"]:
        pieces.append(joined[place : place + length])
        place += length
    return pieces, known["special"]


def lines_within(lines: Iterable[Sequence[int]], reaches: Iterable[int]) -> list[Line]:
    """The beginnings of these lines, as far as each reaches; each once, the empty one first."""
    begun = (tuple(line[:end]) for line, reach in zip(lines, reaches, strict=True) for end in range(reach + 1))
    return [*dict.fromkeys([(), *begun])]


def closed_schema(schema: Any) -> Any:
    """The schema, closed: its objects have only the properties that are named, unless it says otherwise, as llama.cpp
    reads schemas; else a model would go on inventing some."""
    if isinstance(schema, list):
        return [closed_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: closed_schema(value) if key in _INNER else value for key, value in schema.items()}
    for key in _INNER_BY_NAME & schema.keys():
        if isinstance(schema[key], dict):
            closed[key] = {name: closed_schema(value) for name, value in schema[key].items()}
    if "properties" in schema and schema.keys().isdisjoint(_OPEN):
        closed["additionalProperties"] = False
    return closed
