"""What drafting may lose in a reply."""

from __future__ import annotations

import pytest

from engine.speculation.proposers.draft_policy import LossBudget


def test_at_first_little_may_be_lost_and_more_must_promise_more() -> None:
    budget = LossBudget()
    assert budget.caution(0.3) == 0.0
    assert budget.caution(0.8) == pytest.approx(1.0)


def test_the_likelier_a_draft_is_to_earn_its_stake_the_less_it_must_promise() -> None:
    budget = LossBudget()
    assert budget.caution(1.3, [1.0]) == 0.0
    assert budget.caution(1.3, [0.0]) == pytest.approx(4.0)
    assert budget.caution(1.3, [0.9]) == pytest.approx(0.4)
    assert budget.caution(2.8, [0.9, 0.8]) == pytest.approx(4 * (0.1 + 0.2 + 0.5)), "the third is nobody's guess"
    assert budget.caution(0.8) == budget.caution(0.8, [0.5])


def test_losses_empty_it_and_tokens_written_and_gained_fill_it() -> None:
    budget = LossBudget()
    budget.note(1, cost=0.8)  # a draft of which nothing was accepted
    assert budget.caution(0.0) == pytest.approx(2 * (0.5 - 0.014))
    for _ in range(100):
        budget.note(1, cost=0.0)
    assert budget.caution(0.7) == pytest.approx(0.0, abs=0.05)
    budget.note(6, cost=1.5)
    assert budget.caution(4.0) == 0.0


def test_every_reply_has_its_own() -> None:
    budget = LossBudget()
    budget.note(1, cost=5.0)
    budget.begin_reply()
    assert budget.caution(0.3) == 0.0


def test_guesses_that_were_right_though_nobody_checked_them_make_bolder() -> None:
    budget = LossBudget()
    for _ in range(10):
        budget.note_passed_up(0.5)
    assert budget.caution(1.8) == pytest.approx(0.0)
    for _ in range(100):
        budget.note_passed_up(-0.5)
    assert budget.caution(0.0) == pytest.approx(2.0), "but no more shy than that"
    budget.note(1, cost=1.0)
    budget.note_passed_up(-0.5)
    assert budget.caution(0.0) == pytest.approx(2 * (2.0 - 0.014))
