"""What drafting may lose in a reply, and how often the free proposers are asked."""

from __future__ import annotations

import pytest

from engine.speculation.numerics.draft import Verdict
from engine.speculation.numerics.draft_length import FixedCosts
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.recent_rounds import LossBudget
from tests.fakes.proposers import FakeRecall
from tests.unit.engine.speculation.proposers.bench import context_of


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


def rounds(policy: DraftPolicy, count: int) -> list[int]:
    """The numbers of tokens drafted, where nothing drafted is ever accepted."""
    lengths = []
    for _ in range(count):
        draft = policy.propose(context_of([5]), 4)
        policy.observe(Verdict(draft, 0, (9,)), 1.0, 1.0)
        lengths.append(len(draft.tokens))
    return lengths


def test_where_nothing_comes_near_the_cost_of_a_row_it_looks_less_often() -> None:
    unlikely = FakeRecall([7], [0.3])
    assert not any(rounds(DraftPolicy(FixedCosts({1: 1.0, 2: 1.7, 8: 5.0}), [unlikely]), 100))
    assert 25 < len(unlikely.asked) < 50
    assert len(unlikely.verdicts) == len(unlikely.asked), "it learns of the rounds in which it was asked"


def test_where_a_row_costs_little_or_a_guess_comes_near_its_cost_it_looks_in_every_round() -> None:
    for rows, chance in (({1: 1.0, 2: 1.2, 8: 2.0}, 0.1), ({1: 1.0, 2: 1.7, 8: 5.0}, 0.6)):
        recall = FakeRecall([7], [chance])
        rounds(DraftPolicy(FixedCosts(rows), [recall]), 50)
        assert len(recall.asked) == 50


def test_what_begins_to_repeat_is_found_within_three_rounds_and_each_reply_begins_anew() -> None:
    recall = FakeRecall()
    policy = DraftPolicy(FixedCosts({1: 1.0, 2: 1.7, 8: 3.0}), [recall])
    rounds(policy, 60)
    recall.tokens, recall.chances = (7, 7, 7, 7), (0.99,) * 4
    assert any(rounds(policy, 4))
    recall.tokens = ()
    rounds(policy, 60)
    policy.end_reply()
    recall.asked.clear()
    rounds(policy, 5)
    assert len(recall.asked) == 5
