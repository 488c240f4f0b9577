"""Sums over replies, and what follows from them."""

from __future__ import annotations

from math import sqrt

import pytest

from engine.messages.history import Tally, total


def compared(plain_s: float, reply_s: float, error: float = 0.0) -> Tally:
    """One reply of ten tokens."""
    return Tally(
        num_replies=1,
        num_tokens=10,
        num_timed=10,
        seconds=reply_s,
        num_compared=1,
        plain_s=plain_s,
        compared_s=reply_s,
        plain_squares=plain_s**2,
        compared_squares=reply_s**2,
        products=plain_s * reply_s,
        plain_variance=(plain_s * error) ** 2,
    )


def test_a_ratio_of_sums_counts_long_replies_for_more() -> None:
    speedup = total([compared(12.0, 10.0), compared(3.0, 1.0)]).speedup
    assert speedup is not None
    assert speedup.ratio == pytest.approx(15 / 11)
    assert speedup.saved_s == pytest.approx(4.0)
    assert speedup.num_replies == 2
    residuals = (12 - 15 / 11 * 10, 3 - 15 / 11)
    assert speedup.error == pytest.approx(sqrt(2 * sum(each**2 for each in residuals)) / 11)


def test_one_reply_is_known_as_well_as_the_plain_speed() -> None:
    speedup = compared(13.0, 10.0, error=0.05).speedup
    assert speedup is not None
    assert (speedup.ratio, speedup.error) == pytest.approx((1.3, 0.065))


def test_replies_that_are_alike_leave_no_error_but_that_of_the_plain_speed() -> None:
    speedup = total([compared(1.1, 1.0)] * 3000).speedup
    assert speedup is not None
    assert speedup.error == pytest.approx(0.0, abs=1e-6)


def test_replies_that_were_not_compared_change_no_ratio() -> None:
    alone = compared(12.0, 10.0)
    both = total([alone, Tally(num_replies=1, num_tokens=5, num_timed=5, seconds=100.0)])
    assert both.speedup == alone.speedup
    assert both.tokens_per_s == pytest.approx(15 / 110)


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
