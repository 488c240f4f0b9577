from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QToolTip
from pytestqt.qtbot import QtBot

from app.features.history.columns import COLUMNS
from app.features.history.page import HistoryPage
from app.theme import ThemeKeeper
from engine.values.history import History
from engine.values.learned import ScoredReplies
from engine.values.replies import TextKind
from tests.unit.app.features.history.made import ago, history, portion, tally


@pytest.fixture
def page(qtbot: QtBot, keeper: ThemeKeeper) -> HistoryPage:
    page = HistoryPage(keeper)
    qtbot.addWidget(page)
    with qtbot.waitExposed(page):
        page.show()
    return page


def column(page: HistoryPage, title: str) -> list[str]:
    number = [each.title for each in COLUMNS].index(title)
    items = (page.table.item(row, number) for row in range(page.table.rowCount()))
    return [item.text() for item in items if item is not None]


def test_without_replies_a_sentence_says_what_will_be_here(page: HistoryPage) -> None:
    assert page.empty.text() == "Reading the figures…"
    page.show_history(History())
    assert page.empty.isVisible()
    assert page.empty.text().startswith("No reply has been stored yet.")
    page.show_failure("The disk is gone.")
    assert page.empty.text() == "The disk is gone."


def test_the_week_is_told_and_all_that_was_before(page: HistoryPage) -> None:
    page.show_history(history())
    assert page.headline.isVisible()
    assert page.headline.text().startswith("Over the last 7 days a typical reply came 1.50× ")
    assert "(6 replies)" in page.headline.text()
    assert page.before.text().startswith("Since ")
    assert "1.3" in page.before.text()
    assert not page.exceptions.isVisible()
    assert page.bars.bars[0].parts[0].words == "Checking 85\u00a0%, 3 minutes"
    assert page.bars.bars[1].parts[0].words == "2 minutes"
    assert column(page, "Kind") == ["Tiny", "All kinds", "Prose", "Code", "Big", "Prose"]
    assert page.learned.text().startswith("1,200 word patterns")
    page.show_failure("The disk is gone.")
    assert page.notice.text() == "The disk is gone."
    assert page.headline.isVisible(), "what was read stays"


def test_what_is_chosen_counts_everywhere_and_stays(page: HistoryPage) -> None:
    page.show_history(history())
    page.targets.setCurrentText("Tiny")
    page.kinds.setCurrentText("Code")
    assert "1.80×" in page.headline.text()
    assert column(page, "Kind") == ["Tiny", "Code"]
    page.groupings.setCurrentText("Chat by chat")
    assert page.plot_words.text().startswith("Each point is one chat.")
    page.show_history(history())
    assert (page.targets.currentText(), page.kinds.currentText()) == ("Tiny", "Code")
    page.targets.setCurrentText("Big")
    assert column(page, "Kind") == []
    assert not page.plot.isVisible()
    assert page.no_points.isVisible()
    assert page.no_bars.isVisible()
    page.show_history(replace(history(), days=history().days[2:3]))
    assert page.kinds.currentText() == "All kinds", "there is no code any more"
    assert "0.90×" in page.headline.text()


def test_what_learning_brought_is_drawn_week_by_week(page: HistoryPage) -> None:
    page.show_history(history())
    page.groupings.setCurrentText("What learning brought")
    assert page.no_points.isVisible()
    assert page.no_points.text().startswith("None of these replies has been scored yet")
    scored = replace(tally(), scored=(ScoredReplies(1, 4, 200, 100.0, 80.0),))
    page.show_history(
        History(days=(portion(ago(8), figures=scored), portion(ago(0), kind=TextKind.CODE, figures=scored)))
    )
    assert page.plot_title.text() == "Tokens per pass of the model, with what was learned and without"
    assert [(point.value, ring.value) for point, ring in zip(page.plot._points, page.plot._rings, strict=True)] == [
        (2.5, 2.0)
    ] * 2
    assert (
        "2.50 tokens per pass with what was learned, 2.00 without: +25\u00a0% (4 replies)" in page.plot.accessibleName()
    )
    assert "before the drafter learned from it" in page.plot_words.text()
    assert "six chats" in page.plot.toolTip()
    page.kinds.setCurrentText("Code")
    assert len(page.plot._points) == 1, "what is chosen counts here, too"
    page.groupings.setCurrentText("Day by day")
    assert page.plot._rings == ()
    assert page.plot_title.text().startswith("Times as fast")


def test_slow_replies_and_endless_ones_are_counted(page: HistoryPage) -> None:
    figures = replace(tally(), num_slow=1, num_repeating=2)
    page.show_history(History(days=(portion(ago(0), figures=figures),), chats=()))
    assert page.exceptions.isVisible()
    assert page.exceptions.text().startswith("1 of 2 replies was slower than without speed-up")
    assert page.exceptions.text().endswith("2 replies that kept repeating themselves are left out.")


def test_replies_that_were_never_compared_have_no_plot(page: HistoryPage) -> None:
    old = (portion(ago(0), figures=tally(compared=False)),)
    page.show_history(History(days=old, chats=old))
    assert page.headline.text() == "Over the last 7 days no reply could be compared with writing without speed-up."
    assert not page.before.isVisible()
    assert page.no_points.isVisible()
    assert column(page, "Ratio") == ["–"]


def test_it_follows_the_theme_with_any_number_of_points(page: HistoryPage, keeper: ThemeKeeper) -> None:
    whole = history()
    for num_days in (4, 1, 2):
        page.show_history(replace(whole, days=whole.days[-num_days:], chats=whole.chats[-num_days:]))
        keeper.show_scheme(Qt.ColorScheme.Dark)
        dark = page.grab().toImage().pixelColor(5, 5)
        keeper.show_scheme(Qt.ColorScheme.Light)
        assert page.grab().toImage().pixelColor(5, 5).lightness() > dark.lightness() + 100


def test_every_figure_says_how_it_was_measured(page: HistoryPage) -> None:
    page.show_history(history())
    for part in (page.headline, page.before, page.plot):
        assert "standard error" in part.toolTip()
    for number in range(page.table.columnCount()):
        header, cell = page.table.horizontalHeaderItem(number), page.table.item(1, number)
        assert header is not None
        assert cell is not None
        assert header.toolTip()
        assert cell.toolTip() == header.toolTip()
    place = QPoint(10, 10)
    QApplication.sendEvent(page.bars, QHelpEvent(QHelpEvent.Type.ToolTip, place, page.bars.mapToGlobal(place)))
    assert "Wall-clock time of writing" in QToolTip.text()
    QToolTip.hideText()


def test_the_table_is_exported(
    qtbot: QtBot, page: HistoryPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.show_history(history())
    chosen = str(tmp_path / "speed.csv")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_args: (chosen, ""))
    with qtbot.waitSignal(page.export_requested) as wanted:
        QTest.keyClick(page.export_button, Qt.Key.Key_Space)
    path, text = wanted.args
    assert path == chosen
    assert [line["kind"] for line in csv.DictReader(io.StringIO(text))] == ["all", "prose", "code", "prose"]
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_args: ("", ""))
    with qtbot.assertNotEmitted(page.export_requested):
        QTest.keyClick(page.export_button, Qt.Key.Key_Space)


def test_it_can_be_proved(qtbot: QtBot, page: HistoryPage) -> None:
    page.show_history(history())
    with qtbot.waitSignal(page.compare_requested):
        QTest.keyClick(page.prove_button, Qt.Key.Key_Space)
