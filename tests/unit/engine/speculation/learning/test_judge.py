"""The judge, by enumeration and by many simulated runs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.learning import judge as judges
from engine.speculation.learning.evaluation import rounds_of
from engine.speculation.learning.judge import (
    ERROR,
    STRENGTHS,
    Bets,
    Evidence,
    Judge,
    RoundCounts,
    Ruling,
    Score,
    Strengths,
    expected_rounds,
)
from engine.values.learned import Gain


def score(chat: int, in_use: float, original: float = 60.0) -> Score:
    return Score(chat, 100, (original, original, original, in_use), 3)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7))
def test_expected_rounds_are_those_of_all_outcomes(chances: list[float]) -> None:
    total = 0.0
    for hits in product((False, True), repeat=len(chances)):
        chance = np.prod([each if hit else 1 - each for each, hit in zip(chances, hits, strict=True)])
        total += float(chance) * len([*rounds_of(np.array(hits))])
    assert float(expected_rounds(np.array(chances))) == pytest.approx(total)


@given(st.lists(st.floats(-1, 1), min_size=7, max_size=7))
def test_what_gamblers_own_does_not_rise_where_saving_is_as_likely_as_losing(gains: list[float]) -> None:
    """Whatever sizes the gains have, over all signs that they can have."""
    ends, ever = [], []
    for signs in product((-1, 1), repeat=len(gains)):
        totals, bets = [1.0], Bets()
        for gain, sign in zip(gains, signs, strict=True):
            bets = bets.after(gain * sign)
            totals.append(bets.total)
        ends.append(totals[-1])
        ever.append(max(totals) >= 4)
    assert np.mean(ends) == pytest.approx(1.0)
    assert np.mean(ever) <= 1 / 4


def test_what_is_worth_nothing_is_hardly_ever_claimed_and_what_saves_rounds_soon() -> None:
    """Replies that differ by 5 % of their rounds by chance. What is worth nothing, judged 300 times, is claimed in at
    most one run of twenty; what saves 3 % within some 30 replies."""
    random = np.random.default_rng(1)

    def proven_after(saved: float, most: int) -> int | None:
        judge = Judge()
        for chat in range(most):
            if judge.hear(score(chat, 100.0 - saved + 5.0 * random.standard_normal(), 100.0), 0.0) is Ruling.PROVEN:
                return chat + 1
        return None

    worthless = [proven_after(0.0, 300) for _ in range(200)]
    assert sum(each is not None for each in worthless) <= 2 * ERROR * len(worthless)
    good = [proven_after(3.0, 100) for _ in range(60)]
    assert np.median([each or 100 for each in good]) <= 30
    assert sum(proven_after(-3.0, 100) is not None for _ in range(60)) == 0


def test_it_is_claimed_once_and_each_turn_of_a_chat_is_evidence() -> None:
    judge = Judge()
    rulings = [judge.hear(score(1, 40.0), 0.0) for _ in range(60)]
    assert rulings.count(Ruling.PROVEN) == 1
    assert {judge.hear(score(1, 80.0), 0.0) for _ in range(3)} == {Ruling.KEPT}
    assert judge.evidence.better.is_won, "what was sure stays so"


def test_training_starts_over_where_even_a_little_of_it_costs_rounds() -> None:
    judge = Judge(Evidence(num_tokens=5_000.0))
    worse = Score(1, 100, (60.0, 66.0, 70.0, 80.0), 1)
    rulings = [judge.hear(replace(worse, conversation=chat), 0.0) for chat in range(8)]
    assert rulings.count(Ruling.STARTED_OVER) == 1
    assert judge.evidence.num_tokens == 0
    later = [judge.hear(score(chat, 54.0), 0.0) for chat in range(8, 80)]
    assert Ruling.PROVEN in later
    assert Ruling.STARTED_OVER not in later


losses = st.lists(st.floats(0, 1), min_size=4, max_size=4)


@given(st.lists(losses, min_size=1, max_size=6))
def test_strengths_are_drawn_by_their_weights_whatever_was_lost(lost: list[list[float]]) -> None:
    """By enumeration: the chance of each, over all draws, is its weight in Hedge, and Hedge keeps its bound."""
    chances, weights, expected_loss = np.array(Strengths().weights), np.array(Strengths().weights), 0.0
    for each in lost:
        expected_loss += float(weights @ each)
        after = np.zeros(4)
        for chosen, chance in enumerate(chances):
            for place, share in _outcomes(Strengths(tuple(weights.tolist()), chosen), each):
                after[place] += chance * share
        weights = np.array(Strengths(tuple(weights.tolist()), 0).after(each, 0.0).weights)
        chances = after
        assert chances == pytest.approx(weights, abs=1e-9)
        assert weights.sum() == pytest.approx(1)
    best = np.array(lost).sum(0).min()
    unlikeliest = min(Strengths().weights)
    assert expected_loss <= best - np.log(unlikeliest) + len(lost) / 8 + len(lost) * -np.log(1 - judges._DEALT)


def _outcomes(strengths: Strengths, lost: list[float]) -> list[tuple[int, float]]:
    """Which strength follows, with its share of the dice: these are cut wherever the outcome changes."""
    after = strengths.after(lost, 0.0).weights
    stays = min(1.0, after[strengths.chosen] / strengths.weights[strengths.chosen])
    rises = np.maximum(0.0, np.array(after) - np.array(strengths.weights))
    found, start = [(strengths.chosen, stays)], stays
    assert strengths.after(lost, stays * (1 - 1e-9)).chosen == strengths.chosen
    for place, share in enumerate(rises / max(rises.sum(), 1e-300) * (1 - stays)):
        if share > 1e-9:
            assert strengths.after(lost, start + share / 2).chosen == place
            found.append((place, float(share)))
        start += share
    return found


def test_harm_ends_soon_and_what_helps_is_used_in_full() -> None:
    random, dice = np.random.default_rng(3), np.random.default_rng(4)

    def mean_rounds(full: float) -> float:
        judge, found = Judge(Evidence(strengths=Strengths())), []
        for chat in range(60):
            noise = 3.0 * random.standard_normal()
            rounds = tuple(100.0 + share * (full - 100.0 + noise) for share in STRENGTHS)
            at = Score(chat, 200, rounds, judge.evidence.strengths.chosen)
            found.append(at.in_use)
            if judge.hear(at, float(dice.random())) is Ruling.STARTED_OVER:
                full = 100.0  # nothing is in use
        return float(np.mean(found))

    assert np.mean([mean_rounds(90.0) for _ in range(20)]) < 93
    assert np.mean([mean_rounds(103.0) for _ in range(20)]) < 101
    assert np.mean([mean_rounds(115.0) for _ in range(20)]) < 101


def test_a_gain_is_known_with_its_error_and_goes_on_after_a_restart() -> None:
    random = np.random.default_rng(2)
    whole, first = RoundCounts(), RoundCounts()
    saved = 4.0 + 3.0 * random.standard_normal(40)
    for chat, each in enumerate(saved):
        at = score(chat, 60.0 - each)
        whole.add(at)
        first.add(at)
        if chat == 20:
            first = RoundCounts.of(first.gain)
    assert whole.gain.before == pytest.approx(100 / 60 - 1)
    assert whole.gain.after == pytest.approx(4000 / (2400 - saved.sum()) - 1)
    assert whole.error == pytest.approx(saved.std(ddof=1) * 40**0.5)
    assert (whole.gain.num_replies, whole.gain.num_chats, whole.gain.num_tokens) == (40, 40, 4000)
    for name in ("before", "after", "error", "num_replies", "num_chats", "num_tokens"):
        assert getattr(first.gain, name) == pytest.approx(getattr(whole.gain, name)), name
    for unknown in (Gain(), Gain(0.9, 1.0, 0.1, 24, 0, 900)):
        assert RoundCounts.of(unknown).gain == Gain()


def test_evidence_is_stored_in_a_few_numbers_and_without_it_all_begins_anew() -> None:
    judge = Judge(Evidence(num_tokens=700.0))
    judge.note_published(is_first=True)
    for chat in range(9):
        judge.hear(score(chat, 58.0), 0.5)
    numbers = judge.evidence.numbers
    assert Evidence.of(numbers) == judge.evidence != Evidence()
    for damaged in ((), numbers[1:], (*numbers[:-1], float("nan")), (*numbers[:-1], -1.0), (*numbers[:-2], 9.0, 0.0)):
        assert Evidence.of(damaged) == Evidence()


def test_what_is_left_until_a_result_is_what_such_replies_take() -> None:
    left = Evidence().better.num_left
    assert left == 36, "published after 34 to 44 replies in the recordings of decision 26"
    evidence, taken = Evidence(usual=100.0, weight=50.0), 0
    while not evidence.better.is_won:
        evidence.take(score(taken, 100.0 - (-2.2 if taken % 2 == 0 else 5.8), 100.0), 0.0)
        taken += 1
    assert taken == left, "each reply as the forecast has it"
    assert evidence.better.num_left == 0


def test_replies_that_speak_against_what_was_learned_put_its_result_off() -> None:
    evidence = Evidence()
    for chat in range(5):
        evidence.take(score(chat, 110.0, 100.0), 0.0)
    assert evidence.better.num_left > Evidence().better.num_left
    assert Evidence(better=Bets((0.0, 0.0, 0.0))).better.num_left < 10_000, "a damaged store keeps nobody waiting"
