"""How fast a reply is written, and what may be said about it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.messages.speed import LiveFigures, speedup_of
from engine.replies.speed import ReplyPace


def paced(rounds: list[tuple[float, int]]) -> ReplyPace:
    """`rounds`: seconds and tokens of each."""
    pace, now, written = ReplyPace(100.0), 100.0, 0
    for seconds, tokens in rounds:
        now, written = now + seconds, written + tokens
        pace.note(now, written)
    return pace


def test_nothing_is_known_at_first() -> None:
    pace = ReplyPace(5.0)
    assert (pace.now, pace.mean, pace.error, pace.num_measured) == (0.0, 0.0, math.inf, 0)


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


def test_the_error_is_what_repeated_measurements_differ_by() -> None:
    random = np.random.default_rng(0)
    means, errors = [], []
    for _ in range(300):
        tokens = random.integers(1, 6, 60)
        pace = paced([(0.01 + 0.004 * n + float(random.gamma(4, 0.002)), int(n)) for n in tokens])
        means.append(pace.mean)
        errors.append(pace.error * pace.mean)
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.15)


def test_rounds_that_are_all_alike_leave_no_error() -> None:
    assert paced([(0.1, 2)] * 20).error == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("speed", "error", "plain", "plain_error", "tokens"),
    [
        (20.0, 0.01, 0.0, 0.0, 100),  # nobody knows how fast plain decoding is
        (0.0, 0.01, 10.0, 0.01, 100),
        (20.0, 0.01, 10.0, 0.01, 24),  # too short
        (20.0, math.inf, 10.0, 0.01, 100),
        (20.0, math.nan, 10.0, 0.01, 100),
        (20.0, 0.2, 10.0, 0.2, 100),  # known too badly
    ],
)
def test_nothing_is_said_where_it_would_mean_nothing(
    speed: float, error: float, plain: float, plain_error: float, tokens: int
) -> None:
    assert speedup_of(speed, error, plain, plain_error, tokens) is None


def test_errors_of_both_speeds_add_up_as_errors_do() -> None:
    speedup = speedup_of(16.0, 0.03, 10.0, 0.04, 25)
    assert speedup is not None
    assert speedup.value == pytest.approx(1.6)
    assert speedup.error == pytest.approx(0.05 * 1.6)


def test_shares_of_live_figures() -> None:
    figures = LiveFigures(num_rounds=10, num_drafted=20, num_accepted=15)
    assert (figures.tokens_per_round, figures.accepted_share) == (2.5, 0.75)
    assert (LiveFigures().tokens_per_round, LiveFigures().accepted_share) == (0.0, None)
    assert LiveFigures().speedup is None
