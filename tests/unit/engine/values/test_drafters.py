from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.values.drafters import Guesses
from engine.values.sentences import capitalized

LARGE = 2000  # from so many on, the newest ones count

counts = st.integers(0, 3000)


@st.composite
def guesses(draw: st.DrawFn) -> Guesses:
    num_first, num_next = draw(counts), draw(counts)
    return Guesses(num_first, draw(st.integers(0, num_first)), num_next, draw(st.integers(0, num_next)))


def test_first_guesses_are_counted_apart_from_later_ones() -> None:
    seen = Guesses()
    for place, is_right in ((0, True), (1, True), (2, False), (0, False), (0, True), (1, True)):
        seen = seen.with_one(place, is_right)
    assert seen == Guesses(num_first=3, first_right=2, num_next=3, next_right=2)


@given(guesses(), guesses())
def test_few_of_them_are_added_and_of_many_the_newest_count(before: Guesses, newer: Guesses) -> None:
    both = before.plus(newer)
    for name, right in (("num_first", "first_right"), ("num_next", "next_right")):
        old, new = getattr(before, name), getattr(newer, name)
        assert getattr(both, name) == pytest.approx(min(old + new, max(LARGE, new)))
        assert 0 <= getattr(both, right) <= getattr(both, name) + 1e-6
        kept = getattr(both, name) - new  # of the earlier ones, with their share of right guesses
        assert getattr(both, right) == pytest.approx(
            getattr(newer, right) + (getattr(before, right) * kept / old if old else 0.0), abs=1e-6
        )


def test_what_changed_lately_is_seen_after_a_while() -> None:
    seen = Guesses(LARGE, LARGE, LARGE, LARGE)
    for _ in range(50):
        seen = seen.plus(Guesses(100, 0, 100, 50))
    assert seen.num_first == pytest.approx(LARGE)
    assert seen.first_right < 0.1 * LARGE
    assert seen.next_right == pytest.approx(0.5 * LARGE, rel=0.1)


def test_sentences_begin_with_a_capital_letter_but_names_stay_as_they_are() -> None:
    for words in ("the starter", "recall and drafter", "the drafter of owner/model"):
        assert capitalized(words) == words[0].upper() + words[1:]
    for name in ("owner/model-1b", "smollm2-135m q4", "Qwen 2.5", ""):
        assert capitalized(name) == name
