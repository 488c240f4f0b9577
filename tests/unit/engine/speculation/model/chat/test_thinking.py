"""What chat templates do with thoughts, found out without the name of a model."""

from __future__ import annotations

import pytest

from engine.speculation.model.chat.chat_template import ChatTemplate
from engine.speculation.model.chat.families import CHATML
from engine.speculation.model.chat.thinking import NO_THINKING, Past, ThinkingTags
from engine.values.conversations import ChatTurn, Role
from tests.fakes import thinking_templates as templates

THINK = ThinkingTags("<think>", "</think>", "\n</think>\n\n")
CHANNELS = ThinkingTags(
    "<|channel|>analysis<|message|>",
    "<|end|><|start|>assistant<|channel|>final<|message|>",
    "<|end|><|start|>assistant<|channel|>final<|message|>",
    lead="<|channel|>final<|message|>",
)
SEED = ThinkingTags("<seed:think>", "</seed:think>", "</seed:think>")
BRACKETS = ThinkingTags("[THINK]", "[/THINK]", "\n[/THINK]\n\n")
TURNS = (
    ChatTurn(Role.USER, "Hi"),
    ChatTurn(Role.ASSISTANT, "Hello!", "They say <think>."),
    ChatTurn(Role.USER, "And?"),
)


@pytest.mark.parametrize(
    ("source", "tags", "switch", "past", "asked", "open_when"),
    [
        (templates.FIELD_AND_SWITCH, THINK, "enable_thinking", Past.LEFT_OUT, "Hello!", []),
        (templates.OPEN_IN_PROMPT, THINK, "", Past.LEFT_OUT, "Hello!", [None, True, False]),
        (templates.OFF_UNLESS_TOLD, THINK, "thinking", Past.LEFT_OUT, "Hello!", [True]),
        (templates.CHANNELS, CHANNELS, "", Past.LEFT_OUT, "final<|message|>Hello!", []),
        (templates.KEPT_FIELD, SEED, "", Past.FIELD, "<seed:think>They say <think>.</seed:think>Hello!", []),
        (templates.KEPT_INLINE, BRACKETS, "", Past.INLINE, "[THINK]They say <think>.\n[/THINK]\n\nHello!", []),
    ],
    ids=["field", "open", "off", "channels", "kept field", "kept inline"],
)
def test_marks_switch_and_past_thoughts_are_as_the_template_has_them(
    source: str, tags: ThinkingTags, switch: str, past: Past, asked: str, open_when: list[bool | None]
) -> None:
    template = ChatTemplate(source, begin="<s>", end="</s>")
    thinking = template.thinking(())
    assert (thinking.tags, thinking.switch, thinking.past) == (tags, switch, past)
    assert thinking.by_default == (switch != "thinking")
    prompts = {thinks: template.render(TURNS, None, thinking, thinks) for thinks in (None, True, False)}
    assert all(asked in prompt for prompt in prompts.values())
    assert ("They say" in prompts[None]) == (past is not Past.LEFT_OUT)
    assert [thinks for thinks, prompt in prompts.items() if thinking.is_open(prompt)] == open_when
    assert (prompts[True] == prompts[False]) == (not switch)
    written = template.render(TURNS, None, thinking)
    said = "".join(letter for letter, is_said in zip(written, written.said, strict=True) if is_said)
    assert tags.close not in said, "what the template has between a thought and an answer is not said by anybody"


def test_a_template_without_a_word_of_thoughts_leaves_the_marks_to_the_vocabulary() -> None:
    template = ChatTemplate(CHATML, begin="", end="")
    assert template.thinking((b"the", b"<tool>", b" thinking", b"[thing]")) == NO_THINKING
    thinking = template.thinking((b"the", b"<|begin_of_thought|>", b"<|end_of_thought|>"))
    assert thinking.tags == ThinkingTags("<|begin_of_thought|>", "<|end_of_thought|>", "\n<|end_of_thought|>\n\n")
    assert "They say" not in template.render(TURNS, None, thinking)


def test_a_template_that_fails_at_every_question_still_has_no_say_in_it() -> None:
    source = "{% if thinking is defined or messages | length > 1 %}{{ raise_exception('no') }}{% endif %}Hi <think>"
    assert ChatTemplate(source, begin="", end="").thinking(()).tags is None
