"""What passes cost, and how far to draft, against a slow plain search."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.numerics.draft_length import MAX_LENGTH, FixedCosts, PassCosts, best_gain, filled

NUM_COSTS = MAX_LENGTH + 1
costs_s = st.lists(
    st.floats(0.001, 1.0), min_size=NUM_COSTS, max_size=NUM_COSTS
)  # not in order: eight rows may cost less than seven


@given(
    costs=costs_s,
    chances=st.lists(st.floats(0, 1), max_size=20),
    rate=st.floats(0, 50),
    num_rows=st.integers(1, MAX_LENGTH + 1),
    step=st.floats(0, 0.2),
)
def test_the_best_length_gains_most_tokens(
    costs: list[float], chances: list[float], rate: float, num_rows: int, step: float
) -> None:
    def gain(length: int) -> float:
        if not length:
            return 0.0
        stood = sum(prod(chances[:place]) for place in range(1, length + 1))
        seconds = costs[num_rows + length - 1] - costs[num_rows - 1] + (length - 1) * step
        return stood - rate * seconds

    longest = min(len(chances), MAX_LENGTH + 1 - num_rows)
    length, gained = best_gain(FixedCosts(dict(enumerate(costs, 1))), chances, rate, num_rows, step)
    assert 0 <= length <= longest
    assert gained == pytest.approx(gain(length), abs=1e-9)
    assert gained == pytest.approx(max(gain(length) for length in range(longest + 1)), abs=1e-9)


def test_where_passes_cost_the_same_whatever_their_length_all_is_checked() -> None:
    flat = FixedCosts({1: 1.0, NUM_COSTS: 1.0})
    assert best_gain(flat, [0.9] * 99, 1.0)[0] == MAX_LENGTH
    assert best_gain(flat, [0.9] * 99, 1.0, num_rows=10)[0] == NUM_COSTS - 10
    assert best_gain(flat, [], 1.0) == (0, 0.0)
    assert best_gain(flat, [0.0], 1.0) == (0, 0.0)


def test_a_dear_length_is_stepped_over_where_a_longer_one_costs_less() -> None:
    costs = FixedCosts({1: 1.0, 2: 1.1, 3: 3.0, 4: 1.2, 16: 40.0})
    assert best_gain(costs, [0.9] * 5, rate=1.0)[0] == 3


def test_guessing_one_more_has_its_price() -> None:
    flat = FixedCosts({1: 1.0, 16: 1.0})
    # 0.5 + 0.25 + 0.125 + …: the third is worth 0.125, which is less than its step.
    length, gain = best_gain(flat, [0.5] * 9, rate=1.0, step_s=0.2)
    assert length == 2
    assert gain == pytest.approx(0.55)


def test_costs_between_the_measured_ones_are_filled_in() -> None:
    costs = PassCosts({1: 1.0, 2: 1.2, 4: 2.0, 8: 4.0})
    assert [costs.of(n) for n in (1, 2, 3, 4, 6, 8)] == pytest.approx([1.0, 1.2, 1.6, 2.0, 3.0, 4.0])
    assert costs.of(16) == pytest.approx(4.0 + 8 * 3 / 7)  # as steep as on the whole so far
    assert costs.of(99) == costs.of(MAX_LENGTH + 1)


@given(st.dictionaries(st.integers(2, 40), st.floats(0.001, 1.0)))
def test_what_was_measured_is_kept_and_every_length_has_a_cost(measured: dict[int, float]) -> None:
    measured |= {1: 0.5}
    seconds = filled(measured)
    assert len(seconds) == MAX_LENGTH + 1
    assert all(cost > 0 for cost in seconds)
    for num_tokens, cost in measured.items():
        if num_tokens <= MAX_LENGTH + 1:
            assert seconds[num_tokens - 1] == pytest.approx(cost)


def test_costs_follow_what_passes_take() -> None:
    costs = PassCosts({1: 1.0, 4: 2.0})
    for _ in range(200):
        costs.refine(4, 3.0)
    assert costs.of(4) == pytest.approx(3.0, rel=0.01)


@pytest.mark.parametrize("measured", [0.5, 2.0])
def test_what_is_known_of_plain_passes_is_not_dragged_by_those_over_several_tokens(measured: float) -> None:
    costs = PassCosts({1: 1.0, 4: 2.0 * measured, 16: 4.0})
    for _ in range(500):
        costs.refine(4, 2.0)
    assert costs.of(1) == 1.0
    assert costs.of(4) == pytest.approx(2.0, rel=0.01)
    assert costs.of(16) == pytest.approx(4.0)


def test_neighbours_that_were_never_measured_follow_a_little() -> None:
    costs = PassCosts({1: 1.0, 4: 2.0, 8: 3.0})
    before = [costs.of(n) for n in range(1, 9)]
    for _ in range(100):
        costs.refine(5, 2 * before[4])
    share = [costs.of(n) / known for n, known in enumerate(before, 1)]
    assert share[0] == 1.0
    assert share[4] == pytest.approx(2.0, rel=0.01)
    assert 1.1 < share[5] < 1.3, "next to it"
    assert 1.0 < share[6] < share[5]
    assert 1.0 < share[3] < share[5], "but this one was measured"
    assert share[7] == 1.0


def test_on_a_machine_that_turned_slower_plain_passes_tell_for_all() -> None:
    costs = PassCosts({1: 1.0, 4: 2.0})
    for _ in range(200):
        costs.refine(1, 1.5)
    assert costs.of(1) == pytest.approx(1.5, rel=0.01)
    assert costs.of(4) == pytest.approx(3.0, rel=0.01)


def test_what_was_known_earlier_is_taken_over_at_the_pace_of_today() -> None:
    earlier, today = PassCosts({1: 1.0, 4: 2.0}, change_s=0.1), PassCosts({1: 2.0})
    for num_held, pass_s in ((0, 1.5), (300, 2.5)):
        earlier.enter(num_held)
        for _ in range(200):
            earlier.refine(4, pass_s)
    today.know(earlier.known)
    assert (today.of(1), today.of(4), today.change_s) == pytest.approx((2.0, 3.0, 0.2), rel=0.01)
    today.enter(300)
    assert (today.of(1), today.of(4)) == pytest.approx((2.0, 5.0), rel=0.01)
    today.refine(4, 4.0)
    assert today.of(4) == pytest.approx(4.95, rel=0.01), "as sure as it was"


def test_one_pass_that_was_interrupted_by_something_else_changes_little() -> None:
    costs = PassCosts({1: 1.0, 4: 2.0})
    for _ in range(50):
        costs.refine(1, 1.0)
    costs.refine(1, 100.0)
    assert costs.of(1) < 1.1
    costs.refine(99, 100.0)  # a prompt
    assert costs.of(1) < 1.1


def test_the_first_passes_tell_more_than_later_ones() -> None:
    fresh, known = PassCosts({1: 1.0}), PassCosts({1: 1.0})
    for _ in range(50):
        known.refine(1, 1.0)
    fresh.refine(1, 1.5)
    known.refine(1, 1.5)
    assert fresh.of(1) > 1.1 > known.of(1) > 1.0


def test_what_was_measured_once_or_not_at_all_is_soon_known_better() -> None:
    once, twice = PassCosts({1: 1.0, 4: 2.0}, num_measured=1), PassCosts({1: 1.0, 4: 2.0}, num_measured=2)
    for costs in (once, twice):
        costs.refine(4, 3.0)
    assert once.of(4) == pytest.approx(2.0 * 1.5**0.5)
    assert once.of(4) > twice.of(4)
    once.refine(3, 2.0)  # filled in between
    assert once.of(3) == pytest.approx(2.0)


def test_what_no_pass_has_shown_is_hoped_to_be_less() -> None:
    costs = PassCosts({1: 1.0, 4: 2.0})
    assert costs.hoped(3) == pytest.approx(0.95 * costs.of(3))
    assert costs.hoped(3) / costs.of(3) < costs.hoped(4) / costs.of(4) < 1
    for _ in range(200):
        costs.refine(4, 2.0)
    assert costs.hoped(4) == pytest.approx(costs.of(4), rel=0.005)


def test_a_span_begins_with_the_costs_of_the_one_before_and_is_found_again() -> None:
    costs = PassCosts({1: 1.0})
    assert not costs.enter(255)
    assert costs.enter(256)
    assert costs.of(1) == 1.0
    for _ in range(100):
        costs.refine(1, 2.0)
    assert not costs.enter(511)
    assert costs.enter(5000)  # some spans further on
    assert costs.of(1) == pytest.approx(2.0, rel=0.01)
    for _ in range(100):
        costs.refine(1, 4.0)
    assert costs.enter(300)
    assert costs.of(1) == pytest.approx(2.0, rel=0.01)
    assert costs.enter(0)
    assert costs.of(1) == 1.0
    assert costs.enter(4096)
    assert costs.of(1) == pytest.approx(4.0, rel=0.01)


def test_in_a_new_span_the_first_passes_count_again() -> None:
    costs = PassCosts({1: 1.0})
    for _ in range(100):
        costs.refine(1, 1.0)
    costs.enter(1000)
    costs.refine(1, 1.5)
    assert costs.of(1) > 1.15


def test_costs_that_are_given_stay() -> None:
    costs = FixedCosts({1: 1.0, 2: 1.5})
    assert not costs.enter(10_000)
    costs.refine(1, 9.0)
    assert (costs.of(1), costs.of(2)) == (1.0, 1.5)
