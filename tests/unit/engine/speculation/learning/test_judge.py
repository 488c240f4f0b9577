"""The judge, by enumeration and by many simulated runs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.learning import judge as judges
from engine.speculation.learning.evaluation import rounds_of
from engine.speculation.learning.judge import ERROR, Bets, Capital, Judge, RoundCounts, Ruling, Score, expected_rounds
from engine.values.learned import Gain


def score(chat: int, published: float, candidate: float, original: float = 60.0, earlier: float = 60.0) -> Score:
    return Score(chat, 100, original, earlier, published, candidate)


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


def test_worthless_candidates_are_hardly_ever_published_and_good_ones_soon() -> None:
    """Replies that differ by 5 % of their rounds by chance. A candidate that is worth nothing, judged 300 times, is
    published in at most one run of twenty; one that saves 3 % within some 30 replies."""
    random = np.random.default_rng(1)

    def published_after(saved: float, most: int) -> int | None:
        judge = Judge()
        for chat in range(most):
            candidate = 100.0 - saved + 5.0 * random.standard_normal()
            ruling = judge.hear(Score(chat, 150, 100.0, 100.0, 100.0, candidate))
            if ruling is Ruling.PUBLISHED:
                return chat + 1
        return None

    worthless = [published_after(0.0, 300) for _ in range(200)]
    assert sum(each is not None for each in worthless) <= 2 * ERROR * len(worthless)
    good = [published_after(3.0, 100) for _ in range(60)]
    assert np.median([each or 100 for each in good]) <= 30
    assert sum(published_after(-3.0, 100) is not None for _ in range(60)) == 0


def test_a_conversation_counts_as_one_long_reply_at_most() -> None:
    judge = Judge()
    rulings = [judge.hear(score(1, 60.0, 40.0)) for _ in range(100)]
    assert set(rulings) == {Ruling.KEPT}
    owned = judge.capital.better.total
    assert judge.hear(score(1, 60.0, 40.0)) is Ruling.KEPT
    assert judge.capital.better.total == pytest.approx(owned)
    for chat in range(2, 30):
        if judge.hear(score(chat, 60.0, 40.0)) is Ruling.PUBLISHED:
            break
    else:
        raise AssertionError("the same from many conversations is evidence")
    judge = Judge()
    judge.know(1, judges._MOST_TOKENS)
    judge.hear(score(1, 60.0, 40.0))
    assert judge.capital.better.total == pytest.approx(1.0), "it was learned from before"


def test_a_candidate_that_does_worse_is_dropped_and_the_next_one_can_be_published() -> None:
    judge = Judge()
    rulings = [judge.hear(score(chat, 60.0, 66.0)) for chat in range(8)]
    assert rulings.count(Ruling.DROPPED) == 1
    later = [judge.hear(score(chat, 60.0, 54.0)) for chat in range(8, 80)]
    assert Ruling.PUBLISHED in later


def test_what_is_published_is_returned_from_where_it_does_worse_and_not_before_that_is_sure() -> None:
    random = np.random.default_rng(1)
    lost = [50.0 + 2 * random.standard_normal() for _ in range(20)]
    judge = Judge()
    rulings = [judge.hear(score(chat, 53.0, 53.0, original=each)) for chat, each in enumerate(lost)]
    first = rulings.index(Ruling.RESET)
    assert judges._FEWEST_CHATS - 1 <= first < 12
    judge = Judge()
    assert {judge.hear(score(1, 53.0, 53.0, original=each)) for each in lost} == {Ruling.KEPT}, "one chat is too few"
    judge = Judge()
    rulings = [judge.hear(score(chat, 53.0, 53.0, earlier=each)) for chat, each in enumerate(lost)]
    assert Ruling.RETURNED in rulings, "better than the original drafter, and worse than what it took the place of"


def test_a_gain_is_known_with_its_error_and_goes_on_after_a_restart() -> None:
    random = np.random.default_rng(2)
    whole, first = RoundCounts(), RoundCounts()
    saved = 4.0 + 3.0 * random.standard_normal(40)
    for chat, each in enumerate(saved):
        at = score(chat, 60.0 - each, 0.0)
        whole.add(at, at.original, at.published)
        first.add(at, at.original, at.published)
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


def test_capital_is_stored_in_a_few_numbers_and_without_it_betting_begins_anew() -> None:
    judge = Judge()
    for chat in range(9):
        judge.hear(score(chat, 60.0, 58.0))
    numbers = judge.capital.numbers
    assert Capital.of(numbers) == judge.capital != Capital()
    for damaged in ((), numbers[1:], (*numbers[:-1], float("nan")), (*numbers[:-1], -1.0)):
        assert Capital.of(damaged) == Capital()


def test_what_is_left_until_a_result_is_what_such_replies_take() -> None:
    left = Capital().better.num_left
    assert left == 36, "published after 34 to 44 replies in the recordings of decision 26"
    capital, taken = Capital(usual=100.0, weight=50.0), 0
    while not capital.better.is_won:
        capital.take(saved=-2.2 if taken % 2 == 0 else 5.8, rounds=100.0)
        taken += 1
    assert taken == left, "each reply as the forecast has it"
    assert capital.better.num_left == 0


def test_replies_that_speak_against_a_candidate_put_its_result_off() -> None:
    capital = Capital()
    for _ in range(5):
        capital.take(saved=-10.0, rounds=100.0)
    assert capital.better.num_left > Capital().better.num_left
    assert Capital(better=Bets((0.0, 0.0, 0.0))).better.num_left < 10_000, "a damaged store keeps nobody waiting"
