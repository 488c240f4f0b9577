"""How fast a reply is written, and what may be said about it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.replies.speed import ReplySpeed
from engine.values.speed import (
    FASTER,
    FEWEST_TOKENS,
    SLOWER,
    Guessing,
    Hindrance,
    LiveFigures,
    SpeedOutcome,
    as_shown,
    decimals_of,
    hindrance_of,
    verdict_of,
)


def paced(rounds: list[tuple[float, int]]) -> ReplySpeed:
    """`rounds`: seconds and tokens of each."""
    pace, now, written = ReplySpeed(100.0), 100.0, 0
    for seconds, tokens in rounds:
        now, written = now + seconds, written + tokens
        pace.note(now, written)
    return pace


def test_nothing_is_known_at_first() -> None:
    pace = ReplySpeed(5.0)
    assert (pace.now, pace.mean, pace.num_measured) == (0.0, 0.0, 0)


def test_the_mean_is_of_all_rounds_and_the_speed_now_of_the_last_second() -> None:
    pace = paced([(0.1, 1)] * 50 + [(0.1, 4)] * 20)
    assert pace.mean == pytest.approx(130 / 7)
    assert pace.now == pytest.approx(40, rel=0.11)
    assert pace.num_measured == 130


def test_a_slow_machine_has_a_speed_too() -> None:
    assert paced([(10.0, 1)] * 6).now == pytest.approx(0.1)


def test_rounds_of_before_can_be_left_out() -> None:
    pace = paced([(1.0, 1)] * 30)
    pace.restart()
    assert (pace.num_measured, pace.mean) == (0, 0.0)
    for number in range(1, 31):
        pace.note(130.0 + 0.1 * number, 30 + number)
    assert pace.mean == pytest.approx(10.0)
    assert pace.num_measured == 30


@pytest.mark.parametrize(
    ("speed", "shown", "decimals"),
    [
        *((0.0, 0.0, 0), (0.00012, 0.0, 3), (0.4464, 0.446, 3), (1.234, 1.23, 2), (9.996, 10.0, 1), (31.44, 31.4, 1)),
        *((99.96, 100.0, 0), (999.4, 999.0, 0), (9_999.6, 10_000.0, 0)),
        *((math.inf, 0.0, 0), (math.nan, 0.0, 0)),
    ],
)
def test_speeds_have_three_figures(speed: float, shown: float, decimals: int) -> None:
    assert (as_shown(speed), decimals_of(speed)) == (shown, decimals)


SPEEDS = st.floats(0.01, 5_000)
ERRORS = st.floats(0, 0.5)


@given(
    speed=SPEEDS,
    num_tokens=st.integers(0, 2_000),
    num_drafted=st.integers(0, 2_000),
    ratio=st.one_of(st.just(0.0), st.just(1.0), st.floats(0.2, 40)),
    plain=st.one_of(st.just(0.0), SPEEDS),
    error=ERRORS,
    hindrance=st.sampled_from(Hindrance),
    is_live=st.booleans(),
)
def test_what_is_said_follows_from_the_speeds_as_they_are_shown(
    speed: float,
    num_tokens: int,
    num_drafted: int,
    ratio: float,
    plain: float,
    error: float,
    hindrance: Hindrance,
    is_live: bool,
) -> None:
    found = verdict_of(speed, num_tokens, num_drafted, ratio, plain, error, hindrance, is_live)
    assert found.tokens_per_s == as_shown(speed)
    if found.ratio is None:
        assert found.outcome not in (SpeedOutcome.FASTER, SpeedOutcome.SLOWER, SpeedOutcome.ABOUT_NORMAL)
        return
    assert num_tokens > FEWEST_TOKENS
    assert found.ratio == found.tokens_per_s / found.plain_tokens_per_s
    if ratio and min(speed, speed / ratio) >= 0.1:
        assert found.ratio == pytest.approx(ratio, rel=0.011)
    beyond = abs(found.ratio - 1) > found.error * found.ratio
    assert {
        SpeedOutcome.FASTER: found.ratio > FASTER and beyond,
        SpeedOutcome.SLOWER: found.ratio < SLOWER and beyond,
        SpeedOutcome.NORMAL: SLOWER <= found.ratio <= FASTER,
        SpeedOutcome.ABOUT_NORMAL: not SLOWER <= found.ratio <= FASTER and not beyond and not is_live,
        SpeedOutcome.MEASURING: not SLOWER <= found.ratio <= FASTER and not beyond and is_live,
    }[found.outcome]


def test_a_ratio_that_cannot_be_says_nothing() -> None:
    """Servers tell what they like, and so it may stand in the store."""
    found = verdict_of(20.0, 400, 90, 1e-320, 0.0, 0.0, Hindrance.UNKNOWN)
    assert (found.outcome, found.ratio) == (SpeedOutcome.ALONE, None)


def test_a_reply_without_a_guess_has_one_speed_whatever_was_measured_at_another_time() -> None:
    """1,532 tokens at 17.5 tokens a second, where the last twenty rounds had 12.8 ± 5 %."""
    found = verdict_of(17.5, 1_532, 0, 1.0, 12.8, 0.05, Hindrance.COSTS)
    assert (found.outcome, found.tokens_per_s, found.ratio) == (SpeedOutcome.NORMAL, 17.5, None)


def test_plain_decoding_is_that_of_the_reply_and_not_of_a_busier_minute() -> None:
    """1.1 by counts, beside 22.9 and 22.6 tokens a second."""
    found = verdict_of(22.9, 400, 90, 1.12, 22.6, 0.02, Hindrance.LITTLE)
    assert (found.outcome, found.plain_tokens_per_s) == (SpeedOutcome.FASTER, 20.4)


def guessing(num_plain: int, num_drafted: int = 0, num_accepted: int = 0, ratio: float = 1.0) -> Guessing:
    return Guessing(100, num_plain, num_drafted, num_accepted, ratio, Hindrance.NOTHING)


@pytest.mark.parametrize(
    ("guessed", "hindrance"),
    [
        (guessing(100), Hindrance.NOTHING),
        (replace(guessing(96, 8, 1), idle=Hindrance.COSTS), Hindrance.COSTS),
        (replace(guessing(100), idle=Hindrance.LOADING), Hindrance.LOADING),
        (guessing(80, 30, 25, 1.04), Hindrance.LITTLE),
        (guessing(97, 30, 25, 1.04), Hindrance.LITTLE),  # in one place
        (guessing(80, 30, 9, 0.98), Hindrance.WRONG),
        (guessing(20, 300, 90, 1.02), Hindrance.WRONG),
        (guessing(20, 100, 80, 1.01), Hindrance.COSTS),  # right, and yet not faster
    ],
)
def test_what_kept_a_reply_from_being_sped_up(guessed: Guessing, hindrance: Hindrance) -> None:
    assert hindrance_of(guessed) is hindrance


def test_shares_of_live_figures() -> None:
    figures = LiveFigures(num_rounds=10, num_drafted=20, num_accepted=15)
    assert (figures.tokens_per_round, figures.accepted_share) == (2.5, 0.75)
    assert (LiveFigures().tokens_per_round, LiveFigures().accepted_share) == (0.0, None)
    assert LiveFigures().verdict.outcome is SpeedOutcome.MEASURING
