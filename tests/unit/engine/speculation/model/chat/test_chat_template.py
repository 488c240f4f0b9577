from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jinja2
import pytest

import engine
from engine.speculation.model.apart.child import Child
from engine.speculation.model.chat import template_apart
from engine.speculation.model.chat.chat_template import OURS, ChatTemplate, usual_template
from engine.speculation.model.chat.families import CHATML, TEXT
from engine.speculation.model.chat.template_apart import Patience
from engine.speculation.model.chat.template_rendering import HEAD
from engine.speculation.model.interface import Interrupted
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import TemplateExhausted, TemplateFailed
from engine.values.stop_signal import StopSignal
from tests.fakes.target import START, FakeTarget

ROOT = Path(engine.__file__).parent.parent
USER = ChatTurn(Role.USER, "Hi")
SYSTEM = ChatTurn(Role.SYSTEM, "Be brief.")
REPLY = ChatTurn(Role.ASSISTANT, "Hello!")

GEMMA_LIKE = (
    "{{ bos_token }}"
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate') }}{% endif %}"
    "[{{ message['role'] }}]{{ message['content'] | trim }}{% endfor %}"
)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less patience than usual, for templates that would use it up."""
    monkeypatch.setattr("engine.speculation.model.chat.template_apart._SECONDS_IN_ALL", 0.15)


def render(source: str | None, *turns: ChatTurn) -> str:
    return ChatTemplate(source, begin="<s>", end="</s>").render(turns)


def test_a_model_without_template_speaks_chatml() -> None:
    assert render(None, SYSTEM, USER) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_model_that_knows_the_marks_of_no_family_goes_on_with_the_text() -> None:
    knows = FakeTarget().vocabulary
    assert usual_template(knows, "") == CHATML
    assert usual_template(replace(knows, pieces=knows.pieces[:START]), "chat") == TEXT
    assert render(TEXT, SYSTEM, USER) == "Be brief.\n\nHi"
    assert render(TEXT, USER, ChatTurn(Role.ASSISTANT, ", there."), USER) == "Hi, there.\n\nHi"


def test_templates_that_come_with_the_app_need_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_apart, "_shared", None)
    for source in OURS:
        assert "Hi" in render(source, USER)
    drafter = json.loads((ROOT / "resources" / "drafter" / "tokenizer_config.json").read_text("utf-8"))
    assert drafter["chat_template"] in OURS


def test_a_system_prompt_joins_the_first_prompt_where_the_template_knows_no_system_role() -> None:
    assert render(GEMMA_LIKE, SYSTEM, USER, REPLY, USER) == "<s>[user]Be brief.\n\nHi[assistant]Hello![user]Hi"


def test_prompts_left_unanswered_are_joined_so_that_roles_alternate() -> None:
    assert render(GEMMA_LIKE, USER, USER) == "<s>[user]Hi\n\nHi"


def test_a_system_prompt_that_a_template_leaves_out_joins_the_first_prompt() -> None:
    source = (
        "{% for m in messages %}{% if m['role'] == 'user' %}[INST] {{ m['content'] }} [/INST]{% endif %}{% endfor %}"
    )
    assert render(source, SYSTEM, USER) == "[INST] Be brief.\n\nHi [/INST]"


def test_templates_for_tools_and_training_are_understood() -> None:
    source = (
        "{% if tools is defined %}tools{% endif %}{% for m in messages %}"
        "{% generation %}{{ m['content'] | tojson(ensure_ascii=False) }}{% endgeneration %}{% endfor %}"
    )
    assert render(source, USER, REPLY) == '"Hi""Hello!"'


def test_helpers_that_templates_expect_are_there() -> None:
    source = (
        "{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}{{ m | tojson }}{% endfor %}"
        "{{ strftime_now('%Y') }}"
    )
    assert render(source, USER, REPLY).startswith('{"role": "assistant", "content": "Hello!"}2')


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    "source",
    [
        "{% for %}",  # no jinja
        "{{ raise_exception('no') }}",
        "{{ raise_exception(' ') }}",  # without a reason
        "{{ undefined.attribute }}",
        "{{ ''.__class__.__mro__ }}",  # the way out of a sandbox
        "{{ messages.append(1) }}",
        "{{ 'a' * 10 ** 9 }}",
        "{% set n = 10 ** 9 %}{{ 7 ** n }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}xxxxxxxxxx{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",  # without a word
        "{{ '%s' % (1, 2) }}",
        "{{ '%(a)s%' % {'a': 1} }}",
        "{{ [1] | batch(10 ** 5, 0) | list }}",
        "{{ [1] | slice(10 ** 5) | list }}",
        "{% if false %}x{% endif %}",  # writes nothing
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% include '/etc/passwd' %}",
        "{{ range(10000000) | list }}",
        "{{ ('x' * 90000) | list | join('y' * 90000) | length }}",  # single calls that take all time or memory
        "{{ ('a' * 90000) | replace('a', 'b' * 90000) | length }}",
        "{{ '{:>4000000000}'.format(1) }}",
        "{{ 2e7 | round(20000000, 'ceil') }}",
        "{{ strftime_now('%4000000000Y') }}",
        "{{ ('a' * 90000).rfind('b' + 'a' * 40000) }}{{ ('a' * 90000).strip('b' * 90000 + 'a') }}" * 400,
        "{{ [1] | tojson(indent=100000000) }}",
        *(  # values that double
            "{% set ns = namespace(s=['a'], t='') %}{% for i in range(90) %}{% set ns.s = [ns.s, ns.s] %}{% set ns.t ="
            f" {look} %}}{{% endfor %}}x"
            for look in ("ns.s | string", "ns.s | tojson", "{(ns.s, 1): 1}")
        ),
        "{{ " + "(" * 30_000 + "1" + ")" * 30_000 + " }}",  # syntax
        "{% if true %}" * 6_000 + "{% endif %}" * 6_000,
        "{% for i in [1] %}" * 25 + "{% for i in range(99999) %}{% endfor %}" + "{% endfor %}" * 25 + "{% break",
        "{{ 1" + " + 1" * 25_000 + " }}",
        "x" * 10_000_000,
        "{% extends 'a' %}",
        "{{ raise_exception('no\n' * 30000) }}",
    ],
    ids=lambda source: source[:40],
)
def test_a_template_that_fails_or_does_harm_is_refused_with_a_sentence(source: str) -> None:
    with pytest.raises(
        TemplateFailed, match=r"^The chat template inside this model cannot be used \(.{1,150}\); choose another model"
    ):
        render(source, USER)


@pytest.mark.usefixtures("hasty")
def test_a_template_that_behaves_at_first_is_bounded_later() -> None:
    loop = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    template = ChatTemplate("{% if 'zebra' in messages[-1].content %}" + loop + "{% endif %}x", begin="", end="")
    assert template.render([USER]) == "x"
    with pytest.raises(TemplateExhausted, match="too long"):
        template.render([ChatTurn(Role.USER, "A zebra.")])
    assert template.render([USER]) == "x"


@pytest.mark.usefixtures("hasty")
def test_a_step_that_ends_the_process_is_not_tried_again_for_the_same_prompt() -> None:
    search = "('a' * 3000000).rfind('ab' + 'a' * 1500000)"
    template = ChatTemplate(
        "{% if 'zebra' in messages[-1].content %}{{ " + search + " }}{% endif %}x", begin="", end=""
    )
    patience = Patience()
    with pytest.raises(TemplateExhausted, match="too much time or memory"):
        template.render([ChatTurn(Role.USER, "A zebra.")], patience)
    assert patience.is_over
    assert template.render([USER]) == "x", "another process goes on"


def test_a_rendering_ends_when_it_is_stopped() -> None:
    template, stop = ChatTemplate(GEMMA_LIKE, begin="", end=""), StopSignal()
    stop.set()
    with pytest.raises(Interrupted):
        template.render([USER], Patience(stop))


def test_a_template_that_has_broken_out_ends_with_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    template = ChatTemplate(GEMMA_LIKE, begin="<s>", end="")
    with monkeypatch.context() as broken:
        broken.setattr(Child, "ask", lambda *_arguments: b"+")
        with pytest.raises(TemplateFailed, match="too much time or memory"):
            template.render([USER])
    assert template.render([USER]) == "<s>[user]Hi", "another process goes on"


def test_a_process_that_an_earlier_template_has_harmed_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = HEAD.pack(b"?", 0.0, 0) + b"\"'frame' object is not callable\""
    template = ChatTemplate(GEMMA_LIKE, begin="<s>", end="")
    ask, asked = Child.ask, list[Child]()

    def harmed(child: Child, *arguments: Any) -> bytes:
        asked.append(child)
        return odd if child is asked[0] else ask(child, *arguments)

    template.render([USER])
    monkeypatch.setattr(Child, "ask", harmed)
    assert template.render([USER]) == "<s>[user]Hi"
    assert len(set(asked)) == 2
    with pytest.raises(TemplateFailed, match="unsupported operand"):
        ChatTemplate("{{ 1 + [] }}", begin="", end="").render([USER])
    assert len(set(asked)) == 3, "what no process can render is refused by a second one"


@pytest.mark.parametrize(
    ("kind", "length", "rest"),
    [
        (b"+", 2, b"\0\7ab"),
        (b"+", 1, b"\0ab"),
        (b"+", 1, b"\0\xff"),
        (b"+", 0, bytes(200_000)),
        (b"-", 0, b"[" * 9_000),
        (b"!", 0, b'{"template": 3}'),
        (b"?", 0, b'{"template": 3}'),
    ],
)
def test_its_answer_is_data_from_a_stranger(kind: bytes, length: int, rest: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        template_apart._read(HEAD.pack(kind, 0.0, length) + rest, 100, Patience())


def test_a_template_may_lengthen_one_text_with_every_message() -> None:
    source = (
        "{% set ns = namespace(s='') %}{% for m in messages %}{% set ns.s = ns.s + m.role + m.content %}{% endfor %}"
    )
    turns = [USER, ChatTurn(Role.ASSISTANT, "word " * 100)] * 400
    assert len(render(source + "{{ ns.s }}", *turns)) > 200_000


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages[0].content[1:] ~ messages[-1]['content'][::-1] ~ messages[9] ~ messages[0].none }}",
        "{% set ns = namespace(a=1, b=[]) %}{% for m in messages if m.role == 'user' %}"
        "{% set ns.a = ns.a + loop.index %}"
        "{% set ns.b = ns.b + [loop.first, loop.last, loop.length, loop.previtem is defined] %}{% endfor %}"
        "{{ ns.a }}{{ ns.b }}",
        "{% set a = 1 %}{% for i in range(3) %}{{ a }}{% set a = i %}{{ a }}{% else %}no{% endfor %}{{ a }}",
        "{% for m in [] %}x{% else %}none{% endfor %}{% for i in range(9) %}{% if i == 2 %}{% continue %}"
        "{% elif i > 4 %}"
        "{% break %}{% endif %}{{ i }}{{ loop.cycle('a', 'b') }}{% endfor %}",
        "{% macro m(a, b='x', c=a) %}{{ a }}{{ b }}{{ c }}{{ z }}{{ caller is defined }}{% endmacro %}{% set z = 3 %}"
        "{{ m(1) }}{{ m(1, c=2) }}{% call m(4) %}x{% endcall %}",
        "{% set x %} a {{ messages[0].content }} {% endset %}[{{ x | trim }}]{% filter upper %}b{{ x }}{% endfilter %}",
        "{% for key, value in messages[0].items() %}{{ key }}={{ value }};{% endfor %}{{ messages[0] | dictsort }}",
        "{{ messages | map(attribute='content') | join('|') }}"
        "{{ messages | selectattr('role', 'equalto', 'user') | list | length }}"
        "{{ [3, 1, 2] | sort }}{{ ['b', 'A', 'b'] | unique | list }}{{ [1, none] | reject('none') | list }}",
        "{{ 'a,b,,c'.split(',') }}{{ ' a  b '.split() }}{{ 'abab'.replace('a', 'x', 1) }}{{ 'xax'.strip('x') }}"
        "{{ 'a{}{}'.format(1, 'é') }}{{ '{0}-{b:>3}'.format(1, b=2) }}{{ 'ab'.startswith(('b', 'a')) }}",
        "{{ 7 // 2 }}{{ 7 / 2 }}{{ -7 % 3 }}{{ 2 * 3.5 }}{{ [1] * 3 }}{{ (1, 2) + (3,) }}{{ 1 < 2 < 3 }}"
        "{{ not 1 in [1] }}",
        "{{ 1 if false }}{{ none or 'a' and 'b' }}{{ 'x' if messages is defined and messages is iterable }}{{ true }}",
        "{{ 'é' | tojson }}{{ {'a': [1, {}], 'b': 'x'} | length }}{{ 3.7 | int }}{{ '12x' | int(5) }}{{ 2.5 | round }}",
        "{"
        "%- if messages | length > 1 %}\n  {# note #}\n  {{- 'a' }}\n  {% endif %}\n end {{ 'a' if x is undefined }}\n",
        "{{ 'a\nb\n\nc' | indent(2) }}{{ x | default('d') }}{{ '' | default('d', true) }}{{ [[1, 2]] | first | last }}",
        "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }}{% set a, b = 'xy' %}{{ b }}"
        "{{ messages | tojson(indent=1) }}",
        "{{ '%s %5s|%-5s|%.2s %d%% %05.1f %x' % ('é', 'a', 'b', 'long', 7, 2.25, 255) }}"
        "{{ '%s' % messages[0].content }}"
        "{{ '%(a)s-%(b)03d' % {'a': 1, 'b': 2} }}{{ '%s, %s!' | format('a', 2) }}{{ '%(a)s' | format(a=[1]) }}"
        "{{ 7 % 4 }}",
        "{{ +1 }}{{ 2 ** 10 }}{{ 2 ** -1 }}{{ 4 ** 0.5 }}{{ range is callable }}{{ 1 is callable }}{{ 'a' is lower }}"
        "{{ 'aB' is lower }}{{ 'A' is upper }}",
        "{{ ('word ' * 9) | truncate(20) }}|{{ ('word ' * 9) | truncate(9, true, '…') }}|{{ 'abcdef' | truncate(3) }}|"
        "{{ 'abcdef' | truncate(3, leeway=0) }}|{{ messages[2].content | wordcount }}",
        "{{ [1, 2, 3, 4, 5] | batch(2) | list }}{{ [1, 2, 3, 4, 5] | batch(2, 0) | list }}"
        "{{ [1, 2, 3, 4] | slice(3) | list }}"
        "{{ [1, 2, 3, 4] | slice(3, 'x') | list }}{{ [] | batch(2, 0) | list }}",
        "{% for role, found in messages | groupby('role') %}{{ role }}{{ found | length }}"
        "{{ found[0].content }}{% endfor %}"
        "{% for each in [{'a': 'B'}, {'a': 'b'}, {}] | groupby('a', default='c') %}{{ each.grouper }}{{ each.list }}"
        "{% endfor %}",
        "[{{ 'ab'.zfill(5) }}{{ '-1'.zfill(4) }}{{ 'ab'.center(7, '*') }}{{ 'ab'.ljust(4) }}{{ 'ab'.rjust(4, '.') }}"
        "{{ 'abc'.rjust(1) }}{{ 'ab' | center(6) }}{{ messages[0].content.ljust(4) }}]",
        "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.reset() }}{{ c.next() }}"
        "{% set comma = joiner('; ') %}{% for i in range(3) %}{{ comma() }}{{ i }}{% endfor %}{% set j = joiner() %}"
        "{{ j() }}{{ j() }}",
        "{% autoescape false %}{% set a = '<' %}{{ a }}{{ messages[0].content }}{% endautoescape %}{{ a }}",
    ],
)
def test_it_writes_what_jinja2_does(source: str) -> None:
    turns = [USER, REPLY, ChatTurn(Role.USER, "  größe {{ 日本 }}\r\n")]
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    environment.filters["tojson"] = lambda value, indent=None: json.dumps(value, ensure_ascii=False, indent=indent)
    messages = [{"role": turn.role.value, "content": turn.text} for turn in turns]
    assert render(source + ".", *turns) == environment.from_string(source + ".").render(messages=messages)
