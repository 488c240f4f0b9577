"""Grammars and schemas that double, repeat, nest and point at each other: each ends in a sentence or an answer, in a
child, within its limits; and the next ordinary one works."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from typing import Any

import psutil

from engine.speculation.model.chat.call_grammar import CallGrammars
from engine.speculation.model.chat.grammar import Grammars, check_grammar
from engine.speculation.model.chat.tool_format import Shape, ToolFormat
from engine.speculation.model.interface import Vocabulary
from engine.values.errors import SettingInvalid
from engine.values.stop_signal import StopSignal
from engine.values.tools import Tool
from tests.attacks.attack import Memory, Outcome, Plan
from tests.fakes.caller import Caller

_MOST_S = 40.0  # of one, on a busy machine: starts of children, and what they may compute
_CHILD_BYTES = 700 << 20
_LETTERS = 40  # that are written at most
_CALLS = ToolFormat(Shape.OBJECT, "<tool_call>\n", "\n</tool_call>")


def run(plan: Plan) -> Outcome:
    outcome, memory = Outcome(), Memory()
    letters = tuple(bytes((byte,)) for byte in range(256))
    grammars = Grammars(Vocabulary(letters, frozenset(), frozenset(), None, None, False))
    longest, refused, largest = 0.0, 0, 0
    for number in range(plan.count):
        dice = plan.dice(number)
        name = [*_MADE][number % len(_MADE)]
        text = _MADE[name](dice)
        outcome.tried += 1
        start = time.monotonic()
        with memory.watched():
            try:
                if number % 3 == 0:
                    check_grammar(text)
                _write(grammars, text, dice)
                _call(text)
            except SettingInvalid:
                refused += 1
            largest = max(largest, _children())
            try:
                is_well = grammars.begin('root ::= "a"').allows(b"a")
            except SettingInvalid as error:
                is_well = False
                outcome.failures.append(f"{number} ({name}): the next one was refused: {error}")
        longest = max(longest, time.monotonic() - start)
        outcome.check(is_well, f"{number} ({name}): the next one does not work")
    outcome.check(memory.is_within_bar, f"the app took {memory}")
    outcome.check(largest < _CHILD_BYTES, f"a child took {largest >> 20} MB")
    outcome.check(longest < _MOST_S, f"one took {longest:.1f} s")
    outcome.figures |= {"refused": str(refused), "app": str(memory), "child": f"{largest >> 20} MB at most"}
    outcome.figures["longest"] = f"{longest:.1f} s"
    return outcome


def _write(grammars: Grammars, text: str, dice: random.Random) -> None:
    """A reply as it may be, letter by letter."""
    grammar = grammars.begin(text)
    for _ in range(_LETTERS):
        allowed = grammar.allowed(()).nonzero()[0]
        if grammar.is_over or not len(allowed):
            return
        grammar.following([[int(letter)] * 4 for letter in allowed[:4]])
        grammar.accept([int(dice.choice(allowed))])


def _call(text: str) -> None:
    """As the schema of a tool, whose call goes on in any case."""
    if not text.startswith("{"):
        return
    target = Caller(tags=(b"<tool_call>", b"</tool_call>"))
    grammar = CallGrammars(target, _CALLS, (Tool("server", "tool", "", text),)).begin(StopSignal())
    for piece in ('<tool_call>\n{"name": "tool", "arguments": {"', "a", '": ', '"x"'):
        for token in target.tokenize(piece):
            grammar.allowed(())
            grammar.accept([token])


def _children() -> int:
    """Bytes of the largest."""
    sizes = [0]
    for each in psutil.Process().children(recursive=True):
        try:
            sizes.append(each.memory_info().rss)
        except psutil.Error:
            continue
    return max(sizes)


def _doubled(dice: random.Random) -> str:
    times = dice.randint(8, 40)
    rules = [
        f"r{number} ::= r{number + 1} {dice.choice(('', 'r{} ', '[a-z]? '))}".format(number + 1) + f"r{number + 1}"
        for number in range(times)
    ]
    first = dice.choice(("", '"ab" ', "[a-w]{3} ", "[a-w]* "))
    last = dice.choice(('"x"?', '"x"*', '"x" | ""', '"x"? "y"?', "[a-z]?", '"x"'))
    return "\n".join([f"root ::= {first}r0 r0", *rules, f"r{times} ::= {last}"])


def _repeated(dice: random.Random) -> str:
    inner = dice.choice(('"x"?', "[a-z]*", '("a" | "ab")?'))
    for _ in range(dice.randint(2, 6)):
        inner = f"({inner}){{{dice.randint(0, 3)},{dice.randint(4, 900)}}}"
    return f"root ::= {inner}"


def _deep(dice: random.Random) -> str:
    depth = dice.choice((50, 900, 5_000))
    return "root ::= " + "(" * depth + '"a"?' + ")?" * depth


def _ambiguous(dice: random.Random) -> str:
    parts = " | ".join(["root root", "root root root", '"a"', '"aa"', '""'][: dice.randint(3, 5)])
    return f"root ::= {parts}"


def _pattern(dice: random.Random) -> str:
    number = dice.randint(5, 900)
    patterns = (
        f"^(((x?){{{number}}}){{{number}}}){{{number}}}$",
        f"^(a|aa)*b[ab]{{{number}}}$",
        f"^[ab]*a[ab]{{{number % 40}}}c$",
        f"^(.*a){{{number % 60}}}$",
        f"^(?:(?:a?b?c?){{{number}}})*$",
        "^" + "(" * number + "a?" + ")*" * number + "$",
    )
    return json.dumps({"type": "object", "properties": {"a": {"type": "string", "pattern": dice.choice(patterns)}}})


def _references(dice: random.Random) -> str:
    times = dice.randint(10, 60)
    kind: Callable[[int], dict[str, Any]] = dice.choice(
        (
            lambda number: {"anyOf": [{"$ref": f"#/$defs/d{number + 1}"}] * 2},
            lambda number: {"allOf": [{"$ref": f"#/$defs/d{number + 1}"}] * 2},
            lambda number: {"prefixItems": [{"$ref": f"#/$defs/d{number + 1}"}] * 2},
            lambda number: {"properties": {name: {"$ref": f"#/$defs/d{number + 1}"} for name in "ab"}},
        )
    )
    defined = {f"d{number}": kind(number) for number in range(times)}
    defined[f"d{times}"] = dice.choice(({"type": "string"}, {"$ref": "#/$defs/d0"}, {"enum": ["", "a"]}))
    return json.dumps({"$ref": "#/$defs/d0", "$defs": defined})


def _many(dice: random.Random) -> str:
    number = dice.choice((1_000, 20_000))
    words = [f"{dice.random():.17f}" for _ in range(number)]
    schemas: tuple[dict[str, Any], ...] = (
        {"enum": words},
        {"type": "object", "properties": {word: {"type": "string", "maxLength": 100_000} for word in words}},
        {"type": "object", "required": words, "properties": {}},
        {"anyOf": [{"const": word * 20} for word in words]},
    )
    return json.dumps(dice.choice(schemas))


def _bounds(dice: random.Random) -> str:
    most = 10 ** dice.randint(3, 18)
    schemas: tuple[dict[str, Any], ...] = (
        {"type": "string", "minLength": most, "maxLength": most + 1},
        {"type": "array", "minItems": most, "items": {"type": "array", "minItems": most, "items": {"type": "null"}}},
        {"type": "integer", "multipleOf": most - 1, "minimum": 7, "maximum": most * most},
        {"type": "number", "multipleOf": 1 / most, "exclusiveMinimum": 0.1},
        {"type": "object", "minProperties": most, "additionalProperties": {"type": "string"}},
    )
    return json.dumps(dice.choice(schemas))


def _nested(dice: random.Random) -> str:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(dice.choice((60, 200))):
        schema = dice.choice(({"items": schema}, {"properties": {"a": schema}}, {"anyOf": [schema, schema]}, schema))
        if len(json.dumps(schema)) > 90_000:
            break
    return json.dumps(schema)


def _spoilt(dice: random.Random) -> str:
    made = bytearray(_MADE[dice.choice(("doubled", "repeated", "pattern", "references"))](dice).encode())
    for _ in range(dice.randint(1, 9)):
        made[dice.randrange(len(made))] = dice.randrange(32, 127)
    return made.decode()


_MADE: dict[str, Callable[[random.Random], str]] = {
    "doubled": _doubled,
    "repeated": _repeated,
    "deep": _deep,
    "ambiguous": _ambiguous,
    "pattern": _pattern,
    "references": _references,
    "many": _many,
    "bounds": _bounds,
    "nested": _nested,
    "spoilt": _spoilt,
}
