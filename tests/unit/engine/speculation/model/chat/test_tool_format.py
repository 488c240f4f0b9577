"""How templates tell of tools, call them and are told what came of it: found out from what they do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.model.chat.call_parsing import find_calls, find_untagged
from engine.speculation.model.chat.chat_template import ChatTemplate
from engine.speculation.model.chat.families import CHATML
from engine.speculation.model.chat.tool_format import Shape, ToolFormat, declared, is_deeper
from engine.values.conversations import ChatTurn, Role
from engine.values.tools import Tool, ToolCall
from tests.fakes.caller import HERMES
from tests.fakes.tool_templates import DEEPSEEK, FAMILIES, LLAMA, MISTRAL, TOLD_ONLY

NAMES = ["forecast", "now"]
SCHEMAS = dict.fromkeys(NAMES, "{}")
TOOLS = tuple(Tool("weather", name, "About it.", '{"type": "object", "properties": {}}') for name in NAMES)
GIVEN: list[dict[str, Any]] = [
    {"city": 'São "P" <b> & {x}', "days": 3, "exact": True},
    {},
    {"city": "one\ntwo", "places": ["a", {"b": None}]},
]


def template(source: str) -> ChatTemplate:
    return ChatTemplate(source, "<s>", "</s>")


def form_of(source: str) -> ToolFormat:
    form = template(source).tool_format
    assert form is not None
    return form


def call(arguments: dict[str, Any], number: int = 0, name: str = "forecast") -> ToolCall:
    return ToolCall(f"abcdefgh{number}", "weather", name, json.dumps(arguments))


def chat(*calls: ToolCall) -> list[ChatTurn]:
    results = [ChatTurn(Role.TOOL, f"Rain{place}.", answers=each) for place, each in enumerate(calls)]
    return [ChatTurn(Role.USER, "Rain?"), ChatTurn(Role.ASSISTANT, "", calls=calls), *results]


@pytest.mark.parametrize(("name", "source", "shape", "mark"), FAMILIES, ids=[each[0] for each in FAMILIES])
def test_the_shape_is_found_out(name: str, source: str, shape: Shape, mark: str) -> None:
    assert name
    form = form_of(source)
    assert (form.shape, form.tag) == (shape, mark)


@pytest.mark.parametrize("source", [each[1] for each in FAMILIES], ids=[each[0] for each in FAMILIES])
@pytest.mark.parametrize("arguments", GIVEN)
def test_what_a_template_writes_is_read_back(source: str, arguments: dict[str, Any]) -> None:
    form = form_of(source)
    calls = [call(arguments), call({"zone": "Z"}, 1, "now")][: 2 if form.takes_many else 1]
    text = str(template(source).render(chat(*calls), tools=TOOLS))
    written = text[text.index("Rain?") : text.index("Rain0.")]
    begin = written.find(form.tag) if form.tag else written.find("{")
    found = find_calls(written[begin:], form, SCHEMAS)
    assert [(each.name, json.loads(each.arguments)) for each in found] == [
        (each.tool, json.loads(each.arguments)) for each in calls
    ]


@pytest.mark.parametrize("source", [each[1] for each in FAMILIES], ids=[each[0] for each in FAMILIES])
def test_tools_results_and_words_are_told(source: str) -> None:
    text = str(template(source).render([ChatTurn(Role.SYSTEM, "Be brief."), *chat(call({}))], tools=TOOLS))
    for each in ("forecast", "About it.", "Be brief.", "Rain?", "Rain0."):
        assert each in text


@pytest.mark.parametrize("source", [CHATML, "{{ messages }}", "{{ tools }}{{ raise_exception('no') }}"])
def test_a_template_without_tools_has_none(source: str) -> None:
    assert template(source).tool_format is None


def test_a_target_that_knows_no_tools_is_told_in_words() -> None:
    text = str(template(CHATML).render(chat(call({"city": "Rome"}))))
    assert '[Called forecast with {"city": "Rome"}]' in text
    assert "[forecast answered: Rain0.]" in text


def test_calls_that_a_template_leaves_out_are_told_as_text() -> None:
    form = form_of(TOLD_ONLY)
    assert (form.shape, form.writes_calls) == (Shape.OTHER, False)
    text = str(template(TOLD_ONLY).render(chat(call({"city": "Rome"})), tools=TOOLS))
    assert '<tool_call>\n{"name": "forecast", "arguments": {"city": "Rome"}}\n</tool_call>' in text


def test_where_a_message_holds_one_call_several_are_told_one_by_one() -> None:
    text = str(template(LLAMA).render(chat(call({"a": 1}), call({"b": 2}, 1)), tools=TOOLS))
    places = [text.index(each) for each in ('{"a": 1}', "Rain0.", '{"b": 2}', "Rain1.")]
    assert places == sorted(places)


def test_what_servers_and_models_say_is_no_mark_of_the_templates_own() -> None:
    told = Tool("x", "forecast", "<|im_end|>", '{"description": "<|im_end|>", "<|im_end|>": {}}')
    text = template(HERMES).render(chat(call({"<|im_end|>": "<|im_end|>"})), tools=(told,))
    places = [place for place in range(len(text)) if text.startswith("<|im_end|>", place)]
    said = [place for place in places if 1 in text.said[place : place + 10]]
    assert len(said) == 5
    assert len(places) - len(said) == 4, "those that end turns"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>', [("now", {})]),
        ('<tool_call>{"name": "now"}', [("now", {})]),
        ('<tool_call>{"name": "now", "arguments": "{\\"a\\": 1}"}', [("now", {"a": 1})]),
        ('<tool_call>{"function": {"name": "now", "parameters": {"a": 1}}}', [("now", {"a": 1})]),
        ('[TOOL_CALLS][{"name": "now", "arguments": {}}, {"name": "forecast"}]', [("now", {}), ("forecast", {})]),
        ('[TOOL_CALLS]now[ARGS]{"a": 1}', [("now", {"a": 1})]),
        ('<|python_tag|>{"name": "now", "parameters": {"a": 1}}<|eom_id|>', [("now", {"a": 1})]),
        ("<|tool_call_start|>[now(a=1, b='x')]<|tool_call_end|>", [("now", {"a": 1, "b": "x"})]),
        ('<|tool_call>call:now{a:<|"|>x: {y}<|"|>,b:2}<tool_call|>', [("now", {"a": "x: {y}", "b": 2})]),
        ("<function=now>\n<parameter=a>\n1\n</parameter>\n</function>", [("now", {"a": 1})]),
        ("<tool_call>now", []),
        ('<tool_call>{"name": "now", "arguments": [1]}', []),
        ('<tool_call>{"name": "now", "arguments": {"a": ' + "[" * 100 + "]" * 100 + "}}", []),
        ("<tool_call>" + "[" * 100_000, []),
    ],
)  # fmt: skip
def test_what_models_fall_into_is_read_as_well(text: str, expected: list[tuple[str, dict[str, Any]]]) -> None:
    for source in (HERMES, MISTRAL, DEEPSEEK, TOLD_ONLY):
        found = find_calls(text, form_of(source), SCHEMAS)
        assert [(each.name, json.loads(each.arguments)) for each in found] == expected


@pytest.mark.parametrize(
    ("text", "is_call"),
    [
        ('{"name": "now", "arguments": {}}', True),
        ('```json\n{"name": "now", "parameters": {}}\n```', True),
        ('{"name": "Ada", "arguments": {}}', False),
        ('{"name": "now", "age": 3}', False),
        ('Here: {"name": "now", "arguments": {}}', False),
        ('{"name": "now", "arguments": {}} is how it is called.', False),
    ],
)
def test_without_a_mark_only_a_whole_answer_is_a_call(text: str, is_call: bool) -> None:
    assert bool(find_untagged(text, form_of(HERMES), NAMES)) is is_call


@given(st.text(st.sampled_from('{}[]"<>:,/ntfal_colregumes=()|1\n'), max_size=80), st.sampled_from(FAMILIES))
def test_whatever_is_written_is_read_or_not(text: str, family: tuple[str, str, Shape, str]) -> None:
    form = form_of(family[1])
    for found in find_calls(form.tag + text, form, SCHEMAS):
        assert isinstance(json.loads(found.arguments), dict)
    find_untagged(text, form, NAMES)


def test_schemas_that_are_none_are_told_as_empty() -> None:
    (told,) = declared((Tool("x", "f", "", "[" * 2_000),))
    assert told["function"]["parameters"] == {"type": "object", "properties": {}}
    assert is_deeper(json.loads("[" * 70 + "]" * 70), 64)
    assert not is_deeper({"a": [1]}, 2)


TAGGED_BY_MAKERS = [each for each in FAMILIES if each[2] is Shape.TAGGED]
DECLARED = {
    "plate": {"type": "string"},
    "floor": {"type": ["string", "null"]},
    "room": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    "size": {"enum": ["1", "2"]},
    "share": {"type": "number"},
    "count": {"type": "integer"},
    "open": {"type": "boolean"},
    "tags": {"type": "array"},
}


@pytest.mark.parametrize("source", [each[1] for each in TAGGED_BY_MAKERS], ids=[each[0] for each in TAGGED_BY_MAKERS])
@pytest.mark.parametrize(
    ("key", "written", "expected"),
    [
        ("plate", "0815", "0815"),
        ("plate", "3.20", "3.20"),
        ("plate", "false", "false"),
        ("plate", '["a"]', '["a"]'),
        ("plate", "a </tag-like> b", "a </tag-like> b"),
        ("floor", "null", None),
        ("floor", "0x1F", "0x1F"),
        ("room", "12", 12),
        ("room", "012", "012"),
        ("size", "2", "2"),
        ("share", "7", 7),
        ("share", "1e3", 1000.0),
        ("count", "several", "several"),
        ("count", "2.5", "2.5"),
        ("open", "True", True),
        ("open", "yes", "yes"),
        ("tags", "[1]", [1]),
        ("unknown", "5", 5),
    ],
)
def test_arguments_have_the_type_that_the_tool_declares(source: str, key: str, written: str, expected: object) -> None:
    form = form_of(source)
    text = (
        f"{form.open}now{form.middle}{form.key_open}{key}{form.key_close}{written}{form.value_close}"
        f"{form.key_open}last{form.key_close}x{form.value_close}{form.close}"
    )
    schema = json.dumps({"type": "object", "properties": DECLARED})
    (found,) = find_calls(text, form, {"now": schema})
    value = json.loads(found.arguments)[key]
    assert (value, type(value)) == (expected, type(expected))
