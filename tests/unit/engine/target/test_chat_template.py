from __future__ import annotations

import pytest

from engine.errors import TemplateFailed
from engine.messages.conversations import ChatTurn, Role
from engine.target.chat_template import ChatTemplate

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


def render(source: str | None, *turns: ChatTurn) -> str:
    return ChatTemplate(source, begin="<s>", end="</s>").render(turns)


def test_a_model_without_template_speaks_chatml() -> None:
    assert render(None, SYSTEM, USER) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )


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
        "{{ 10 ** 10 ** 8 }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}xxxxxxxxxx{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",  # without a word
        "{{ 'a'.center(10 ** 3) }}",
        "{{ 'a' | center(10) }}",
        "{{ '%0999d' % 1 }}",
        "{{ 'a' | indent(10 ** 2, true) }}",
        "{{ 'a' | indent(101, true) }}",
        "{% if false %}x{% endif %}",  # writes nothing
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% include '/etc/passwd' %}",
        "{{ range(10000000) | list }}",
    ],
)
def test_a_template_that_fails_or_does_harm_is_refused_with_a_sentence(source: str) -> None:
    with pytest.raises(
        TemplateFailed, match=r"^The chat template inside this model cannot be used \(.+\); choose another model"
    ):
        render(source, USER)
