"""Files in a prompt, and out of it again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.values.prompts import (
    AttachedPicture,
    Attachment,
    join_prompt,
    pictures_in,
    split_pictures,
    split_prompt,
    title_of,
    with_names,
)

DIGEST = "0123456789abcdef" * 4
DIGESTS = st.from_regex(r"[0-9a-f]{64}", fullmatch=True)
NAMES = st.from_regex(r"[A-Za-z0-9_ü-]{1,12}(\.[a-z]{1,4})?", fullmatch=True)
WORDS = st.text(st.sampled_from("ab `\n.~#"), max_size=40)
TEXTS = WORDS.map(lambda text: text.rstrip("\n"))  # whether the last line was ended is not kept


@settings(max_examples=60)
@given(
    st.lists(st.builds(Attachment, NAMES, TEXTS) | st.builds(AttachedPicture, NAMES, DIGESTS), max_size=3),
    WORDS.filter(lambda words: words[:1] not in ("`", "\n")),
)
def test_what_was_joined_is_split_again(attachments: list[Attachment | AttachedPicture], words: str) -> None:
    prompt = join_prompt(attachments, words)
    assert split_prompt(prompt) == (tuple(attachments), words)
    pictures, text = split_pictures(prompt)
    assert list(pictures) == [each for each in attachments if isinstance(each, AttachedPicture)]
    assert text == join_prompt([each for each in attachments if isinstance(each, Attachment)], words)


def test_it_reads_well() -> None:
    prompt = join_prompt(
        [Attachment("notes.txt", "one\ntwo\n"), Attachment("Makefile", "```\nx\n```")], "What is this?"
    )
    assert prompt == "```notes.txt\none\ntwo\n```\n\n````./Makefile\n```\nx\n```\n````\n\nWhat is this?"


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "plain",
        "```python\nx = 1\n```\nWhy?",
        "```notes.txt\nnever closed",
        "``` \nx\n```",
        f"See ![a](picture:{DIGEST})",
        "![a](picture:1)",
    ],
)
def test_what_a_user_wrote_is_left_alone(prompt: str) -> None:
    assert split_prompt(prompt) == ((), prompt)


def test_a_name_cannot_break_the_fence() -> None:
    assert split_prompt(join_prompt([Attachment("a`b\n```c.txt", "x")], "y")) == ((Attachment("a b c.txt", "x"),), "y")
    picture = AttachedPicture("a](b)[\n.png", DIGEST)
    assert split_prompt(join_prompt([picture], "y")) == ((AttachedPicture("a)(b)( .png", DIGEST),), "y")


def test_people_read_the_name_of_a_picture() -> None:
    pictures = AttachedPicture("a.png", DIGEST), AttachedPicture("c.png", DIGEST[::-1])
    prompt = join_prompt([pictures[0], Attachment("notes.txt", "one"), pictures[1]], "What is it?")
    assert with_names(prompt, "*{}*") == "*a.png*\n\n```notes.txt\none\n```\n\n*c.png*\n\nWhat is it?"
    assert title_of(join_prompt(pictures, "")) == "a.png, c.png"
    assert pictures_in([prompt, "plain", prompt]) == [DIGEST, DIGEST[::-1]]
    unlike = f"Is it ![a.png](picture:{DIGEST})?"
    assert (pictures_in([unlike]), with_names(unlike)) == ([], unlike)
