"""Drafts of one proposer, and of one that goes on from another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.numerics.draft import NO_DRAFT, Draft, DraftPath, common_prefix_length
from engine.speculation.numerics.sampling import Distribution
from tests.unit.engine.speculation.numerics.test_acceptance import trie_of

RECALLED = Draft((5, 6, 7), chances=(0.9, 0.8, 0.7), proposer="recall")
PATH = DraftPath(
    (0, 1), (Distribution(np.array([0]), np.ones(1)), Distribution(np.array([1]), np.ones(1))), trie_of(["a", "b"]), 2
)
DRAFTED = Draft((0, 1), PATH, (0.6, 0.5), num_steps=3, drafter_s=0.2, reading_s=0.1, proposer="drafter")


def test_a_draft_alone_is_all_of_one_proposer() -> None:
    assert RECALLED.parts == (("recall", 3),)
    assert RECALLED.num_before == 0
    assert NO_DRAFT.parts == (("", 0),)


def test_one_that_goes_on_from_another_has_both_their_tokens_and_tells_whose_they_are() -> None:
    both = DRAFTED.after(RECALLED)
    assert both.tokens == (5, 6, 7, 0, 1)
    assert both.chances == (0.9, 0.8, 0.7, 0.6, 0.5)
    assert both.num_before == 3
    assert both.parts == (("recall", 3), ("drafter", 2))
    assert (both.path, both.num_steps, both.drafter_s, both.reading_s) == (PATH, 3, 0.2, 0.1)


def test_one_that_had_nothing_to_add_leaves_the_tokens_before_it() -> None:
    both = Draft(num_steps=1, proposer="drafter").after(RECALLED)
    assert both.tokens == RECALLED.tokens
    assert both.parts == (("recall", 3), ("drafter", 0))
    assert both.num_steps == 1


def test_the_first_tokens_keep_their_chances_and_who_guessed_them() -> None:
    assert RECALLED.first(2) == Draft((5, 6), chances=(0.9, 0.8), proposer="recall")
    assert RECALLED.first(9) == RECALLED
    assert RECALLED.first(0).parts == (("recall", 0),)


def test_a_sampled_draft_is_neither_cut_nor_gone_on_from() -> None:
    """Its path would not lead to what is left of it."""
    with pytest.raises(AssertionError):
        DRAFTED.first(1)
    with pytest.raises(AssertionError):
        RECALLED.after(DRAFTED)


@given(
    first=st.lists(st.integers(0, 1), max_size=9),
    second=st.lists(st.integers(0, 1), max_size=9),
    padding=st.integers(0, 600),
)
def test_what_two_texts_begin_with_alike_is_found_wherever_they_part(
    first: list[int], second: list[int], padding: int
) -> None:
    first, second = [7] * padding + first, [7] * padding + second
    length = next((i for i, (one, other) in enumerate(zip(first, second, strict=False)) if one != other), None)
    expected = min(len(first), len(second)) if length is None else length
    assert common_prefix_length(first, second) == common_prefix_length(first, tuple(second)) == expected


def test_one_that_others_go_on_from_keeps_what_it_cost() -> None:
    greedy = Draft((0, 1), None, (0.6, 0.5), num_steps=3, drafter_s=0.2, reading_s=0.1, proposer="drafter")
    both = greedy.after(RECALLED).followed_by(RECALLED.first(2))
    assert both.tokens == (5, 6, 7, 0, 1, 5, 6)
    assert both.parts == (("recall", 3), ("drafter", 2), ("recall", 2))
    assert both.place_of("drafter") == (3, 2)
    assert both.place_of("nobody") == (7, 0)
    assert (both.path, both.num_steps, both.drafter_s, both.reading_s) == (None, 3, 0.2, 0.1)


def test_tokens_that_others_had_a_say_in_are_theirs_and_the_guess_stays_the_proposers() -> None:
    start = Draft((1, 2), proposer="recall")
    own = ("drafter", "recall", "recall", "drafter")
    draft = Draft((3, 4, 5, 6), proposer="drafter", origins=own).after(start)
    longer = draft.followed_by(Draft((7,), proposer="recall"))
    assert longer.parts == (("recall", 2), ("drafter", 1), ("recall", 2), ("drafter", 1), ("recall", 1))
    assert longer.place_of("drafter") == (2, 4)
    assert longer.proposers == {"recall", "drafter"}
    assert longer.place_of("nobody") == (7, 0)
    assert Draft((3, 4), origins=("drafter", "recall")).first(1).parts == (("drafter", 1),)
