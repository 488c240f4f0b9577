"""Where a text was seen before, against a slow plain search over all places."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.numerics.suffix_index import LONGEST_MATCH, SHORTEST_MATCH, GrowingText, Occurrence, SuffixIndex

Place = tuple[int, list[int]]  # how many tokens are alike, and what followed

tokens = st.integers(0, 2)
texts = st.lists(tokens, max_size=40)
ALL = 10_000


def places_in(text: Sequence[int], tail: Sequence[int]) -> list[Place]:
    """All places of the text, one after the other, that end as `tail` does and go on."""
    found = []
    for end in range(1, len(text)):
        length = 0
        while length < min(end, len(tail), LONGEST_MATCH) and text[end - 1 - length] == tail[-1 - length]:
            length += 1
        if length >= SHORTEST_MATCH:
            found.append((length, list(text[end:])))
    return found


def said(found: Sequence[Occurrence]) -> list[Place]:
    return [(place.length, place.continuation(ALL)) for place in found]


@given(st.lists(texts, max_size=5), texts, st.integers(1, 6))
def test_an_index_finds_what_a_search_of_every_text_finds(kept: list[list[int]], tail: list[int], most: int) -> None:
    found = SuffixIndex(kept).find(tail, ALL)
    every = [place for text in kept for place in places_in(text, tail)]
    expected = [place for place in every if place[0] > SHORTEST_MATCH] or every
    assert sorted(said(found)) == sorted(expected)
    few = SuffixIndex(kept).find(tail, most)
    assert len(few) == min(most, len(expected))
    assert all(place in expected for place in said(few))


@given(st.lists(texts, max_size=5), texts, st.integers(1, 6))
def test_an_index_finds_the_latest_places_in_order(kept: list[list[int]], tail: list[int], most: int) -> None:
    every = [place for text in kept for place in places_in(text, tail)]
    expected = [place for place in every if place[0] > SHORTEST_MATCH] or every
    assert said(SuffixIndex(kept).find(tail, most)) == expected[-most:]


@given(texts, st.integers(1, 6))
def test_a_growing_text_finds_its_latest_earlier_places_in_order(text: list[int], most: int) -> None:
    growing = GrowingText()
    growing.become(text)
    assert said(growing.find(most)) == places_in(text, text)[-most:]


edits = st.lists(st.tuples(st.integers(0, 60), texts, st.booleans()), max_size=8)


@given(edits)
def test_a_text_that_was_edited_is_as_one_that_was_written_anew(changes: list[tuple[int, list[int], bool]]) -> None:
    growing = GrowingText()
    text: list[int] = []
    for num_kept, new, is_known in changes:
        if is_known:  # it only grows
            growing.extend(new)
            text = [*text, *new]
        else:
            text = [*text[:num_kept], *new]
            growing.become(text)
        fresh = GrowingText()
        fresh.extend(text)
        assert len(growing) == len(text)
        assert growing.last == (text[-1] if text else None)
        assert growing.tail() == text[-LONGEST_MATCH:]
        assert said(growing.find(ALL)) == said(fresh.find(ALL)) == places_in(text, text)


def test_a_text_may_become_longer_than_was_thought_of() -> None:
    text = [place % 700 for place in range(5000)]
    growing = GrowingText()
    growing.become(text[:900])
    growing.extend(text[900:])
    assert said(growing.find(ALL)) == places_in(text, text)


def test_the_length_of_a_match_ends_at_the_longest_that_is_compared() -> None:
    text = list(range(50))
    (place,) = SuffixIndex([[*text, 7]]).find(text, 9)
    assert (place.length, place.continuation(9)) == (LONGEST_MATCH, [7])
    growing = GrowingText()
    growing.become([*text, *text])
    (place,) = growing.find(9)
    assert (place.length, place.continuation(3)) == (LONGEST_MATCH, [0, 1, 2])


@pytest.mark.parametrize("short", [[], [1], [1, 2]])
def test_a_text_too_short_to_end_alike_and_go_on_is_never_found(short: list[int]) -> None:
    index = SuffixIndex([short, short, short])
    assert index.num_tokens == 3 * len(short)
    assert index.find([0, 1, 2], 9) == []


@pytest.mark.parametrize("short", [[], [2]])
def test_an_end_of_less_than_two_tokens_is_not_looked_for(short: list[int]) -> None:
    assert SuffixIndex([[0, 1, 2, 3]]).find(short, 9) == []
    growing = GrowingText()
    growing.become([2, 2, 2])
    growing.become(short)
    assert growing.find(9) == []


def test_an_empty_index_finds_nothing() -> None:
    assert SuffixIndex().find([1, 2, 3], 9) == []
    assert SuffixIndex().num_tokens == 0
    assert GrowingText().find(9) == []
    assert GrowingText().last is None


def test_what_followed_ends_with_its_text() -> None:
    (place,) = SuffixIndex([[1, 2, 3, 4], [5, 6, 7]]).find([1, 2], 9)
    assert place.continuation(9) == [3, 4]
    assert place.continuation(1) == [3]


def test_nothing_is_alike_across_the_border_of_two_texts() -> None:
    index = SuffixIndex([[8, 9], [5, 6, 7]])
    assert index.find([9, 5], 9) == []
    (place,) = index.find([8, 9, 5, 6], 9)
    assert place.length == 2


def test_the_largest_tokens_are_told_apart() -> None:
    top = 2**21 - 2
    index = SuffixIndex([[top - 1, top, top, 1], [0, top, top, 2], [top, top, top, 3]])
    for before, following in ((top - 1, 1), (0, 2), (top, 3)):
        assert said(index.find([before, top, top], 1)) == [(3, [following])]
