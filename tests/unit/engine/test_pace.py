"""When and how far to draft."""

from __future__ import annotations

import time

from engine.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.numerics.draft_length import FixedCosts, PassCosts
from engine.pace import Pace, measure_passes
from engine.stop_signal import StopSignal
from tests.fakes.target import FakeTarget

FLAT = {1: 1.0, 16: 1.0}
STEEP = {1: 1.0, 16: 16.0}


def verdict(num_drafted: int, num_accepted: int) -> Verdict:
    draft = Draft(tuple(range(num_drafted)))
    return Verdict(draft, num_accepted, (*draft.tokens[:num_accepted], 99))


def play(pace: Pace, share: float, rounds: int, draft_s: float = 0.05) -> list[int]:
    """Rounds in which that share of the drafted tokens stands, from the front."""
    lengths = []
    for _ in range(rounds):
        length = pace.length()
        lengths.append(length)
        pace.note(
            verdict(length, round(length * share)) if length else Verdict(NO_DRAFT, 0, (1,)), draft_s * length, 1.0
        )
    return lengths


def test_what_is_always_accepted_is_drafted_ever_further() -> None:
    lengths = play(Pace(FixedCosts(FLAT)), share=1.0, rounds=60)
    assert lengths[-1] > lengths[0]
    assert lengths[-1] >= 10


def test_what_never_stands_is_drafted_ever_less() -> None:
    lengths = play(Pace(FixedCosts(STEEP)), share=0.0, rounds=1000)
    assert sum(1 for length in lengths[500:] if length) <= 6
    assert set(lengths[500:]) <= {0, 1}


def test_after_a_rest_good_drafts_are_found_again() -> None:
    pace = Pace(FixedCosts(FLAT), cost_per_token=0.2)
    play(pace, share=0.0, rounds=300)
    lengths = play(pace, share=1.0, rounds=900)
    assert lengths[-1] > 1


def test_a_drafter_that_costs_more_than_a_pass_is_left_alone() -> None:
    lengths = play(Pace(PassCosts(FLAT)), share=0.8, rounds=400, draft_s=3.0)
    assert sum(1 for length in lengths[100:] if length) < 20


def test_passes_are_measured_on_the_target_which_holds_nothing_afterwards() -> None:
    target = FakeTarget(max_tokens=8)
    costs = measure_passes(target, StopSignal(), budget_s=10.0)
    assert target.held == []
    assert all(costs.of(n) > 0 for n in range(1, 17))


def test_one_draft_that_took_very_long_does_not_end_drafting() -> None:
    """The first draft of a reply reads the whole prompt."""
    pace = Pace(PassCosts({1: 0.01, 16: 0.012}))
    pace.note(verdict(pace.length(), 1), draft_s=3.0, pass_s=0.01)
    lengths = []
    for _ in range(200):
        length = pace.length()
        lengths.append(length)
        pace.note(verdict(length, length), draft_s=0.001 * length, pass_s=0.01)
    assert sum(1 for length in lengths if length) > 150


def test_a_proposer_that_stays_silent_is_asked_less_and_less() -> None:
    pace = Pace(FixedCosts(FLAT), cost_per_token=0.2)
    num_asked = 0
    for _ in range(1000):
        num_asked += pace.length() > 0
        pace.note(Verdict(NO_DRAFT, 0, (1,)), draft_s=0.1, pass_s=1.0)
    assert num_asked < 50


def test_where_not_even_sure_guesses_pay_nothing_is_tried_for_long() -> None:
    pace = Pace(FixedCosts(STEEP), cost_per_token=2.0)
    assert not pace.can_pay
    lengths = play(pace, share=1.0, rounds=3000)
    assert sum(lengths) <= 3


def test_a_slow_target_is_timed_with_two_passes() -> None:
    target = FakeTarget(max_tokens=8)
    target.on_evaluate = lambda: time.sleep(0.02)
    began = time.monotonic()
    costs = measure_passes(target, StopSignal(), budget_s=0.05)
    assert target.num_evaluated == 5
    assert costs.of(1) >= 0.02
    assert time.monotonic() - began < 5


def test_drafting_can_be_had_in_every_round_for_measuring() -> None:
    lengths = play(Pace(FixedCosts(STEEP), cost_per_token=2.0, shortest=3, longest=3), share=0.0, rounds=50)
    assert set(lengths) == {3}
