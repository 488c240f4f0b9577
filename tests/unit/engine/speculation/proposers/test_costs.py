"""What the parts of a round take, learned while it runs."""

from __future__ import annotations

import pytest

from engine.speculation.numerics.draft import Draft
from engine.speculation.numerics.draft_length import FixedCosts, PassCosts
from engine.speculation.proposers.costs import RoundCosts, StepCosts

FLAT = {1: 1.0, 16: 1.0}


def drafted(num_steps: int, drafter_s: float, reading_s: float = 0.0, num_read: int = 0) -> Draft:
    tokens = (1,) * num_steps
    return Draft(tokens, num_steps=num_steps, drafter_s=drafter_s, reading_s=reading_s, num_read=num_read)


def rows(number: int) -> Draft:
    """A draft whose pass has so many rows."""
    return Draft((1,) * (number - 1))


def test_what_a_guess_takes_is_expected_and_then_learned() -> None:
    costs = StepCosts(FixedCosts(FLAT), 0.2)
    assert costs.step_s == 0.2
    for _ in range(100):
        assert costs.learn(drafted(4, 1.2)) == 1.2
    assert costs.step_s == pytest.approx(0.3, rel=0.01)


def test_one_that_was_held_up_by_something_else_changes_little() -> None:
    costs = StepCosts(FixedCosts(FLAT), 0.2)
    costs.learn(drafted(1, 90.0))
    assert costs.step_s < 0.23


def test_reading_is_no_guessing() -> None:
    costs = StepCosts(FixedCosts(FLAT), 0.2)
    for _ in range(100):
        # The pass that read 50 tokens is a step too, but not one that guesses.
        spent = costs.learn(drafted(4, 0.6 + 5.0, reading_s=5.0, num_read=50))
        assert spent == pytest.approx(0.6)
    assert costs.step_s == pytest.approx(0.2)
    assert costs.read_s == pytest.approx(0.1, rel=0.01)


@pytest.mark.parametrize("each_s", [0.002, 0.02, 0.2])
def test_what_reading_takes_is_known_to_within_a_half_after_one_long_prompt(each_s: float) -> None:
    costs = StepCosts(FixedCosts(FLAT), 0.2)
    costs.learn(drafted(4, 0.6 + 1024 * each_s, reading_s=1024 * each_s, num_read=1024))
    assert each_s / 2 < costs.read_s < 2 * each_s
    for _ in range(10):  # in a later hour the machine is slower
        costs.learn(drafted(4, 0.6 + 3072 * each_s, reading_s=3072 * each_s, num_read=1024))
    assert costs.read_s == pytest.approx(3 * each_s, rel=0.1)


def test_what_is_given_is_never_learned() -> None:
    costs = StepCosts(FixedCosts(FLAT), 0.1, is_given=True)
    assert costs.learn(drafted(3, 90.0, reading_s=10.0, num_read=9)) == pytest.approx(0.3)
    assert (costs.step_s, costs.read_s) == (0.1, 0.0)


def test_what_a_pass_takes_more_that_has_not_as_many_rows_as_the_last_is_told_apart() -> None:
    costs = RoundCosts(PassCosts(FLAT))
    for _ in range(100):
        for num_rows, seconds in ((4, 1.3), (4, 1.0), (1, 1.3), (1, 1.0)):
            costs.learn(rows(num_rows), seconds)
    assert costs.passes.change_s == pytest.approx(0.3, rel=0.01)
    assert costs.passes.of(1) == pytest.approx(1.0, rel=0.01)
    assert costs.passes.of(4) == pytest.approx(1.0, rel=0.01)
    assert costs.baseline.seconds == pytest.approx(1.0, rel=0.01)
    assert costs.baseline.num_seen == 100


def test_a_draft_pays_for_the_way_there_and_back() -> None:
    costs = RoundCosts(PassCosts(FLAT, change_s=0.3))
    assert costs.change_to_draft_s == 0.6
    costs.learn(rows(4), 1.3)
    assert costs.change_to_draft_s == 0.3  # going back takes as much


@pytest.mark.parametrize(("spread", "least", "most"), [(0.0, 240, 240), (0.05, 60, 130), (0.4, 48, 48)])
def test_plain_rounds_are_the_rarer_the_better_plain_decoding_is_known(spread: float, least: int, most: int) -> None:
    costs = RoundCosts(PassCosts(FLAT))
    for place in range(60):
        costs.learn(rows(1), 1.0 + spread * (-1) ** place)
    num_drafted = 0
    while not costs.wants_plain:
        costs.learn(rows(4), 1.0)
        num_drafted += 1
    assert least <= num_drafted <= most
    costs.learn(rows(1), 1.0)
    assert costs.wants_plain, "the first one after drafts says nothing about plain decoding"
    costs.learn(rows(1), 1.0)
    assert not costs.wants_plain


def test_whether_guesses_can_pay_depends_on_what_they_and_passes_take() -> None:
    for step_s, passes, can_pay in ((0.1, FLAT, True), (20.0, FLAT, False), (0.1, {1: 1.0, 16: 16.0}, False)):
        assert StepCosts(FixedCosts(passes), step_s).can_pay == can_pay
