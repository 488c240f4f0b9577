"""Turns of a conversation with pictures, for targets that see and others."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engine.backend.chats.turns import Turns
from engine.values.conversations import ChatTurn, Message, Role
from engine.values.errors import FileUnusable, NotPossible
from engine.values.prompts import AttachedPicture, Attachment, join_prompt
from engine.values.replies import Thought
from tests.fakes.seer import picture

A, B = picture("a"), picture("b")
NOTES = Attachment("notes.txt", "x")
ALBUM = {each.digest: each for each in (A, B)}
SEEING = Turns("Seer", True, lambda digests: {each: ALBUM[each] for each in digests if each in ALBUM})
BLIND = Turns("Mole", False, SEEING.find)


def message(role: Role, text: str, *thoughts: Thought) -> Message:
    return Message(1, 1, None, role, text, datetime.now(UTC), thoughts=thoughts)


def prompt(words: str, *attached: AttachedPicture | Attachment) -> Message:
    return message(Role.USER, join_prompt(attached, words))


def shown(letter: str) -> AttachedPicture:
    return AttachedPicture(f"{letter}.png", picture(letter).digest)


def test_a_target_that_sees_is_shown_the_pictures_of_every_turn() -> None:
    branch = [
        prompt("Which?", shown("a"), NOTES, shown("b")),
        message(Role.ASSISTANT, "Both.", Thought(0, "Hm.")),
        prompt("", shown("b")),
    ]
    assert SEEING.of("Be brief.", branch) == [
        ChatTurn(Role.SYSTEM, "Be brief."),
        ChatTurn(Role.USER, join_prompt([NOTES], "Which?"), pictures=(A, B)),
        ChatTurn(Role.ASSISTANT, "Both.", "Hm."),
        ChatTurn(Role.USER, "", pictures=(B,)),
    ]
    assert SEEING.asked(branch[0].text).pictures == (A, B)


def test_a_name_stands_for_a_picture_that_is_not_seen_or_not_there() -> None:
    branch = [prompt("Which?", shown("a"), shown("c")), prompt("", shown("a"))]
    texts = [turn.text for turn in BLIND.of("", branch)]
    assert texts == ["[picture: a.png]\n\n[picture: c.png]\n\nWhich?", "[picture: a.png]"]
    (first, _) = SEEING.of("", branch)
    assert (first.text, first.pictures) == ("[picture: c.png]\n\nWhich?", (A,))


def test_a_new_prompt_is_refused_whose_pictures_would_not_be_seen() -> None:
    with pytest.raises(NotPossible, match=r"^Mole cannot see pictures: remove a\.png"):
        BLIND.asked(prompt("Which?", shown("a")).text)
    with pytest.raises(FileUnusable, match=r"^c\.png is no longer there; attach it again\.$"):
        SEEING.asked(prompt("Which?", shown("c")).text)
    said = "Look at ![a.png](picture:" + A.digest + ")"
    assert BLIND.asked(said) == ChatTurn(Role.USER, said), "what is no attachment is text"
