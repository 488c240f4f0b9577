from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.messages.conversations import ChatTurn, Role
from engine.target.chat_template import ChatTemplate
from engine.target.prompt_text import PromptText, joined, part, recased, replaced, said_in, split, stripped


def mixed(text: str) -> str:
    """What is said is in small letters, what the template writes is not."""
    return joined([PromptText(part) if small else part for small, part in pieces(text)])


def pieces(text: str) -> list[tuple[bool, str]]:
    return [(small, "".join(group)) for small, group in groupby(text, str.islower)]


TEXTS = st.text("abAB -\n", max_size=12).map(mixed)


@given(TEXTS, TEXTS, st.sampled_from(["-", "A", " ", "a-"]))
def test_it_is_known_of_each_character_who_wrote_it(text: str, other: str, separator: str) -> None:
    made: list[str] = [joined([text, other]), replaced(text, separator, other), replaced(text, separator, "X", 1)]
    made += [part(text, slice(1, -1)), part(text, slice(None, None, -1)), *(part(text, at) for at in range(len(text)))]
    for strip in (str.strip, str.lstrip, str.rstrip):
        made += [stripped(text, strip), stripped(text, strip, " aA")]
    methods: list[Callable[..., Sequence[str]]] = [str.split, str.rsplit]
    for method in methods:
        made += [*split(text, method), *split(text, method, separator), *split(text, method, separator, 1)]
    made += [
        *split(text, str.splitlines, True),
        *split(text, str.partition, separator),
        *split(text, str.rpartition, "-"),
    ]
    for each in made:
        assert [bool(said) for said in said_in(each)] == [letter.islower() for letter in each]
    assert said_in(recased(text, str.upper)) == said_in(text)
    assert "".join(split(text, str.splitlines, True)) == text


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
