"""Sums over replies, and what follows from them."""

from __future__ import annotations

import random
from math import pi, sqrt
from statistics import mean, stdev

import pytest

from engine.values.history import Tally, total


def compared(*ratios: float, saved_s: float = 0.0) -> Tally:
    """Replies of ten tokens in a second."""
    num = len(ratios)
    return Tally(num_replies=num, num_tokens=10 * num, num_timed=10 * num, seconds=num, ratios=ratios, saved_s=saved_s)


def test_a_typical_reply_is_told_whatever_one_of_them_did() -> None:
    speedup = total([compared(0.88, 0.9, saved_s=-2.0), compared(0.86), compared(6.0, 0.84, saved_s=40.0)]).speedup
    assert speedup is not None
    assert (speedup.ratio, speedup.num_replies, speedup.saved_s) == (0.88, 5, 38.0)


def test_the_error_is_that_of_the_median() -> None:
    """Of a thousand samples of 64 normal numbers, the medians spread as widely as the error says: π/2 more than
    means."""
    dice = random.Random(3)
    found = [compared(*(dice.gauss(1.2, 0.1) for _ in range(64))).speedup for _ in range(1000)]
    spread = stdev(each.ratio for each in found if each is not None)
    assert spread == pytest.approx(0.1 * sqrt(pi / 2 / 64), rel=0.1)
    assert mean(each.error for each in found if each is not None) == pytest.approx(spread, rel=0.25)
    one = compared(1.3).speedup
    assert one is not None
    assert (one.ratio, one.error) == (1.3, 0.0)


def test_replies_that_were_not_compared_change_no_ratio() -> None:
    alone = compared(1.2)
    both = total([alone, Tally(num_replies=1, num_tokens=5, num_timed=5, seconds=100.0)])
    assert both.speedup == alone.speedup
    assert both.tokens_per_s == pytest.approx(15 / 101)


def test_nothing_is_made_up_of_nothing() -> None:
    nothing = total([])
    assert nothing == Tally()
    assert nothing.speedup is None
    assert nothing.accepted_share is None
    assert (nothing.tokens_per_s, nothing.tokens_per_round, nothing.other_s) == (0.0, 0.0, 0.0)


def test_what_is_neither_guessing_nor_checking_is_other() -> None:
    tally = Tally(parted_s=10.0, draft_s=1.0, check_s=8.5, num_rounds=4, num_in_rounds=7, num_drafted=6, num_accepted=3)
    assert tally.other_s == pytest.approx(0.5)
    assert tally.tokens_per_round == 1.75
    assert tally.accepted_share == 0.5
