from __future__ import annotations

from dataclasses import replace

import pytest

from app.widgets.meter import meter_text
from app.widgets.meter.meter_text import MeterFigures, Readiness
from engine.values.replies import OriginRun, ReplyStatistics, StopReason
from engine.values.speed import Hindrance, LiveFigures, SpeedOutcome
from tests.unit.app.wordings import normal, told

RUNS = (OriginRun(60, "target"), OriginRun(30, "drafter"), OriginRun(10, "recall"))
KEPT = ReplyStatistics(
    *(10, 10, 214, 0.1, 6.9, StopReason.END, 1204, 8192, 0, 100, 180, 114),
    plain_tokens_per_s=20.0,
    plain_error=0.04,
    origins=RUNS,
)
PLAIN = replace(KEPT, num_drafted=0, num_accepted=0, ratio=1.0, hindrance=Hindrance.NOTHING)
LIVE = LiveFigures(214, 31.4, 30.0, 20.0, 0.04, 100, 180, 114, 1204)
QUOTED = (OriginRun(500, "target"), OriginRun(200, "recall"))


def said(figures: MeterFigures | None, readiness: Readiness = Readiness.READY) -> str:
    return ": ".join(filter(None, meter_text.headline(figures, readiness)))


@pytest.mark.parametrize(
    ("statistics", "words"),
    [
        (KEPT, "1.6× faster"),
        (replace(KEPT, origins=(OriginRun(100, "recall"),)), "1.6× faster: reusing earlier text"),
        (replace(KEPT, plain_tokens_per_s=30.0), normal()),
        (
            replace(KEPT, plain_tokens_per_s=30.0, hindrance=Hindrance.WRONG),
            normal(Hindrance.WRONG),
        ),
        (PLAIN, normal(Hindrance.NOTHING)),
        (replace(PLAIN, plain_tokens_per_s=17.0), normal(Hindrance.NOTHING)),  # of another hour
        (
            replace(PLAIN, hindrance=Hindrance.COSTS),
            normal(Hindrance.COSTS),
        ),
        (replace(PLAIN, ratio=0.0, hindrance=Hindrance.OFF), normal(Hindrance.OFF)),
        (replace(PLAIN, ratio=0.0, hindrance=Hindrance.IMPOSSIBLE), normal(Hindrance.IMPOSSIBLE)),
        (replace(PLAIN, ratio=0.0, hindrance=Hindrance.UNKNOWN), normal()),  # an old one
        (replace(KEPT, plain_tokens_per_s=33.0), told(SpeedOutcome.SLOWER)),
        (
            replace(KEPT, ratio=0.9, hindrance=Hindrance.COSTS),
            told(SpeedOutcome.SLOWER, Hindrance.COSTS),
        ),
        (replace(KEPT, ratio=1.03, hindrance=Hindrance.LITTLE), normal(Hindrance.LITTLE)),
        (replace(KEPT, plain_tokens_per_s=27.0, plain_error=0.2), told(SpeedOutcome.ABOUT_NORMAL)),  # 1.15× ± 0.2
        (replace(KEPT, plain_tokens_per_s=33.0, plain_error=0.2), told(SpeedOutcome.ABOUT_NORMAL)),
        (replace(KEPT, reply_tokens=20), told(SpeedOutcome.SHORT)),
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
        (replace(LIVE, plain_error=0.4), RUNS, told(SpeedOutcome.MEASURING)),
        (replace(LIVE, plain_tokens_per_s=26.0, plain_error=0.2), RUNS, told(SpeedOutcome.MEASURING)),
        (replace(LIVE, num_tokens=20), RUNS, told(SpeedOutcome.MEASURING)),
        (replace(LIVE, num_tokens=20), QUOTED, "Reusing earlier text"),
        (
            replace(LIVE, plain_tokens_per_s=30.5, hindrance=Hindrance.LITTLE),
            RUNS,
            normal(Hindrance.LITTLE),
        ),
        (
            replace(LIVE, num_drafted=0, hindrance=Hindrance.IMPOSSIBLE),
            (),
            normal(Hindrance.IMPOSSIBLE),
        ),
    ],
)
def test_a_reply_under_way_is_told_in_one_thing(live: LiveFigures, origins: tuple[OriginRun, ...], words: str) -> None:
    assert said(MeterFigures.of_live(live, 8192, origins)) == words


def test_why_nothing_is_guessed_yet() -> None:
    live = replace(LIVE, num_drafted=0, num_accepted=0, hindrance=Hindrance.LOADING)
    figures = MeterFigures.of_live(live, 8192, ())
    assert said(figures, Readiness.AWAITED) == normal(Hindrance.LOADING)
    assert said(figures, Readiness.OFF) == "Speed-up off"
    drafted = MeterFigures.of_live(LIVE, 8192, RUNS)
    assert said(drafted, Readiness.OFF) == "1.5× faster", "it was begun with speed-up"


def test_of_a_new_chat_and_of_what_came_from_elsewhere() -> None:
    assert [said(None, each) for each in Readiness] == [
        *("", "Speed-up ready", "Getting ready…", "No speed-up with this model", "Speed-up off", "Runs on a server")
    ]
    assert said(MeterFigures()) == told(SpeedOutcome.UNKNOWN)
    assert "not known" in meter_text.note(MeterFigures(), Readiness.READY, "")
    assert meter_text.note(None, Readiness.IMPOSSIBLE, "It cannot.") == "It cannot."


def test_all_else_is_in_rows() -> None:
    assert dict(meter_text.rows(MeterFigures.of_reply(KEPT))) == {
        "Speed": "31.0 tokens a second",
        "Without guesses": "20.0 tokens a second, ± 4\u00a0%",
        "Ratio": "1.6× ± 0.1",
        "Guesses accepted": "114 of 180 tokens (63\u00a0%)",
        "Text guessed": "30\u00a0% by Drafter, 10\u00a0% by Earlier text",
        "Context in use": "1,204 of 8,192 tokens (15\u00a0%)",
    }
    plain = dict(meter_text.rows(MeterFigures.of_reply(PLAIN)))
    assert plain["Guesses accepted"] == "none: nothing was guessed"
    assert "Ratio" not in plain
    assert "Without guesses" not in plain, "it was written without"
    assert list(meter_text.rows(MeterFigures())) == []
