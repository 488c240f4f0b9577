"""The meter in the real window, at the sizes and widths that people use."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication
from pytestqt.qtbot import QtBot

from app.main_window import MainWindow
from app.theme import ThemeKeeper
from app.widgets.meter.meter_text import Readiness
from app.widgets.meter.speed_meter import SpeedMeter
from engine.values.replies import OriginRun, ReplyStatistics, StopReason
from engine.values.speed import Hindrance, LiveFigures, SpeedOutcome
from tests.unit.app.wordings import normal, told

LIVE = LiveFigures(
    num_tokens=214,
    tokens_per_s=31.4,
    mean_tokens_per_s=30.0,
    plain_tokens_per_s=20.0,
    plain_error=0.04,
    num_rounds=100,
    num_drafted=180,
    num_accepted=114,
    context_used=1204,
)
KEPT = ReplyStatistics(
    10, 10, 214, 0.1, 6.9, StopReason.END, 1204, 8192, 0, 100, 180, 114, plain_tokens_per_s=20.0, plain_error=0.04
)
NORMAL = replace(KEPT, ratio=1.02, hindrance=Hindrance.NOTHING)


@pytest.fixture
def window(qtbot: QtBot, keeper: ThemeKeeper) -> MainWindow:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()
    return window


@pytest.fixture
def meter(window: MainWindow) -> SpeedMeter:
    window.meter.show_readiness(Readiness.READY, "The starter is ready.")
    return window.meter


def whole(part: QAbstractButton, meter: SpeedMeter) -> bool:
    return part.width() >= part.sizeHint().width() and part.geometry().right() <= meter.width()


@pytest.mark.parametrize(
    ("size", "percent", "words"),
    [
        ((1100, 760), 100, normal(Hindrance.NOTHING)),
        ((1100, 760), 150, normal(Hindrance.NOTHING)),
        ((1920, 1080), 200, normal(Hindrance.NOTHING)),
        ((640, 480), 100, normal(Hindrance.NOTHING)),
        ((640, 480), 200, normal()),  # with learning beside it
    ],
)
def test_the_sentence_is_never_cut(
    window: MainWindow, keeper: ThemeKeeper, size: tuple[int, int], percent: int, words: str
) -> None:
    keeper.choose("light", percent)
    window.conversations.setVisible(size[0] > 640)
    window.resize(*size)
    window.meter.show_reply(NORMAL)
    window.meter.show_learning(True, False, 0.5)
    QApplication.processEvents()
    meter = window.meter
    assert meter.headline.text() == words
    for part in (meter.switch, meter.headline, meter.pause_button):
        assert whole(part, meter), part.accessibleName() or part.text()
    assert meter.learning.text().startswith("Learning…")
    assert meter.learning.width() >= meter.learning.sizeHint().width()
    assert meter.learning.geometry().left() > meter.headline.geometry().right()


def test_what_matters_less_leaves_first(meter: SpeedMeter) -> None:
    meter.show_reply(NORMAL)
    meter.show_learning(True, False, 0.5)
    seen = []
    for width in range(900, 150, -5):
        meter.resize(width, meter.height())
        seen.append((meter.headline.text(), meter.learning.text(), not meter.gauge.isHidden()))
    full, announced = normal(Hindrance.NOTHING), "Learning… (up to 50\u00a0% of the processor)"
    assert list(dict.fromkeys(seen)) == [
        (full, announced, True),
        (full, "Learning…", True),
        (full, "Learning…", False),
        (normal(), "Learning…", False),
        (normal(), "", False),
    ]


@pytest.mark.parametrize(("used", "level"), [(0, "calm"), (799, "calm"), (800, "high"), (950, "full"), (1200, "full")])
def test_the_gauge_warns_as_the_context_fills(meter: SpeedMeter, used: int, level: str) -> None:
    meter.show_reply(replace(KEPT, context_used=used, context_size=1000))
    assert meter.gauge.property("level") == level
    assert f"{used:,} of 1,000 tokens" in meter.gauge.toolTip()


@pytest.mark.usefixtures("drafter_and_recall")
def test_a_click_shows_all_else_and_leads_to_the_speed_of_all_replies(
    qtbot: QtBot, window: MainWindow, meter: SpeedMeter
) -> None:
    meter.show_reply(replace(KEPT, origins=(OriginRun(60, "target"), OriginRun(40, "recall"))))
    assert meter.headline.text() == "1.6× faster"
    QTest.mouseClick(meter.headline, Qt.MouseButton.LeftButton)
    assert meter.details is not None
    assert meter.details.isVisible()
    for fact in ("1.6× ± 0.1", "31.0 tokens", "114 of 180 tokens", "40\u00a0% by Earlier text", "1,204 of 8,192"):
        assert fact in " ".join(value.text() for _, value in meter.details.rows)
        assert fact in meter.headline.toolTip(), "also on hover"
    assert window.rect().contains(window.mapFromGlobal(meter.details.geometry().bottomRight()))
    with qtbot.waitSignal(window.history_action.triggered):
        QTest.mouseClick(meter.details.more_button, Qt.MouseButton.LeftButton)
    assert not meter.details.isVisible()
    meter.headline.setFocus()
    QTest.keyClick(meter.headline, Qt.Key.Key_Space)
    assert meter.details.isVisible()
    QTest.keyClick(meter.details, Qt.Key.Key_Escape)
    window.prompt_box.setFocus()
    QTest.mouseClick(meter.headline, Qt.MouseButton.LeftButton)
    QTest.keyClicks(meter.details, "w")
    assert not meter.details.isVisible()
    assert window.prompt_box.text == "w", "what is typed goes where the keyboard was"


def test_a_slower_reply_has_no_figure_in_sight(meter: SpeedMeter) -> None:
    meter.show_reply(replace(KEPT, ratio=0.94, hindrance=Hindrance.WRONG))
    assert meter.headline.text() == told(SpeedOutcome.SLOWER, Hindrance.WRONG)
    assert "Ratio: 0.94× ± 0.04" in meter.headline.toolTip()


def test_what_waits_to_be_shown_does_not_come_after_the_end(meter: SpeedMeter, qtbot: QtBot) -> None:
    meter.show_live(LIVE, 8192, ())
    assert meter.headline.property("live") is True
    meter.show_live(replace(LIVE, plain_tokens_per_s=3.0), 8192, ())
    meter.show_reply(KEPT)
    qtbot.wait(150)
    assert meter.headline.text() == "1.6× faster"
    assert meter.headline.property("live") is False


def test_learning_is_told_and_can_be_paused(meter: SpeedMeter, qtbot: QtBot) -> None:
    assert meter.learning.isHidden()
    assert meter.pause_button.isHidden()
    meter.show_learning(True, False, 0.3)
    assert meter.learning.text() == "Learning… (up to 30\u00a0% of the processor)"
    for is_paused, name in (
        (False, "Pause learning until you resume it or restart Slipstream"),
        (True, "Resume learning"),
    ):
        meter.show_learning(not is_paused, is_paused, 0.3)
        assert meter.pause_button.accessibleName() == name
        with qtbot.waitSignal(meter.learning_paused) as wanted:
            QTest.mouseClick(meter.pause_button, Qt.MouseButton.LeftButton)
        assert wanted.args == [not is_paused]
    assert meter.learning.text() == "Learning paused"
    meter.show_learning(False, False, 0.3)
    assert meter.learning.isHidden()
    assert meter.pause_button.isHidden()
