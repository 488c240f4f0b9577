from __future__ import annotations

from dataclasses import replace

import pytest

from app.widgets import meter_text
from app.widgets.meter_text import MeterFigures, Readiness
from engine.messages.replies import OriginRun, ReplyStatistics, StopReason
from engine.messages.speed import LiveFigures, Speedup

RUNS = (OriginRun(60, "target"), OriginRun(30, "drafter"), OriginRun(10, "recall"))
KEPT = ReplyStatistics(
    *(10, 10, 214, 0.1, 6.9, StopReason.END, 1204, 8192, 0, 100, 180, 114),
    plain_tokens_per_s=20.0,
    plain_error=0.04,
    origins=RUNS,
)
PLAIN = replace(KEPT, num_drafted=0, num_accepted=0)
LIVE = LiveFigures(214, 31.4, 30.0, 0.03, 200, 20.0, 0.04, 100, 180, 114, 1204, is_compared=True)
QUOTED = (OriginRun(500, "target"), OriginRun(200, "recall"))


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
        (Speedup(1.0, 0.001), "1.00× ± 0.01"),  # no more decimals than are known
        (Speedup(0.96, 0.2), "0.96× ± 0.20"),
        (Speedup(1.55, 0.07), "1.6× ± 0.1"),
        (Speedup(12.34, 1.26), "12.3× ± 1.3"),
        (Speedup(120.0, 20.0), "120×"),
    ],
)
def test_a_ratio_says_how_sure_it_is(speedup: Speedup, words: str) -> None:
    assert meter_text.ratio_number(speedup) == words


def said(figures: MeterFigures | None, readiness: Readiness = Readiness.READY) -> str:
    return ": ".join(filter(None, meter_text.headline(figures, readiness)))


@pytest.mark.parametrize(
    ("statistics", "words"),
    [
        (KEPT, "1.6× faster"),
        (replace(KEPT, origins=(OriginRun(100, "recall"),)), "1.6× faster: reusing earlier text"),
        (replace(KEPT, plain_tokens_per_s=30.0), "Normal speed"),
        (replace(KEPT, plain_tokens_per_s=30.0, num_accepted=3), "Normal speed: nothing to predict here"),
        (
            replace(KEPT, num_drafted=4, num_accepted=1),
            "Normal speed: nothing to predict here",
        ),  # whatever was measured
        (PLAIN, "Normal speed: nothing to predict here"),
        (replace(PLAIN, plain_tokens_per_s=0.0), "Normal speed"),  # speed-up was off, or not possible
        (replace(KEPT, plain_tokens_per_s=33.0), "No speed-up here"),
        (replace(KEPT, plain_tokens_per_s=27.0, plain_error=0.2), "About normal speed"),  # 1.15× ± 0.2
        (replace(KEPT, plain_tokens_per_s=33.0, plain_error=0.2), "About normal speed"),
        (replace(KEPT, reply_tokens=20), "Too short to compare"),
        (replace(KEPT, plain_error=0.4), "31.0 tokens a second"),
    ],
)
def test_a_finished_reply_is_told_in_one_thing(statistics: ReplyStatistics, words: str) -> None:
    assert said(MeterFigures.of_reply(statistics)) == words
    assert said(MeterFigures.of_reply(statistics), Readiness.AWAITED) == words, "whatever the engine does by now"
    assert said(MeterFigures.of_reply(statistics), Readiness.OFF) == "Speed-up off"


@pytest.mark.parametrize(
    ("live", "origins", "words"),
    [
        (LIVE, RUNS, "1.5× faster"),
        (LIVE, QUOTED, "1.5× faster: reusing earlier text"),  # lately
        (replace(LIVE, plain_error=0.4), QUOTED, "Reusing earlier text"),
        (replace(LIVE, plain_error=0.4), RUNS, "Measuring…"),
        (replace(LIVE, plain_tokens_per_s=26.0, plain_error=0.2), QUOTED, "Measuring…"),
        (replace(LIVE, num_tokens=20, num_measured=20), QUOTED, "Measuring…"),
        (replace(LIVE, num_accepted=3, plain_tokens_per_s=30.5), RUNS, "Normal speed: nothing to predict here"),
        (replace(LIVE, is_compared=False, plain_tokens_per_s=0.0), (), "Speed-up ready"),
    ],
)
def test_a_reply_under_way_is_told_in_one_thing(live: LiveFigures, origins: tuple[OriginRun, ...], words: str) -> None:
    assert said(MeterFigures.of_live(live, 8192, origins)) == words


def test_why_nothing_is_guessed_yet() -> None:
    live = replace(LIVE, num_drafted=0, num_accepted=0, mean_tokens_per_s=0.0)
    figures = MeterFigures.of_live(live, 8192, ())
    assert said(figures, Readiness.AWAITED) == "Normal speed: getting ready"
    assert said(figures, Readiness.OFF) == "Speed-up off"
    drafted = MeterFigures.of_live(LIVE, 8192, RUNS)
    assert said(drafted, Readiness.OFF) == "1.5× faster", "it was begun with speed-up"


def test_of_a_new_chat_and_of_what_came_from_elsewhere() -> None:
    assert [said(None, each) for each in Readiness] == [
        *("", "Speed-up ready", "Getting ready…", "No speed-up with this model", "Speed-up off", "Runs on a server")
    ]
    assert said(MeterFigures()) == "Speed not known"
    assert "not known" in meter_text.note(MeterFigures(), Readiness.READY, "")
    assert meter_text.note(None, Readiness.IMPOSSIBLE, "It cannot.") == "It cannot."


def test_all_else_is_in_rows() -> None:
    assert dict(meter_text.rows(MeterFigures.of_reply(KEPT))) == {
        "Against plain": "1.6× ± 0.1 as fast",
        "Speed": "31.0 tokens a second",
        "Plain speed here": "20.0 tokens a second, ± 4\u00a0%",
        "Guesses accepted": "114 of 180 tokens (63\u00a0%)",
        "Text guessed": "30\u00a0% by Drafter, 10\u00a0% by Earlier text",
        "Context in use": "1,204 of 8,192 tokens (15\u00a0%)",
    }
    for plain, words in ((33.0, "Slightly slower than plain"), (40.0, "Slower than plain")):
        slower = dict(meter_text.rows(MeterFigures.of_reply(replace(KEPT, plain_tokens_per_s=plain))))
        assert words in slower["Against plain"]
    assert dict(meter_text.rows(MeterFigures.of_reply(PLAIN)))["Guesses accepted"] == "none: nothing was guessed"
    assert "Against plain" not in dict(meter_text.rows(MeterFigures.of_reply(replace(KEPT, num_drafted=4))))
    assert list(meter_text.rows(MeterFigures())) == []
