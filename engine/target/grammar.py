"""What a reply may look like, by a JSON schema or a GBNF grammar: which tokens may come next. llguidance does it.

It works on bytes, so that a text may be made of any tokens that spell it. Its limits bound time and memory, whatever a
grammar says: one that needs more is refused, or ends the reply with a sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.errors import SettingInvalid
from engine.numerics.sampling import Allowed
from engine.sentences import Sentence, say, shortened, template
from engine.target.interface import Vocabulary

if TYPE_CHECKING:  # it is imported when somebody sets a grammar
    from llguidance import LLMatcher, LLParserLimits, LLTokenizer

# Any tokens that spell what is allowed: by itself it allows only those that its tokenizer would choose where the text
# is certain, and the distribution would be another one.
_NO_OPTIONS, _OPTIONS = "%llguidance {}", '%llguidance {"no_forcing": true}'
# Between the parts of a value, as llama.cpp has it: without a limit, a reply might be made of spaces.
_JSON = {"whitespace_flexible": True, "whitespace_pattern": r"( |\n{1,2}[ \t]{0,20})?"}
_UNFIT = template("The reply does not follow its set format; change the format in the chat's settings.")
_DEAD_END = template("The reply format allows nothing here, not even the end; change it in the chat's settings.")
_INNER = frozenset({"items", "prefixItems", "anyOf", "oneOf"})  # keys of schemas within a schema
_INNER_BY_NAME = frozenset({"properties", "$defs", "definitions"})
_OPEN = frozenset(
    {"additionalProperties", "patternProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "$ref"}
)
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|.)", re.DOTALL)  # which the converter gets wrong
_SYMBOLS = 100_000
_LEXER_STATES = 50_000  # at most 2 KB each
_LONGEST_REASON = 200  # characters


class Grammar:
    """What one reply may look like, and how far it has come. Moves on with `accept` alone; what it is asked about a
    line of tokens after that changes nothing."""

    def __init__(self, matcher: LLMatcher, num_tokens: int, ends: Collection[int]) -> None:
        self._matcher = matcher
        self._num_tokens = num_tokens
        self._ends = [*ends]

    @property
    def is_over(self) -> bool:
        """Whether nothing may follow but the end."""
        return bool(self._matcher.is_stopped())

    def copy(self) -> Grammar:
        """As far as it has come."""
        return Grammar(self._matcher.deep_copy(), self._num_tokens, self._ends)

    def accept(self, tokens: Sequence[int]) -> None:
        """These were written; what ends a reply ends it. Raises SettingInvalid where they do not fit."""
        written = [token for token in tokens if token not in self._ends]
        if written and not self._matcher.consume_tokens(written):
            raise SettingInvalid(_UNFIT)

    def allows(self, line: Sequence[int]) -> bool:
        """Whether all of these may follow, one after the other."""
        return self._matcher.validate_tokens([*line]) == len(line)

    def allowed(self, line: Sequence[int]) -> Allowed:
        """Which tokens may follow these, which it allows. Raises SettingInvalid where there are none."""
        if line and not self._matcher.consume_tokens([*line]):
            raise SettingInvalid(_UNFIT)
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        if self._matcher.is_error():
            raise SettingInvalid(_DEAD_END)
        if line:
            self._matcher.rollback(len(line))
        known = np.unpackbits(bits, count=self._num_tokens + 1, bitorder="little").view(np.bool_)
        allowed = known[: self._num_tokens]
        allowed[self._ends] = known[self._num_tokens]
        return allowed


class Grammars:
    """Begins grammars for the tokens of one vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._tokenizer = _tokenizer(vocabulary)
        self._num_tokens = len(vocabulary)
        self._ends = vocabulary.end_of_generation

    def begin(self, text: str) -> Grammar:
        """Raises SettingInvalid for a text that is no grammar."""
        return Grammar(_matcher(self._tokenizer, _compiled(text)), self._num_tokens, self._ends)

    def begin_lark(self, rules: str) -> Grammar:
        """In llguidance's own language. Raises SettingInvalid."""
        return Grammar(_matcher(self._tokenizer, f"{_OPTIONS}\n{rules}"), self._num_tokens, self._ends)


def check_grammar(text: str) -> None:
    """Raises SettingInvalid for a text that is no grammar, or one that allows no reply at all."""
    letters = tuple(bytes((byte,)) for byte in range(256))
    grammar = Grammars(Vocabulary(letters, frozenset(), frozenset(), None, None, False)).begin(text)
    try:
        is_empty = not grammar.allowed(()).any()
    except SettingInvalid:
        is_empty = True
    if is_empty:
        raise SettingInvalid("The reply format allows no text at all; change it.")


class _Tokens:
    """What llguidance wants of a tokenizer: the tokens, and behind them one that stands for all that end a reply, of
    which there may be none. Nothing has to be tokenized."""

    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokens = (*vocabulary.pieces, b"<end>")
        self.eos_token_id = len(vocabulary)
        self.special_token_ids = sorted(vocabulary.special | vocabulary.end_of_generation | {self.eos_token_id})

    def __call__(self, text: bytes) -> list[int]:  # noqa: ARG002
        return []  # only asked where text is forced


def _tokenizer(vocabulary: Vocabulary) -> LLTokenizer:
    from llguidance import LLTokenizer, TokenizerWrapper

    return LLTokenizer(TokenizerWrapper(_Tokens(vocabulary)), slices=LLTokenizer.json_slices())


def _matcher(tokenizer: LLTokenizer, lark: str) -> LLMatcher:
    """Raises SettingInvalid."""
    from llguidance import LLMatcher

    grammar = LLMatcher.grammar_from_lark(lark)
    matcher = LLMatcher(tokenizer, grammar, log_level=0, limits=_limits())
    if matcher.is_error():
        raise _unusable(matcher.get_error())
    return matcher


def _compiled(text: str) -> str:
    """As llguidance reads grammars. Raises SettingInvalid."""
    from llguidance.gbnf_to_lark import gbnf_to_lark

    is_schema = text.lstrip().startswith("{")
    if not is_schema and "::=" not in text:
        raise SettingInvalid(
            "The reply format is neither a JSON schema, which starts with {, nor a GBNF grammar, which has lines "
            "such as: root ::= [a-z]+"
        )
    try:
        if is_schema:
            schema = closed_schema(json.loads(text)) | {"x-guidance": _JSON}
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


def closed_schema(schema: Any) -> Any:
    """The same, in which objects have none but the properties that are named, unless it says so, as llama.cpp reads
    schemas: else a model would go on inventing some."""
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


def _unescaped(escape: re.Match[str]) -> str:
    code = int(escape[1] or escape[2] or "0", 16)
    return chr(code) if code >= 0x80 else f"\\x{code:02x}" if escape[1] or escape[2] else escape[0]


def _limits() -> LLParserLimits:
    from llguidance import LLParserLimits

    return LLParserLimits(max_grammar_size=_SYMBOLS, max_lexer_states=_LEXER_STATES, verbose_errors=False)


def _unusable(reason: str) -> SettingInvalid:
    return SettingInvalid("The reply format cannot be used: {reason}.", reason=_first_line(reason))


def _first_line(reason: str) -> str:
    if isinstance(reason, Sentence):
        return reason
    lines = reason.strip().splitlines()
    if not lines:
        return say("it is too complicated")
    return shortened(lines[0].split("JSON schema: ")[-1], _LONGEST_REASON).rstrip(". ")
