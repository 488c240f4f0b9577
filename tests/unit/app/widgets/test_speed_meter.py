from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest
from app.widgets.sparkline import MAX_POINTS, Sparkline
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.theme import ThemeKeeper
from app.widgets.speed_meter import SpeedMeter
from engine.messages.replies import ReplyStatistics, StopReason
from engine.messages.speed import LiveFigures

LIVE = LiveFigures(
    num_tokens=214,
    tokens_per_s=31.4,
    mean_tokens_per_s=30.0,
    mean_error=0.03,
    num_measured=200,
    plain_tokens_per_s=20.0,
    plain_error=0.04,
    num_rounds=100,
    num_drafted=180,
    num_accepted=114,
    context_used=1204,
    is_compared=True,
)
KEPT = ReplyStatistics(
    10, 10, 214, 0.1, 6.9, StopReason.END, 1204, 8192, 0, 100, 180, 114, plain_tokens_per_s=20.0, plain_error=0.04
)


@pytest.fixture
def meter(qtbot: QtBot, keeper: ThemeKeeper) -> SpeedMeter:
    meter = SpeedMeter(keeper)
    qtbot.addWidget(meter)
    meter.resize(780, 28)
    meter.show()
    return meter


@pytest.mark.parametrize(("used", "level"), [(0, "calm"), (799, "calm"), (800, "high"), (950, "full"), (1200, "full")])
def test_the_gauge_warns_as_the_context_fills(meter: SpeedMeter, used: int, level: str) -> None:
    meter.set_context(used, 1000)
    assert meter.gauge.property("level") == level
    assert meter.context.text() == f"{used:,} / 1,000"


def test_a_reply_under_way_is_told_as_it_goes(meter: SpeedMeter) -> None:
    meter.show_live(LIVE, 8192)
    assert meter.speed.text() == "31.4 tok/s"
    assert meter.ratio.text() == "1.5× ± 0.1 of plain"
    assert meter.rounds.text() == "2.1 / round"
    assert meter.accepted.text() == "63\u00a0% accepted"
    assert meter.context.text() == "1,204 / 8,192"
    assert meter.property("live") is True
    assert "1.5× ± 0.1 of plain" in meter.accessibleDescription()
    for part in (meter.speed, meter.ratio, meter.rounds, meter.accepted, meter.sparkline, meter.gauge, meter.context):
        assert part.toolTip(), part.text() if hasattr(part, "text") else part


def test_one_token_has_no_speed_yet(meter: SpeedMeter) -> None:
    meter.show_live(replace(LIVE, num_tokens=1), 8192)
    assert meter.speed.text() == ""
    assert meter.speed.isHidden()


def test_a_kept_reply_is_dimmed_and_its_line_stays_until_another_begins(meter: SpeedMeter, qtbot: QtBot) -> None:
    meter.show_live(LIVE, 8192)
    meter.show_live(LIVE, 8192)
    qtbot.waitUntil(lambda: len(meter.sparkline.points) == 2)
    meter.show_reply(KEPT)
    assert meter.property("live") is False
    assert meter.speed.text() == "31.0 tok/s"
    assert meter.ratio.text() == "1.6× ± 0.1 of plain"
    assert len(meter.sparkline.points) == 2
    meter.show_live(LIVE, 8192)
    assert len(meter.sparkline.points) == 1


def test_what_waits_to_be_shown_does_not_come_after_the_end(meter: SpeedMeter, qtbot: QtBot) -> None:
    meter.show_live(LIVE, 8192)
    meter.show_live(replace(LIVE, tokens_per_s=99.0), 8192)
    meter.show_reply(KEPT)
    qtbot.wait(150)
    assert meter.speed.text() == "31.0 tok/s"
    assert meter.property("live") is False


def test_without_a_reply_only_the_sentence_is_there(meter: SpeedMeter) -> None:
    meter.set_words("The drafter is ready.")
    meter.show_live(LIVE, 8192)
    meter.clear()
    hidden = (meter.speed, meter.ratio, meter.rounds, meter.accepted, meter.sparkline, meter.gauge, meter.context)
    assert all(part.isHidden() for part in hidden)
    assert meter.words.isVisible()
    assert meter.words.toolTip() == "The drafter is ready."


def test_nothing_moves_while_figures_change(meter: SpeedMeter, qtbot: QtBot) -> None:
    meter.set_words("Recall guesses 3 ahead.")
    meter.show_live(LIVE, 8192)
    parts = (meter.speed, meter.ratio, meter.rounds, meter.accepted, meter.words, meter.gauge, meter.context)

    def places() -> list[tuple[int, int]]:
        layout = meter.layout()
        assert layout is not None
        layout.activate()
        return [(part.x(), part.width()) for part in parts]

    def shows(words: str) -> bool:
        return meter.speed.text() == words

    before = places()
    for speed, words, accepted in ((3.31, "3.3 tok/s", 0), (10_000, "10,000 tok/s", 180), (600, "600 tok/s", 9)):
        meter.show_live(replace(LIVE, tokens_per_s=speed, mean_tokens_per_s=speed, num_accepted=accepted), 8192)
        qtbot.waitUntil(partial(shows, words))
        assert places() == before
        for part in (meter.speed, meter.ratio, meter.rounds, meter.accepted, meter.context):
            assert part.sizeHint().width() <= part.width() + 1, part.text()


def test_at_rest_parts_are_evenly_spaced(meter: SpeedMeter) -> None:
    meter.set_words("Recall guesses 3 ahead.")
    meter.show_reply(KEPT)
    layout = meter.layout()
    assert layout is not None
    layout.activate()
    assert meter.sparkline.isHidden(), "it has no line of a reply of before"
    parts = (meter.speed, meter.ratio, meter.rounds, meter.accepted, meter.words)
    assert {right.x() - left.geometry().right() - 1 for left, right in pairwise(parts)} == {layout.spacing()}
    for part in (meter.speed, meter.ratio, meter.rounds, meter.accepted, meter.context):
        assert part.fontMetrics().horizontalAdvance(part.text()) + 2 == part.width()


def test_parts_leave_one_after_the_other_and_speed_and_ratio_never(meter: SpeedMeter) -> None:
    meter.set_words("Recall and drafter guess 3 ahead.")
    meter.show_live(LIVE, 8192)
    order = [meter.accepted, meter.context, meter.rounds, meter.sparkline, meter.words, meter.gauge]
    shown = len(order) + 1
    for width in range(1000, 200, -10):
        meter.resize(width, 28)
        assert meter.speed.isVisible()
        assert meter.ratio.isVisible()
        visible = [part.isVisible() for part in order]
        assert visible == sorted(visible), "a part that matters more left first"
        assert sum(visible) <= shown
        shown = sum(visible)
        if width >= 332:  # what is left of the narrowest window
            layout = meter.layout()
            assert layout is not None
            assert layout.minimumSize().width() <= width
    assert shown == 0


def test_a_click_or_enter_asks_for_more(meter: SpeedMeter, qtbot: QtBot) -> None:
    meter.show_live(LIVE, 8192)
    with qtbot.waitSignal(meter.history_requested):
        QTest.mouseClick(meter.ratio, Qt.MouseButton.LeftButton)
    with qtbot.waitSignal(meter.history_requested):
        QTest.keyClick(meter, Qt.Key.Key_Return)


def test_the_line_is_of_the_whole_reply_and_stays_short(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    line = Sparkline(keeper)
    qtbot.addWidget(line)
    line.grab()  # nothing to draw yet
    for speed in range(1000):
        line.add(float(speed), 400.0)
    assert MAX_POINTS / 2 <= len(line.points) <= MAX_POINTS
    assert line.points[0] < 20
    assert line.points[-1] > 950
    line.grab()
    line.clear()
    line.add(0.0, 0.0)
    line.add(0.0, 0.0)
    line.grab()


def test_a_ratio_that_was_told_stays_while_it_is_known_less_well(meter: SpeedMeter, qtbot: QtBot) -> None:
    hardly = replace(LIVE, plain_error=0.4)
    meter.show_live(hardly, 8192)
    assert meter.ratio.text() == "measuring…"
    meter.show_live(LIVE, 8192)
    qtbot.waitUntil(lambda: meter.ratio.text() == "1.5× ± 0.1 of plain")
    meter.show_live(hardly, 8192)
    qtbot.waitUntil(lambda: meter.ratio.text() == "1.5× ± 0.6 of plain")
    meter.rest()
    meter.show_live(hardly, 8192)
    assert meter.ratio.text() == "measuring…", "of another reply nothing was told yet"


def test_a_larger_context_takes_more_room(meter: SpeedMeter) -> None:
    meter.show_reply(KEPT)
    narrow = meter.context.width()
    meter.set_context(1204, 131_072)
    assert meter.context.width() > narrow
    assert meter.context.text() == "1,204 / 131,072"
