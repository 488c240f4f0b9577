"""Conversations that templates refuse as they stand: late system texts, stopped calls, thoughts between calls."""

from __future__ import annotations

import pytest

from engine.speculation.model.chat.chat_template import ChatTemplate
from engine.speculation.model.chat.thinking import ThinkingStyle
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import TemplateFailed
from engine.values.tools import UNDONE, Tool, ToolCall

TOOL = Tool("", "weigh", "Weighs.", '{"type": "object", "properties": {"what": {"type": "string"}}}')
ONE, TWO = (ToolCall(f"idididi0{number}", "", "weigh", '{"what": "tea"}') for number in (1, 2))
FIRST, LATE = ChatTurn(Role.SYSTEM, "Speak Latin."), ChatTurn(Role.SYSTEM, "Be polite.")
ASK, REPLY, AGAIN = ChatTurn(Role.USER, "Ave?"), ChatTurn(Role.ASSISTANT, "Salve."), ChatTurn(Role.USER, "Vale?")
STOP = ChatTurn(Role.USER, "Stop that.")

CALLS = "{% for c in m.tool_calls or [] %}{{ c.function | tojson }}{% endfor %}"
TURNS = "{% for m in messages %}[{{ m.role }}]{{ m.content }}" + CALLS
TOOLS = "{% for t in tools or [] %}{{ t.function.name }}{% endfor %}"
ANYWHERE = TURNS + "{% endfor %}"
FIRST_ONLY = (
    TURNS.replace("%}", "%}{% if m.role == 'system' and not loop.first %}{{ raise_exception('first') }}{% endif %}", 1)
    + "{% endfor %}"
)
NO_SYSTEM = ANYWHERE.replace("%}", "%}{% if m.role == 'system' %}{{ raise_exception('none') }}{% endif %}", 1)
ALTERNATING = (  # as Mistral has it: calls and their results do not count
    "{% set ns = namespace(n=0) %}{% for m in messages %}"
    "{% if m.role == 'user' or (m.role == 'assistant' and not m.tool_calls) %}"
    "{% if (m.role == 'user') != (ns.n % 2 == 0) %}{{ raise_exception('alternate') }}{% endif %}"
    "{% set ns.n = ns.n + 1 %}"
    "{% endif %}{% endfor %}" + TOOLS + ANYWHERE
)
CALLED_FIRST = (  # as gpt-oss has it
    TOOLS + "{% set ns = namespace(called=false) %}"
    "{% for m in messages %}{% if m.role == 'tool' and not ns.called %}{{ raise_exception('no call') }}{% endif %}"
    "{% set ns.called = ns.called or m.tool_calls is defined %}{% endfor %}" + ANYWHERE
)
THINKING = (
    TOOLS + "{% set ns = namespace(since=0) %}{% for m in messages %}{% if m.role == 'user' %}"
    "{% set ns.since = loop.index0 %}{% endif %}{% endfor %}{% for m in messages %}[{{ m.role }}]"
    "{% if m.reasoning_content and loop.index0 > ns.since %}<think>{{ m.reasoning_content }}</think>{% endif %}"
    "{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments }}{% endfor %}"
    "{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
)
DESCRIBED = TOOLS + (
    "{% for t in tools or [] %}{% for name, p in t.function.parameters.properties.items() %}"
    "{{ ' # ' + p.description }}{% endfor %}{% endfor %}" + ANYWHERE
)


def render(source: str, *turns: ChatTurn, more: dict[str, object] | None = None) -> str:
    tools = [TOOL] if "tools" in source else []
    return str(ChatTemplate(source, "", "").render(turns, tools=tools, more=more or {}))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (ANYWHERE, "[system]Speak Latin.[user]Ave?[assistant]Salve.[system]Be polite.[user]Vale?"),
        (FIRST_ONLY, "[system]Speak Latin.\n\nBe polite.[user]Ave?[assistant]Salve.[user]Vale?"),
        (NO_SYSTEM, "[user]Speak Latin.\n\nBe polite.\n\nAve?[assistant]Salve.[user]Vale?"),
    ],
)
def test_system_texts_stay_where_the_template_takes_them(source: str, expected: str) -> None:
    assert render(source, FIRST, ASK, REPLY, LATE, AGAIN) == expected


def test_prompts_around_a_system_text_that_moved_are_one() -> None:
    text = render(ALTERNATING + FIRST_ONLY, ASK, REPLY, AGAIN, LATE, STOP)
    assert text.endswith("[system]Be polite.[user]Ave?[assistant]Salve.[user]Vale?\n\nStop that.")


CALLING = ChatTurn(Role.ASSISTANT, "", calls=(ONE, TWO))
RESULT = ChatTurn(Role.TOOL, "80 g", answers=ONE)


def test_a_call_that_was_stopped_has_a_result_that_says_so() -> None:
    text = render(TOOLS + ANYWHERE, ASK, CALLING, RESULT, STOP)
    assert text.endswith(f"[tool]80 g[tool]{UNDONE}[user]Stop that.")


def test_a_template_that_insists_on_a_reply_is_told_of_the_call_as_text() -> None:
    earlier = (ASK, CALLING, RESULT, ChatTurn(Role.TOOL, "90 g", answers=TWO), REPLY)
    text = render(ALTERNATING, *earlier, AGAIN, CALLING, RESULT, STOP)
    assert '"arguments"' in text.partition("[assistant]Salve.")[0], "what was carried out stays a call"
    assert '[assistant][Called weigh with {"what": "tea"}]' in text.partition("[assistant]Salve.")[2]
    assert text.endswith(f"[user][weigh answered: 80 g]\n\n[weigh answered: {UNDONE}]\n\nStop that.")


def test_a_result_without_a_call_is_told_as_text() -> None:
    stray = ChatTurn(Role.TOOL, "70 g", answers=ToolCall("x", "", "weigh"))
    assert render(CALLED_FIRST, ASK, REPLY, stray, AGAIN).endswith("[user][weigh answered: 70 g]\n\nVale?")


def test_a_result_with_a_wrong_id_is_that_of_the_call_that_waits() -> None:
    calling = ChatTurn(Role.ASSISTANT, "", calls=(ONE,))
    stray = ChatTurn(Role.TOOL, "70 g", answers=ToolCall("x", "", "weigh"))
    assert render(CALLED_FIRST, ASK, calling, stray, AGAIN).endswith("[tool]70 g[user]Vale?")


def test_arguments_without_a_description_get_an_empty_one_where_a_template_insists() -> None:
    assert render(DESCRIBED, ASK).endswith(" # [user]Ave?")


def test_the_words_of_a_template_that_refuses_all_forms_are_those_about_the_conversation_as_it_is() -> None:
    with pytest.raises(TemplateFailed, match="never"):
        render(TOOLS + "{% if messages | length > 1 %}{{ raise_exception('never') }}{% endif %}", ASK, CALLING, STOP)


def test_thoughts_before_calls_are_kept_until_the_user_speaks_again() -> None:
    template = ChatTemplate(THINKING, "", "")
    style = template.thinking([])
    assert style.between_calls
    calling = ChatTurn(Role.ASSISTANT, "", "Weigh first.", calls=(ONE,))
    turn = [ASK, calling, RESULT]
    during = template.render(turn, thinking=style, tools=[TOOL])
    assert "[assistant]<think>Weigh first.</think>weigh" in during
    after = template.render([*turn, REPLY, AGAIN], thinking=style, tools=[TOOL])
    assert "Weigh first." not in after


def test_a_template_that_takes_a_thought_only_in_place_of_a_text_gets_the_text() -> None:
    source = THINKING.replace(
        "{{ m.content }}",
        "{% if m.content and m.reasoning_content and m.tool_calls %}{{ raise_exception('one') }}{% endif %}"
        "{{ m.content }}",
    )
    template = ChatTemplate(source, "", "")
    style: ThinkingStyle = template.thinking([])
    assert (style.between_calls, style.beside_text) == (True, False)
    calling = ChatTurn(Role.ASSISTANT, "I weigh it.", "Weigh first.", calls=(ONE,))
    text = template.render([ASK, calling, RESULT], thinking=style, tools=[TOOL])
    assert "I weigh it." in text
    assert "Weigh first." not in text


def test_what_a_program_tells_the_template_reaches_it_and_its_text_is_said() -> None:
    source = "{{ reasoning_effort | default('medium') }}{{ style }}" + ANYWHERE
    text = ChatTemplate(source, "", "").render([ASK], more={"reasoning_effort": "high", "style": "<|im_end|>"})
    assert text == "high<|im_end|>[user]Ave?"
    assert text.said[4:14] == b"\1" * 10


def test_an_effort_that_a_template_does_not_know_is_left_out() -> None:
    source = "{% if reasoning_effort is defined and reasoning_effort != 'low' %}{{ raise_exception('low') }}{% endif %}"
    template = ChatTemplate(source + ANYWHERE, "", "")
    assert template.render([ASK], more={"reasoning_effort": "medium"}) == "[user]Ave?"


def test_a_template_that_has_its_own_name_for_the_tools_is_told_them_as_a_text() -> None:
    source = "{% if tools is defined %}{% endif %}{{ 'Functions: ' + functions }}" + ANYWHERE
    assert '"name": "weigh"' in render(source, ASK)
    assert str(ChatTemplate(source, "", "").render([ASK])) == "Functions: [user]Ave?"
