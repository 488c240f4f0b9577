"""Calls that are whole, whatever a model would like to write."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from engine.speculation.model.chat.call_grammar import CallGrammar, CallGrammars, FormOrCalls
from engine.speculation.model.chat.call_parsing import find_calls
from engine.speculation.model.chat.grammar import Grammars
from engine.speculation.model.chat.grammar_apart import TOO_MUCH
from engine.speculation.model.chat.tool_format import Shape, ToolFormat
from engine.speculation.model.interface import Interrupted
from engine.values.errors import Cancelled, SettingInvalid
from engine.values.stop_signal import StopSignal
from engine.values.tools import Tool
from tests.fakes.caller import Caller
from tests.fakes.grammars import DeskHere, grammars_here
from tests.fakes.target import END

SCHEMA = {
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "Rome"]}, "days": {"type": "integer"}},
    "required": ["city"],
}
TOOLS = (Tool("weather", "forecast", "", json.dumps(SCHEMA)), Tool("clock", "now", "", "{}"))
HERMES = ToolFormat(Shape.OBJECT, "<tool_call>\n", "\n</tool_call>")
MISTRAL = ToolFormat(Shape.NAMED, "[TOOL_CALLS]", "", "[ARGS]")
LLAMA = ToolFormat(Shape.OBJECT, "", "", arguments_key="parameters")
LIST = ToolFormat(Shape.OBJECT, "<tool_calls>", "</tool_calls>", is_list=True)


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    with grammars_here():
        yield


def grammar_of(
    form: ToolFormat, tools: tuple[Tool, ...] = TOOLS, stop: StopSignal | None = None
) -> tuple[CallGrammar, Caller]:
    target = Caller(tags=(b"<tool_call>", b"</tool_call>", b"[TOOL_CALLS]", b"[ARGS]"))
    return CallGrammars(target, form, tools).begin(stop or StopSignal()), target


def begun(form: ToolFormat, text: str, tools: tuple[Tool, ...] = TOOLS) -> tuple[CallGrammar, Caller]:
    grammar, target = grammar_of(form, tools)
    grammar.accept(target.tokenize(text))
    return grammar, target


def allows(form: ToolFormat, before: str, after: str) -> bool:
    grammar, target = begun(form, before)
    return grammar.allows(target.tokenize(after))


@pytest.mark.parametrize(
    ("form", "before"),
    [
        (HERMES, 'Let me see.\n<tool_call>\n{"name": "'),
        (LLAMA, '{"name": "forecast", "parameters": {"city": "Rome", "days": '),
        (MISTRAL, "[TOOL_CALLS]forecast[ARGS]"),
        (LIST, "<tool_calls>["),
    ],
)
def test_whatever_is_drawn_in_a_call_becomes_one(form: ToolFormat, before: str) -> None:
    for seed in range(20):
        dice = random.Random(seed)
        grammar, target = begun(form, before)
        text = before
        while (allowed := grammar.allowed(())) is not None:
            choices = [token for token in allowed.nonzero()[0].tolist() if token != END]
            closing = [
                each for each in choices if target.vocabulary.pieces[each] in (b"}", b'"', b"]", b"</tool_call>")
            ]
            if not choices:
                break
            token = dice.choice(closing if closing and dice.random() < 0.6 else choices)
            grammar.accept((token,))
            text += target.vocabulary.pieces[token].decode()
            assert len(text) < 2_000
        (call, *_) = find_calls(text[text.find(form.tag) if form.tag else 0 :], form, {"forecast": "{}", "now": "{}"})
        assert call.name in ("forecast", "now")
        if call.name == "forecast":
            assert json.loads(call.arguments)["city"] in ("Paris", "Rome")


@pytest.mark.parametrize(
    ("form", "before", "after", "is_so"),
    [
        (HERMES, "", "anything <at all>", True),
        (HERMES, "<tool_call>", '\n{"name": "now", "arguments": {}}\n</tool_call>', True),
        (HERMES, "<tool_call>", ' {"name":"now","arguments":{}}</tool_call>\n<tool_call>\n{"name": "now"', True),
        (HERMES, "<tool_call>", '\n{"name": "later"', False),
        (HERMES, "<tool_call>", "Sure", False),
        (HERMES, '<tool_call>\n{"name": "forecast", "arguments": ', "{}", False),
        (HERMES, '<tool_call>\n{"name": "forecast", "arguments": ', '{"city": "Oslo', False),
        (HERMES, '<tool_call>\n{"name": "forecast", "arguments": ', '{"city": "Rome", "x', False),
        (HERMES, "I would write <tool_call", "s are nice", True),
        (LLAMA, '{"name": "Ada", ', '"age": 7}', True),
        (LLAMA, '{"name": "forecast", "parameters": ', '{"city": "Rome"}}', True),
        (LLAMA, '{"name": "forecast", "parameters": ', '["Rome"]', False),
        (MISTRAL, "[TOOL_CALLS]forecast[ARGS]", '{"city": "Rome"}', True),
        (MISTRAL, "[TOOL_CALLS]forecast[ARGS]", "Rome", False),
    ],
)
def test_a_call_is_held_to_its_shape_and_the_rest_is_free(
    form: ToolFormat, before: str, after: str, is_so: bool
) -> None:
    assert allows(form, before, after) is is_so


def test_looking_ahead_changes_nothing() -> None:
    grammar, target = begun(HERMES, "<tool_call>\n")
    line = target.tokenize('{"name": "now", "arguments": {}}\n</tool_call> and more')
    before = grammar.allowed(())
    assert before is not None
    for end in range(len(line)):
        grammar.allowed(line[:end])
    assert grammar.allowed(line) is None, "behind the call all is free"
    after = grammar.allowed(())
    assert after is not None
    assert (after == before).all()


def test_the_end_of_a_reply_is_not_allowed_in_a_call_and_is_behind_it() -> None:
    grammar, target = begun(HERMES, '<tool_call>\n{"name": "now"')
    allowed = grammar.allowed(())
    assert allowed is not None
    assert not allowed[END]
    grammar.accept(target.tokenize(', "arguments": {}}\n</tool_call>'))
    assert grammar.allowed(()) is None


def test_what_nobody_chose_frees_the_reply() -> None:
    grammar, target = begun(HERMES, '<tool_call>\n{"name"')
    grammar.accept(target.tokenize("</think>"))
    assert grammar.allowed(()) is None


@pytest.mark.parametrize(
    "schema",
    [
        '{"type": "nonsense"}',
        '{"properties": {"a": {"pattern": "(?=x)"}}}',
        "[",
        '{"$ref": "http://x"}',
        '{"properties": 7}',
    ],
)
def test_a_schema_that_cannot_be_used_allows_any_object(schema: str) -> None:
    odd = (replace(TOOLS[0], schema=schema), TOOLS[1])
    grammar, target = begun(HERMES, "<tool_call>", odd)
    line = target.tokenize('\n{"name": "forecast", "arguments": {}}\n</tool_call>')
    assert grammar.allows(line)


def test_shapes_of_which_too_little_is_known_are_free() -> None:
    for form in (
        ToolFormat(Shape.OTHER, "", ""),
        ToolFormat(Shape.TAGGED, "<tool_call>", "</tool_call>", key_open="<k>", key_close="</k>", value_close="</v>"),
        ToolFormat(Shape.OBJECT, "[TOOL_CALLS]", "", id_key="id", is_list=True),
    ):
        assert CallGrammars(Caller(), form, TOOLS).is_empty


def test_a_schema_that_takes_too_much_leaves_the_call_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server wrote it; the reply goes on."""
    grammar, target = begun(MISTRAL, '[TOOL_CALLS]forecast[ARGS]{"city"')

    def too_much(*_question: object) -> bytes:
        raise SettingInvalid(TOO_MUCH)

    monkeypatch.setattr(DeskHere, "_said", too_much)
    assert grammar.allowed(()) is None
    assert grammar.allows(target.tokenize("!"))
    grammar.accept(target.tokenize("!"))
    assert grammar.allowed(()) is None


def test_a_call_that_begins_in_a_reply_that_is_stopped_ends_it() -> None:
    stop = StopSignal()
    grammar, target = grammar_of(HERMES, stop=stop)
    stop.set()
    grammar.accept(target.tokenize("Let me see."))
    with pytest.raises(Interrupted):
        grammar.accept(target.tokenize("<tool_call>"))


def test_a_step_within_a_call_hears_that_its_reply_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def until_stopped(_desk: DeskHere, _question: object, _seconds: float, heard: StopSignal) -> bytes:
        assert heard is stop
        raise Cancelled("Stopped.")

    stop = StopSignal()
    grammar, target = grammar_of(HERMES, stop=stop)
    grammar.accept(target.tokenize("<tool_call>"))
    monkeypatch.setattr(DeskHere, "_said", until_stopped)
    with pytest.raises(Interrupted):
        grammar.allowed(())
    with pytest.raises(Interrupted):
        grammar.accept(target.tokenize("\n"))


FORM = {"type": "object", "properties": {"sky": {"enum": ["grey", "blue"]}}, "required": ["sky"]}


def either(form: ToolFormat) -> tuple[FormOrCalls, Caller]:
    calls, target = grammar_of(form)
    return FormOrCalls(Grammars(target.vocabulary).begin(json.dumps(FORM)), calls, form.tag or form.opening()), target


@pytest.mark.parametrize("form", [HERMES, MISTRAL, LLAMA])
def test_a_reply_has_its_form_or_is_a_call(form: ToolFormat) -> None:
    call = {HERMES: '<tool_call>\n{"name": "', MISTRAL: "[TOOL_CALLS]forecast[ARGS]", LLAMA: '{"name": "forecast'}[form]
    for seed in range(12):
        dice = random.Random(seed)
        grammar, target = either(form)
        text = b""
        for _ in range(400):
            allowed = grammar.allowed(())
            if grammar.is_over or allowed is None:
                break
            choices = allowed.nonzero()[0].tolist()
            assert choices
            token = dice.choice(choices)
            if token == END:
                break
            assert grammar.allows([token])
            assert grammar.following([[token]])([token])
            grammar.accept([token])
            text += target.vocabulary.pieces[token]
        said = text.decode()
        if said.startswith(form.tag or form.opening()):
            assert form is not HERMES or find_calls(said, form, {each.name: each.schema for each in TOOLS})
        else:
            assert json.loads(said)["sky"] in ("grey", "blue")
    for begun, may in ((call, True), ('{"sky": "gr', True), ("Hello", False), ('{"sky": "red', False)):
        grammar, target = either(form)
        assert grammar.allows(target.tokenize(begun)) == may


def test_a_reply_that_has_begun_with_its_form_calls_no_more() -> None:
    grammar, target = either(HERMES)
    grammar.accept(target.tokenize('{"sky'))
    assert not grammar.allows(target.tokenize("<tool_call>"))
    other, _ = either(HERMES)
    other.accept(target.tokenize("<tool_call>"))
    assert not other.allows(target.tokenize('{"sky'))
