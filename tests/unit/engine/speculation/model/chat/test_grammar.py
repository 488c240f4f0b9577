"""What a reply may look like, byte by byte; and what is no grammar, said in a sentence."""

from __future__ import annotations

import json

import numpy as np
import pytest

from engine.speculation.model.chat.grammar import Grammar, Grammars, check_grammar
from engine.speculation.model.interface import Vocabulary
from engine.values.errors import Cancelled, SettingInvalid
from engine.values.stop_signal import StopSignal
from tests.fakes.grammars import grammars_here, grammars_of
from tests.fakes.target import END, PIECES, START, FakeTarget

GRAMMARS = grammars_of(FakeTarget().vocabulary)
PERSON = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


def test_all_tokens_that_spell_it_may_come_and_its_end_is_the_end_of_the_reply() -> None:
    grammar = GRAMMARS.begin('root ::= "the " ("king" | "kin\\u00e4")')
    first = {PIECES[token] for token in np.flatnonzero(grammar.allowed(()))}
    assert first == {b"t", b"the "}, "not only what a tokenizer would choose"
    assert grammar.allows(list(b"the king"))
    assert not grammar.allows([*b"the k", PIECES.index(b"user")])
    grammar.accept([PIECES.index(b"the "), ord("k")])
    assert grammar.allowed([ord("i")])[ord("n")]
    assert {PIECES[token] for token in np.flatnonzero(grammar.allowed(()))} == {b"i", b"ing"}
    grammar.accept([PIECES.index(b"ing"), END])
    assert grammar.is_over


def test_text_after_which_a_reply_may_end_lets_it_go_on() -> None:
    grammar = GRAMMARS.begin('root ::= "ha" "ha"?')
    grammar.accept([PIECES.index(b"ha")])
    allowed = grammar.allowed(())
    assert not grammar.is_over
    assert (allowed[END], allowed[START], allowed[ord("h")], allowed[ord("x")]) == (True, False, True, False)
    with pytest.raises(SettingInvalid, match="does not follow its set format"):
        grammar.accept([ord("x")])


def test_several_tokens_may_end_a_reply_and_none_need() -> None:
    two = Vocabulary((b"a", b"<1>", b"<2>"), frozenset({1}), frozenset({1, 2}), None, 1, False)
    grammar = grammars_of(two).begin('root ::= "a"+')
    grammar.accept([0])
    assert grammar.allowed(()).tolist() == [True, True, True]
    none = Vocabulary((b"a", b"b"), frozenset(), frozenset(), None, None, False)
    grammar = grammars_of(none).begin('root ::= "a" "b"?')
    grammar.accept([0])
    assert grammar.allowed(()).tolist() == [False, True]


def test_objects_have_the_properties_that_are_named_unless_the_schema_says_so() -> None:
    more = list(b'{"age": 3, "city": 1}')
    assert not GRAMMARS.begin(json.dumps(PERSON)).allows(more)
    assert not GRAMMARS.begin(json.dumps({"$ref": "#/$defs/p", "$defs": {"p": PERSON}})).allows(more)
    assert GRAMMARS.begin(json.dumps(PERSON | {"additionalProperties": True})).allows(more)
    assert not GRAMMARS.begin(json.dumps(PERSON)).allows(list(b'{"age":' + b" " * 30 + b"3}")), "not of spaces alone"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("hello", "neither a JSON schema"),
        ('{"a": 1,}', "line 1, column 9 is not valid JSON"),
        ('{"not": {}}', "Unimplemented keys"),
        ('{"$ref": "#"}', "allows no text at all"),
        ('root ::= root "a"', "allows no text at all"),
        ('first ::= "a"', "No 'root' rule"),
        ("root ::= " + "(" * 3000 + '"a"' + ")" * 3000, "nested too deeply"),
        ('{"items":' * 3000 + "1" + "}" * 3000, "nested too deeply"),
        ('root ::= "\ud800"', "cannot be used"),
    ],
)
def test_what_is_no_grammar_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    with grammars_here(), pytest.raises(SettingInvalid, match=sentence):
        check_grammar(text)


def doubled(times: int, last: str = '"x"?') -> str:
    """What may be empty, doubled so many times: some three hundred letters."""
    rules = [f"r{number} ::= r{number + 1} r{number + 1}" for number in range(times)]
    return "\n".join([*rules, f"r{times} ::= {last}"])


def test_one_that_takes_too_much_ends_its_own_process_alone() -> None:
    with pytest.raises(SettingInvalid, match="takes too much time or memory; make it simpler"):
        check_grammar("root ::= r0\n" + doubled(18))


def test_one_that_takes_too_much_after_a_while_does_so_as_well() -> None:
    grammars = Grammars(FakeTarget().vocabulary)
    begun = grammars.begin("root ::= [a-w]{3} r0 r0\n" + doubled(12, '"x"? "y"?'))
    with pytest.raises(SettingInvalid, match="takes too much time or memory; make it simpler"):
        write(begun, b"abcxyxyxy")
    assert grammars.begin('root ::= "a"').allows(list(b"a")), "the next one is not held back by it"


def write(grammar: Grammar, text: bytes) -> None:
    for letter in text:
        grammar.accept([letter])
        grammar.allowed(())


def test_none_begins_for_a_reply_that_is_stopped() -> None:
    stop = StopSignal()
    stop.set()
    with pytest.raises(Cancelled, match="stopped before it began"):
        GRAMMARS.begin('root ::= "a"', stop)


def test_a_reply_may_be_stopped_while_the_process_learns_the_vocabulary() -> None:
    class SetSoon(StopSignal):
        num_looks = 0

        def is_set(self) -> bool:
            self.num_looks += 1
            return self.num_looks > 1

    grammars = Grammars(FakeTarget().vocabulary)
    with pytest.raises(Cancelled, match="stopped before it began"):
        grammars.begin('root ::= "a"', SetSoon())
    assert grammars._desk is None


def test_lines_that_are_followed_tell_the_same_as_each_alone() -> None:
    grammar = GRAMMARS.begin('root ::= "the " ("king" | "kin\\u00e4")')
    lines = [list(b"the king"), list(b"the kix"), [PIECES.index(b"the "), ord("k")]]
    follows = grammar.following(lines)
    for line in lines:
        for end in range(1, len(line) + 1):
            is_allowed = grammar.allows(line[:end])
            assert follows(tuple(line[:end])) == is_allowed
            if is_allowed and end < 8:
                alone = GRAMMARS.begin('root ::= "the " ("king" | "kin\\u00e4")').allowed(line[:end])
                assert np.array_equal(grammar.allowed(tuple(line[:end])), alone)


def test_what_is_known_ahead_of_one_is_not_told_of_another() -> None:
    first = GRAMMARS.begin('root ::= "a" "b"')
    first.accept(list(b"a"))
    other = first.copy()
    other.accept(list(b"b"))
    GRAMMARS.begin('root ::= "c" "d"').accept(list(b"c"))
    assert {PIECES[token] for token in np.flatnonzero(first.allowed(()))} == {b"b"}
