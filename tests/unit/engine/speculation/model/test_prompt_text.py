from __future__ import annotations

import json
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.model.chat.chat_template import ChatTemplate
from engine.speculation.model.chat.traced_text import TracedText, concatenated
from engine.speculation.model.prompt_text import PromptText, as_json, from_json, joined, said_in
from engine.values.conversations import ChatTurn, Role


def mixed(text: str) -> TracedText:
    """What is said is in small letters, what the template writes is not."""
    made = joined([PromptText(part) if small else part for small, part in pieces(text)])
    return TracedText(made, said_in(made))


def pieces(text: str) -> list[tuple[bool, str]]:
    return [(small, "".join(group)) for small, group in groupby(text, str.islower)]


TEXTS = st.text("abAB -\n", max_size=12).map(mixed)


@given(TEXTS, TEXTS, st.sampled_from(["-", "A", " ", "a-"]))
def test_it_is_known_of_each_character_who_wrote_it(text: TracedText, other: str, separator: str) -> None:
    made: list[str] = [
        concatenated([text, other]),
        text + other,
        "A" + text,
        text * 2,
        2 * text,
        mixed("-").join([text, other]),
    ]
    made += [
        text.replace(separator, other),
        text.replace(separator, "X", 1),
        text.removeprefix("a"),
        text.removesuffix("A-"),
    ]
    made += [*text, text[1:-1], text[::-1], *(text[at] for at in range(len(text)))]
    made += [text.strip(), text.lstrip(), text.rstrip(), text.strip(" aA"), text.lstrip(" aA"), text.rstrip(" aA")]
    for split in (text.split, text.rsplit):
        made += [*split(), *split(separator), *split(separator, 1), *split(None, 1)]
    made += [*text.splitlines(True), *text.partition(separator), *text.rpartition("-")]
    for each in made:
        assert [bool(said) for said in said_in(each)] == [letter.islower() for letter in each]
    assert said_in(text.upper()) == said_in(text)
    assert "".join(text.splitlines(True)) == text


@given(TEXTS, TEXTS, st.sampled_from(["-", "A", " ", "a-"]))
def test_each_method_returns_what_that_of_str_does(text: TracedText, other: str, separator: str) -> None:
    plain = str.__str__(text)
    for name in ("split", "rsplit", "partition", "rpartition", "strip", "lstrip", "removeprefix", "removesuffix"):
        assert getattr(text, name)(separator) == getattr(plain, name)(separator)
    assert (text.split(), text.rsplit(None, 1), text.splitlines()) == (
        plain.split(),
        plain.rsplit(None, 1),
        plain.splitlines(),
    )
    assert (text.replace("a", other), text.replace("", other, 2)) == (
        plain.replace("a", other),
        plain.replace("", other, 2),
    )
    assert (text.join("ab"), text.title(), text.zfill(9)) == (plain.join("ab"), plain.title(), plain.zfill(9))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{{ '<' + messages[0].content | upper | trim + '>' }}", "BOB"),
        ("{% set x %}<{{ messages[0].content }}>{% endset %}{{ x | replace('b', '[]') | trim }}", "  Bo "),
        ("{% macro m(t) %}<{{ t }}>{% endmacro %}{{ m(messages[0].content.strip()) | indent(3, true) }}", "Bob"),
        ("{{ ['<', messages[0].content, '>'] | join('|') }}{{ '<{}>'.format(messages[0].content) }}", "  Bob   Bob "),
        ("{{ messages[0] | tojson }}", '{"role": "user", "content": "  Bob "}'),
        ("{% for letter in messages[0].content %}{{ letter }},{% endfor %}", "  Bob "),
    ],
)
def test_a_template_keeps_it_through_what_it_does(source: str, said: str) -> None:
    text = ChatTemplate(source, begin="", end="").render([ChatTurn(Role.USER, "  Bob ")])
    assert "".join(letter for letter, is_said in zip(text, text.said, strict=True) if is_said) == said


SAID = TEXTS.map(lambda text: PromptText(text, said_in(text)))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text('a\ud800😀"\\\0')
    | TEXTS.map(lambda text: PromptText(text, said_in(text))),
    lambda values: st.lists(values) | st.dictionaries(st.text("ab") | TEXTS, values),
    max_leaves=8,
)


@given(VALUES)
def test_values_go_to_the_process_of_templates_as_json_with_who_wrote_each_character(value: object) -> None:
    def said(value: object) -> object:
        if isinstance(value, dict):
            return [(said(key), said(each)) for key, each in value.items()]
        return [said(each) for each in value] if isinstance(value, list) else isinstance(value, str) and said_in(value)

    sent = json.dumps(as_json(value), ensure_ascii=False).encode("utf-8", "surrogatepass")
    got = from_json(json.loads(sent))
    assert got == value
    assert said(got) == said(value)
