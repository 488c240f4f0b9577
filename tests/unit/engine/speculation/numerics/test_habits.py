"""What followed the last few tokens, against a slow plain count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.numerics.habits import NUM_KINDS, GrowingHabits, Habits, expected
from engine.speculation.numerics.suffix_index import GrowingText, SuffixIndex

texts = st.lists(st.integers(0, 2), max_size=30)
LENGTHS = (1, 2, 4, 8)


def habits_of(*kept: Sequence[int]) -> Habits:
    return SuffixIndex(kept).habits


def growing(text: Sequence[int]) -> GrowingHabits:
    habits = GrowingHabits()
    habits.extend(text)
    return habits


def counted(text: Sequence[int], context: Sequence[int]) -> Counter[int]:
    ends = range(len(context), len(text))
    return Counter(text[end] for end in ends if list(text[end - len(context) : end]) == list(context))


def likely(kept: Sequence[Sequence[int]], here: Sequence[int], tail: Sequence[int]) -> dict[int, float]:
    """As `expected`, all texts counting alike but the one here twice; of few tokens, so that all are named."""
    found: dict[int, float] = {}
    for length in LENGTHS:
        earlier: Counter[int] = sum((counted(text, tail[-length:]) for text in kept), Counter())
        ours = counted(here, tail[-length:])
        if len(tail) < length or not earlier + ours:
            break
        escape = 0.5 * (len(earlier) + len(ours))
        total = escape + earlier.total() + 2 * ours.total()
        found = {
            token: (escape * found.get(token, 0.0) + earlier[token] + 2 * ours[token]) / total
            for token in found.keys() | earlier.keys() | ours.keys()
        }
    return found


@given(st.lists(texts, max_size=4), st.lists(st.integers(0, 2), max_size=8), texts)
def test_contexts_are_counted_and_long_ones_come_before_short_ones(
    kept: list[list[int]], here: list[int], tail: list[int]
) -> None:
    found = expected([habits_of(*kept), growing(here)], tail)
    truth = likely(kept, here, tail)
    assert (found is not None) == bool(truth)
    if found is not None:
        assert found.probabilities == pytest.approx(truth, rel=0.01)
        assert 0 <= found.kind < NUM_KINDS
        assert sum(found.probabilities.values()) < 1


def test_what_was_seen_long_ago_weighs_less() -> None:
    filler = [*range(1000, 100_000)]
    found = expected([habits_of([1, 2], filler, [1, 3])], [1])
    assert found is not None
    assert found.probabilities[2] == pytest.approx(found.probabilities[3] / 2, rel=0.02)
    assert expected([habits_of([1, 2], filler, filler)], [1]) is None, "and in the end nothing"


def test_of_many_followers_the_usual_ones_are_named_and_the_rest_takes_its_share() -> None:
    kept = [[1, token] for token in range(2, 102)] + [[1, 7]] * 100
    found = expected([habits_of(*kept)], [1])
    assert found is not None
    assert len(found.probabilities) == 8
    assert found.probabilities[7] == pytest.approx(101 / (200 + 50), rel=0.01)
    here = expected([growing([token for text in kept for token in text])], [1])
    assert here is not None
    assert [*here.probabilities] == [7], "of this chat the latest count"


def test_a_longer_context_and_a_surer_one_are_of_other_kinds() -> None:
    habits = habits_of([1, 2, 3, 4, 5], [9, 4, 6], [9, 4, 7])
    kinds = [found.kind for tail in ([4], [3, 4], [1, 2, 3, 4]) if (found := expected([habits], tail)) is not None]
    assert kinds == sorted(set(kinds))
    assert len(kinds) == 3


@given(st.lists(texts, min_size=1, max_size=5), texts)
def test_those_of_a_growing_text_follow_it_also_where_it_is_cut(versions: list[list[int]], tail: list[int]) -> None:
    text = GrowingText()
    for version in versions:
        text.become(version)
        assert expected([text.habits], tail) == expected([growing(version)], tail)


def test_of_a_text_that_is_long_already_only_its_end_is_counted() -> None:
    text = GrowingText()
    text.become([1, 2, *range(100, 9000), 3, 4])
    assert expected([text.habits], [1]) is None
    found = expected([text.habits], [3])
    assert found is not None
    assert [*found.probabilities] == [4]
    assert np.isclose(found.probabilities[4], 2 / 2.5)
