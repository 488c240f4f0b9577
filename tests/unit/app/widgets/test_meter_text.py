from __future__ import annotations

from dataclasses import replace

import pytest

from app.widgets import meter_text
from app.widgets.meter_text import MeterFigures
from engine.messages.replies import ReplyStatistics, StopReason
from engine.messages.speed import LiveFigures, Speedup

FIGURES = MeterFigures(31.4, 30.0, 214, Speedup(1.55, 0.07), 20.0, 0.04, 100, 180, 114, 2.14, is_compared=True)


@pytest.mark.parametrize(
    ("tokens_per_s", "words"),
    [
        (0, "—"),
        (-1, "—"),
        (0.001, "0.01"),
        (0.446, "0.45"),
        (1, "1.0"),
        (9.96, "10.0"),
        (99.94, "99.9"),
        (99.96, "100"),
        (999, "999"),
        (9_999.6, "10,000"),
    ],
)
def test_speeds_have_about_three_figures(tokens_per_s: float, words: str) -> None:
    assert meter_text.speed_number(tokens_per_s) == words


@pytest.mark.parametrize(
    ("speedup", "words"),
    [
        (Speedup(1.0, 0.001), "1.0× ± 0.1"),  # one decimal promises no more
        (Speedup(0.96, 0.2), "1.0× ± 0.2"),
        (Speedup(12.34, 1.26), "12.3× ± 1.3"),
        (Speedup(120.0, 20.0), "120×"),
    ],
)
def test_a_ratio_says_how_sure_it_is(speedup: Speedup, words: str) -> None:
    assert meter_text.ratio_number(speedup) == words


def test_what_is_not_known_is_not_claimed() -> None:
    assert meter_text.ratio(replace(FIGURES, speedup=None)) == "measuring…"
    off = replace(FIGURES, speedup=None, plain_tokens_per_s=0.0, is_compared=False, num_drafted=0, num_accepted=0)
    assert meter_text.ratio(off) == "—"
    assert "nobody guesses ahead" in meter_text.about_ratio(off)
    assert "being measured" in meter_text.about_ratio(replace(FIGURES, speedup=None))


def test_where_nothing_was_guessed_the_speed_is_the_plain_one() -> None:
    plain = replace(FIGURES, num_drafted=0, num_accepted=0, tokens_per_round=1.0)
    assert meter_text.ratio(plain) == "1.0× of plain"
    assert "plain speed" in meter_text.about_ratio(plain)
    assert meter_text.accepted(plain) == "none guessed"
    assert meter_text.about_accepted(plain) == "No token was guessed ahead in this reply."


def test_before_the_first_round() -> None:
    nothing = MeterFigures.of_live(LiveFigures())
    assert meter_text.spoken(nothing) == "— tok/s, —, — / round, none guessed"
    assert "0 tokens" in meter_text.about_speed(nothing)


def test_figures_of_a_kept_reply() -> None:
    kept = MeterFigures.of_reply(ReplyStatistics(10, 10, 1, 0.1, 0.0, StopReason.END, 11, 100))
    assert meter_text.speed(kept) == "— tok/s"
    assert meter_text.about_stored_speed(kept).startswith("Tokens written per second in the last reply")


def test_tooltips_tell_how_it_was_measured() -> None:
    words = meter_text.about_ratio(FIGURES)
    assert "about 20.0 tokens per second (± 4\u00a0%)" in words
    assert "two times in three" in words
    assert "Of 180 tokens that were guessed ahead, 114" in meter_text.about_accepted(FIGURES)
    assert "100 rounds" in meter_text.about_rounds(FIGURES)
    assert "214 tokens at 30.0 per second" in meter_text.about_speed(FIGURES)
