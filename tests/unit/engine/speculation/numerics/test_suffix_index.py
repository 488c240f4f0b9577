"""Where a text was seen before, against a slow plain search over all places."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.numerics.suffix_index import LONGEST_MATCH, SHORTEST_MATCH, GrowingText, Occurrence, SuffixIndex

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


def most_alike(every: Sequence[Place], most: int) -> list[Place]:
    """Of places in their order: the longest matches, and of those of one length the latest, at the end; none of
    half the length of the longest, or less."""
    longest = max((length for length, _ in every), default=0)
    return sorted((place for place in every if 2 * place[0] > longest), key=lambda place: place[0])[-most:]


@given(st.lists(texts, max_size=5), texts, st.integers(1, 6))
def test_an_index_finds_what_a_search_of_every_text_finds(kept: list[list[int]], tail: list[int], most: int) -> None:
    every = [place for text in kept for place in places_in(text, tail)]
    assert said(SuffixIndex(kept).find(tail, ALL)) == most_alike(every, ALL)
    assert said(SuffixIndex(kept).find(tail, most)) == most_alike(every, most)


@given(texts, texts, st.integers(1, 6))
def test_a_growing_text_finds_what_a_search_of_it_finds(text: list[int], ahead: list[int], most: int) -> None:
    growing = GrowingText()
    growing.become(text)
    for tail in (growing.tail(), [*growing.tail(), *ahead]):
        assert said(growing.find(tail, ALL)) == most_alike(places_in(text, tail), ALL)
        assert said(growing.find(tail, most)) == most_alike(places_in(text, tail), most)


LINES = 100_000
PASSAGE = [*range(10, 40)]


def among_lines_alike() -> list[int]:
    """A passage somewhere among lines that begin and end with the tokens that its lines begin and end with."""
    lines = [token for number in range(LINES) for token in (1000 + number % 5000, 1, 2, 3)]
    middle = len(lines) // 2
    return [*lines[:middle], *PASSAGE, 1, 2, 3, 50, 51, *lines[middle:]]


def test_of_100_000_places_alike_an_index_finds_the_longest_match() -> None:
    index = SuffixIndex([among_lines_alike()])
    best = index.find([*PASSAGE, 1, 2, 3], 8)[-1]
    assert (best.length, best.continuation(2)) == (LONGEST_MATCH, [50, 51])
    nearly = index.find([7, *PASSAGE[-3:], 1, 2, 3], 8)[-1]
    assert (nearly.length, nearly.continuation(2)) == (6, [50, 51])
    assert len(index.find([0, 1, 2], 8)) == 8


def test_of_100_000_places_alike_a_growing_text_finds_the_longest_match() -> None:
    growing = GrowingText()
    growing.become(among_lines_alike())
    for token in (*PASSAGE, 1, 2, 3):
        growing.extend([token])
    best = growing.find(growing.tail(), 8)[-1]
    assert (best.length, best.continuation(2)) == (LONGEST_MATCH, [50, 51])
    growing.extend([50, 7, *PASSAGE[-3:], 1, 2, 3])
    assert [(place.length, place.continuation(1)) for place in growing.find(growing.tail(), 8)[-2:]] == [
        (6, [50]),
        (6, [50]),
    ]


def test_places_alike_in_all_that_is_compared_are_found_the_latest_last() -> None:
    text = [token for number in range(40) for token in (*range(LONGEST_MATCH), 100 + number)]
    growing = GrowingText()
    growing.become(text)
    growing.extend(range(LONGEST_MATCH))
    tail = [*range(LONGEST_MATCH)]
    for found in (growing.find(tail, 3), SuffixIndex([text, tail]).find(tail, 3)):
        assert said(found) == [(LONGEST_MATCH, place.continuation(ALL)) for place in found]
        assert [place.continuation(1) for place in found] == [[137], [138], [139]]


def test_a_place_moves_on_with_a_text_that_goes_on_alike() -> None:
    (place,) = SuffixIndex([[1, 2, 3, 4, 5], [6]]).find([1, 2], 9)
    further = place.moved([3, 4])
    assert further is not None
    assert (further.length, further.continuation(9)) == (4, [5])
    assert place.moved([]) == place
    assert place.moved([3, 5]) is None
    assert place.moved([3, 4, 5, 6]) is None, "another text begins there"


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
        assert len(growing) == len(text)
        assert growing.last == (text[-1] if text else None)
        assert growing.tail() == text[-LONGEST_MATCH:]
        assert said(growing.find(growing.tail(), ALL)) == most_alike(places_in(text, text), ALL)


def test_a_text_may_become_longer_than_was_thought_of() -> None:
    text = [place % 700 for place in range(5000)]
    growing = GrowingText()
    growing.become(text[:900])
    growing.extend(text[900:])
    assert said(growing.find(growing.tail(), ALL)) == most_alike(places_in(text, text), ALL)


def test_the_length_of_a_match_ends_at_the_longest_that_is_compared() -> None:
    text = list(range(50))
    (place,) = SuffixIndex([[*text, 7]]).find(text, 9)
    assert (place.length, place.continuation(9)) == (LONGEST_MATCH, [7])
    growing = GrowingText()
    growing.become([*text, *text])
    (place,) = growing.find(growing.tail(), 9)
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
    assert growing.find(growing.tail(), 9) == []


def test_an_empty_index_finds_nothing() -> None:
    assert SuffixIndex().find([1, 2, 3], 9) == []
    assert SuffixIndex().num_tokens == 0
    assert GrowingText().find([], 9) == GrowingText().find([1, 2, 3], 9) == []
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
