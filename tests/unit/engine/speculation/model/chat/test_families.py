"""Chat templates of families, for models that bring none."""

from __future__ import annotations

import pytest

from engine.speculation.model.chat.chat_template import ChatTemplate
from engine.speculation.model.chat.families import FAMILIES, Family, family_of
from engine.values.conversations import ChatTurn, Role

TURNS = (
    ChatTurn(Role.SYSTEM, "Rule one."),
    ChatTurn(Role.USER, "Two?"),
    ChatTurn(Role.ASSISTANT, "Three."),
    ChatTurn(Role.USER, "Four?"),
)
MARKED = [each for each in FAMILIES if each.marks]


def vocabulary(*marks: str) -> list[bytes]:
    return [b"a", b"b", *(mark.encode() for mark in marks)]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda each: each.name)
def test_all_that_was_said_is_told_in_order_and_the_reply_follows(family: Family) -> None:
    text = str(ChatTemplate(family.source, "<s>", "</s>").render(TURNS))
    places = [text.index(turn.text) for turn in TURNS]
    assert places == sorted(places)
    assert all(mark in text for mark in family.marks)
    assert len(text) > places[-1] + len("Four?")


@pytest.mark.parametrize("family", MARKED, ids=lambda each: each.name)
def test_the_marks_tell_the_family_of_a_model_that_was_taught_to_answer(family: Family) -> None:
    assert family_of(vocabulary(*family.marks), "some-model-7b-it.gguf") == family
    assert family_of(vocabulary(*family.marks[1:]), "some-model-7b-it.gguf") is None


@pytest.mark.parametrize("name", ["gemma-3-270m-q4_k_m.gguf Gemma 3 270m", "Meta-Llama-3-8B.Q4_K_M.gguf", "writer-pt"])
def test_a_base_model_has_the_marks_without_knowing_what_they_mean(name: str) -> None:
    gemma = next(each for each in FAMILIES if each.name == "Gemma")
    assert family_of(vocabulary(*gemma.marks), name) is None
    assert family_of(vocabulary(*gemma.marks), f"{name} Instruct") == gemma


def test_base_models_with_the_marks_of_chatml_have_read_such_chats() -> None:
    family = family_of(vocabulary("<|im_start|>", "<|im_end|>"), "Qwen3-0.6B-Base.gguf")
    assert family is not None
    assert family.name == "ChatML"
