"""How far to draft, against a slow plain search."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.numerics.draft_length import MAX_LENGTH, FixedCosts, PassCosts, best_length

costs_s = st.lists(st.floats(0.001, 1.0), min_size=16, max_size=16)


@given(costs=costs_s, acceptance=st.floats(0, 1), step=st.floats(0, 1), longest=st.integers(0, 20))
def test_the_best_length_brings_most_tokens_per_second(
    costs: list[float], acceptance: float, step: float, longest: int
) -> None:
    table = FixedCosts(dict(enumerate(costs, 1)))

    def speed(length: int) -> float:
        return sum(acceptance**i for i in range(length + 1)) / (costs[length] + length * step)

    chosen = best_length(table, acceptance, step, longest)
    assert 0 <= chosen <= min(longest, MAX_LENGTH)
    assert speed(chosen) == pytest.approx(max(speed(length) for length in range(min(longest, MAX_LENGTH) + 1)))


def test_where_passes_cost_the_same_whatever_their_length_a_sure_draft_is_as_long_as_possible() -> None:
    assert best_length(FixedCosts({1: 1.0, 16: 1.0}), 0.99, 0.0, MAX_LENGTH) == MAX_LENGTH
    assert best_length(FixedCosts({1: 1.0, 16: 1.0}), 0.0, 0.01, MAX_LENGTH) == 0


def test_costs_between_the_measured_ones_are_filled_in() -> None:
    costs = PassCosts({1: 1.0, 2: 1.2, 4: 2.0, 8: 4.0})
    assert [costs.of(n) for n in (1, 2, 3, 4, 6, 8)] == pytest.approx([1.0, 1.2, 1.6, 2.0, 3.0, 4.0])
    assert costs.of(16) == pytest.approx(4.0 + 8 * 3 / 7)  # as steep as on the whole so far
    assert costs.of(99) == costs.of(16)


def test_costs_follow_what_passes_take() -> None:
    costs = PassCosts({1: 1.0, 4: 2.0})
    for _ in range(200):
        costs.refine(4, 3.0)
    assert costs.of(4) == pytest.approx(3.0, rel=0.01)
    assert 1.0 < costs.of(1) < 1.6  # grew with it, but less


def test_one_pass_that_was_interrupted_by_something_else_changes_little() -> None:
    costs = PassCosts({1: 1.0, 4: 2.0})
    costs.refine(1, 100.0)
    assert costs.of(1) < 1.1
