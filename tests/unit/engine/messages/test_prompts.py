"""Files in a prompt, and out of it again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.messages.prompts import (
    AttachedPicture,
    Attachment,
    join_prompt,
    pictures_in,
    split_pictures,
    split_prompt,
    title_of,
    with_names,
)

NAMES = st.from_regex(r"[A-Za-z0-9_ü-]{1,12}(\.[a-z]{1,4})?", fullmatch=True)
WORDS = st.text(st.sampled_from("ab `\n.~#"), max_size=40)
TEXTS = WORDS.map(lambda text: text.rstrip("\n"))  # whether the last line was ended is not kept


@settings(max_examples=60)
@given(
    st.lists(st.builds(Attachment, NAMES, TEXTS), max_size=3), WORDS.filter(lambda words: words[:1] not in ("`", "\n"))
)
def test_what_was_joined_is_split_again(attachments: list[Attachment], words: str) -> None:
    assert split_prompt(join_prompt(attachments, words)) == (tuple(attachments), words)


def test_it_reads_well() -> None:
    prompt = join_prompt(
        [Attachment("notes.txt", "one\ntwo\n"), Attachment("Makefile", "```\nx\n```")], "What is this?"
    )
    assert prompt == "```notes.txt\none\ntwo\n```\n\n````./Makefile\n```\nx\n```\n````\n\nWhat is this?"


@pytest.mark.parametrize(
    "prompt", ["", "plain", "```python\nx = 1\n```\nWhy?", "```notes.txt\nnever closed", "``` \nx\n```"]
)
def test_what_a_user_wrote_is_left_alone(prompt: str) -> None:
    assert split_prompt(prompt) == ((), prompt)


def test_a_name_cannot_break_the_fence() -> None:
    ((attachment,), words) = split_prompt(join_prompt([Attachment("a`b\n```c.txt", "x")], "y"))
    assert isinstance(attachment, Attachment)
    assert (attachment.name, attachment.text, words) == ("a b c.txt", "x", "y")


def test_a_picture_is_named_by_its_digest_and_people_read_its_name() -> None:
    pictures = AttachedPicture("a [b].png", "0" * 64), AttachedPicture("c.png", "1" * 64)
    file = Attachment("notes.txt", "one")
    prompt = join_prompt([pictures[0], file, pictures[1]], "What is it?")
    first = AttachedPicture("a (b).png", "0" * 64)
    assert split_prompt(prompt) == ((first, file, pictures[1]), "What is it?")
    assert split_pictures(prompt) == ((first, pictures[1]), "```notes.txt\none\n```\n\nWhat is it?")
    assert pictures_in([prompt, "plain", prompt]) == ["0" * 64, "1" * 64]
    assert with_names(prompt, "*{}*") == "*a (b).png*\n\n```notes.txt\none\n```\n\n*c.png*\n\nWhat is it?"
    assert title_of(join_prompt(pictures, "")) == "a (b).png, c.png"
    unlike = f"![a.png](picture:{'0' * 63}) ![a.png](picture:{'0' * 64})"
    assert (pictures_in([unlike]), with_names(unlike)) == ([], unlike)
