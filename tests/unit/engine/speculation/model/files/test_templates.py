"""What chat templates a model file can be used with, and what they make of a conversation."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.speculation.model.chat.families import CHATML, TEXT
from engine.speculation.model.files.templates import preview, template_facts
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import NotPossible
from tests.fakes.tiny_models import tiny_llama

OWN = "{{ bos_token }}{% for m in messages %}({{ m.role }}) {{ m.content }} {% endfor %}"
TURNS = (ChatTurn(Role.USER, "Wie geht es?"),)


def test_a_template_in_the_file_is_the_usual_one(tmp_path: Path) -> None:
    facts = template_facts(tiny_llama(tmp_path / "own.gguf", chat_template=OWN))
    assert (facts.in_file, facts.usual, facts.family) == (OWN, OWN, "")
    assert preview(facts.usual, facts, TURNS) == f"{facts.begin}(user) Wie geht es? "
    assert facts.begin == "<s>"


def test_without_one_the_text_alone_is_usual_and_families_can_be_chosen(tmp_path: Path) -> None:
    facts = template_facts(tiny_llama(tmp_path / "base.gguf"))
    assert (facts.in_file, facts.usual, facts.family) == ("", TEXT, "")
    assert preview(TEXT, facts, TURNS) == "Wie geht es?"
    chatml = next(each for each in facts.families if each.source == CHATML)
    assert chatml.unknown_marks == ("<|im_start|>", "<|im_end|>")
    assert "<|im_start|>user\nWie geht es?" in preview(chatml.source, facts, TURNS)


def test_a_template_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    facts = template_facts(tiny_llama(tmp_path / "base.gguf"))
    with pytest.raises(NotPossible, match=r"cannot be used \(.*endfor.*\); change it"):
        preview("{% for m in messages %}", facts, TURNS)
