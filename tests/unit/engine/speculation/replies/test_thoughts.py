"""The text of a reply, divided into thoughts and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.speculation.model.chat.thinking import ThinkingTags
from engine.speculation.replies.thoughts import PartKind, ReplyPart, ThoughtSplitter
from engine.values.growing_reply import joined_replies
from engine.values.replies import Thought

TAGS = ThinkingTags("<think>", "</think>", "\n</think>\n\n")
CHANNELS = ThinkingTags("<|c|>analysis<|m|>", "<|e|><|c|>final<|m|>", "<|e|><|c|>final<|m|>", lead="<|c|>final<|m|>")
_LETTERS = st.sampled_from(["<think>", "</think>", "<|c|>final<|m|>", "<|c|>analysis<|m|>", "<th", "</", "```\n", "`"])
_TEXTS = st.lists(_LETTERS | st.sampled_from([" ", "\n", "a", "so ", "<", "é"]), max_size=14).map("".join)


def split(pieces: Sequence[str], tags: ThinkingTags | None = TAGS, is_inside: bool = False) -> list[ReplyPart]:
    """With neighbours of one kind joined."""
    splitter = ThoughtSplitter(tags, is_inside)
    parts = [part for piece in pieces for part in splitter.feed(piece)] + splitter.finish()
    groups = groupby(parts, lambda part: part.kind)
    return [ReplyPart("".join(part.text for part in group), kind) for kind, group in groups]


def seen(parts: Sequence[ReplyPart]) -> list[tuple[str, str]]:
    names = {PartKind.ANSWER: "answer", PartKind.THOUGHT: "thought"}
    return [(names[part.kind], part.text) for part in parts if part.kind in names]


@given(_TEXTS, st.lists(st.integers(0, 60)), st.booleans(), st.sampled_from([TAGS, CHANNELS]))
@example("<think> a </think> b", [3, 9, 12], False, TAGS)
@settings(max_examples=300, deadline=None)
def test_where_a_text_is_cut_makes_no_difference(
    text: str, cuts: list[int], is_inside: bool, tags: ThinkingTags
) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    whole = split([text], tags, is_inside)
    assert split([text[a:b] for a, b in pairwise(places)], tags, is_inside) == whole
    assert split(list(text), tags, is_inside) == whole
    assert "".join(part.text for part in whole) == text
    for part in whole:
        if part.kind is PartKind.THOUGHT:
            assert part.text == part.text.rstrip()


@pytest.mark.parametrize(
    ("text", "is_inside", "expected"),
    [
        ("<think>\nHm.\n</think>\n\nYes.", False, [("thought", "Hm."), ("answer", "Yes.")]),
        ("Hm. \n</think>\n\nYes.", True, [("thought", "Hm."), ("answer", "Yes.")]),
        (
            "<think>a</think>b<think>c</think>d",
            False,
            [("thought", "a"), ("answer", "b"), ("thought", "c"), ("answer", "d")],
        ),
        ("<think>\n\n</think>\n\nYes.", False, [("answer", "Yes.")]),
        ("<think>and so", False, [("thought", "and so")]),
        ("no </think> of <thi", False, [("answer", "no </think> of <thi")]),
        ("It is `<think>`:\n```\n<think>\n```\nSo.", False, [("answer", "It is `<think>`:\n```\n<think>\n```\nSo.")]),
    ],
)
def test_what_is_thought_and_what_is_answered(text: str, is_inside: bool, expected: list[tuple[str, str]]) -> None:
    assert seen(split([text], is_inside=is_inside)) == expected


def test_an_answer_may_have_a_mark_of_its_own() -> None:
    assert seen(split(["<|c|>final<|m|>Yes."], CHANNELS)) == [("answer", "Yes.")]
    thinking = "<|c|>analysis<|m|>Hm.<|e|><|c|>final<|m|>Yes."
    assert seen(split([thinking], CHANNELS)) == [("thought", "Hm."), ("answer", "Yes.")]


def test_a_reply_that_goes_on_goes_on_with_its_thought() -> None:
    before = (Thought(0, "a", 1.0, 3, True), Thought(2, "b", 2.0, 4))
    later = (Thought(0, "c", 0.5, 2, True), Thought(5, "d", 1.0, 1, True))
    joined = joined_replies("ab", before, later)
    assert joined == (before[0], Thought(2, "bc", 2.5, 6, True), Thought(7, "d", 1.0, 1, True))
    assert joined_replies("ab", (), later)[0].place == 2
