from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QStyle, QStyleOptionSlider, QWidget
from pytestqt.qtbot import QtBot

from app.features.personalization.learning_page import LearningPage
from app.theme import ThemeKeeper
from engine import LearningSettings
from engine.values.learned import PracticeState


def shown(qtbot: QtBot, settings: LearningSettings) -> LearningPage:
    page = LearningPage(settings)
    qtbot.addWidget(page)
    with qtbot.waitExposed(page):
        page.show()
    return page


@pytest.fixture
def page(qtbot: QtBot, keeper: ThemeKeeper) -> LearningPage:
    assert keeper  # the style is applied
    return shown(qtbot, LearningSettings())


def press(qtbot: QtBot, page: LearningPage, part: QWidget, key: Qt.Key) -> LearningSettings:
    """What is wanted after a key on this part."""
    with qtbot.waitSignal(page.changed) as changed:
        QTest.keyClick(part, key)
    assert changed.args is not None
    settings = changed.args[0]
    assert isinstance(settings, LearningSettings)
    return settings


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (LearningSettings(), "half of the time"),
        (LearningSettings(share=0.05, on_battery=True), "5\u00a0% of the time"),
        (LearningSettings(share=1.0), "all of the time"),
        (LearningSettings(enabled=False, share=0.333), "33\u00a0% of the time"),
    ],
)
def test_the_settings_of_before_are_shown(
    qtbot: QtBot, keeper: ThemeKeeper, settings: LearningSettings, words: str
) -> None:
    assert keeper
    page = shown(qtbot, settings)
    assert (page.enabled.isChecked(), page.on_battery.isChecked()) == (settings.enabled, settings.on_battery)
    assert page.share_words.text() == words
    assert page.share.isEnabled() == page.on_battery.isEnabled() == settings.enabled


def test_every_change_holds_at_once(qtbot: QtBot, page: LearningPage) -> None:
    assert press(qtbot, page, page.on_battery, Qt.Key.Key_Space) == LearningSettings(on_battery=True)
    assert press(qtbot, page, page.share, Qt.Key.Key_Right) == LearningSettings(share=0.55, on_battery=True)
    assert page.share_words.text() == "55\u00a0% of the time"
    assert press(qtbot, page, page.share, Qt.Key.Key_Home).share == 0.05
    assert press(qtbot, page, page.share, Qt.Key.Key_End).share == 1.0
    assert press(qtbot, page, page.enabled, Qt.Key.Key_Space) == LearningSettings(False, 1.0, True)
    assert not page.share.isEnabled()
    assert not page.on_battery.isEnabled()
    assert press(qtbot, page, page.enabled, Qt.Key.Key_Space) == LearningSettings(True, 1.0, True)
    assert page.share.isEnabled()


def test_self_distillation_has_a_switch_and_minutes(qtbot: QtBot, page: LearningPage) -> None:
    page.practice.minutes.setFocus()
    page.practice.minutes.selectAll()
    with qtbot.assertNotEmitted(page.changed):
        QTest.keyClicks(page.practice.minutes, "10")
    assert press(qtbot, page, page.practice.minutes, Qt.Key.Key_Return) == LearningSettings(
        self_distillation_minutes=10
    )
    assert press(qtbot, page, page.practises, Qt.Key.Key_Space) == LearningSettings(
        self_distils=False, self_distillation_minutes=10
    )
    assert not page.practice.minutes.isEnabled()
    assert press(qtbot, page, page.practises, Qt.Key.Key_Space).self_distils
    assert page.practice.minutes.isEnabled()
    press(qtbot, page, page.enabled, Qt.Key.Key_Space)
    assert not page.practises.isEnabled()
    assert not page.practice.minutes.isEnabled()


def test_the_night_has_hours_only_where_it_is_wanted(qtbot: QtBot, page: LearningPage) -> None:
    box = page.practice
    assert not box.begins.isEnabled()
    assert press(qtbot, page, box.at_night, Qt.Key.Key_Space).self_distils_at_night
    assert press(qtbot, page, box.begins, Qt.Key.Key_Up).night_begins == 23
    assert press(qtbot, page, box.ends, Qt.Key.Key_Down).night_ends == 6
    press(qtbot, page, page.practises, Qt.Key.Key_Space)
    assert not any(part.isEnabled() for part in (box.at_night, box.ends, box.tokens))


def test_tokens_are_granted_after_one_has_seen_how_long_they_take(qtbot: QtBot, page: LearningPage) -> None:
    box = page.practice
    assert box.tokens.currentText() == "no, only those of my chats"
    assert "(" not in "".join(box.tokens.itemText(place) for place in range(box.tokens.count()))
    box.show_state(PracticeState(0, 20.0))
    assert [box.tokens.itemText(place) for place in range(2, 4)] == [
        "until 300,000 tokens are read (about 4 days of idle time)",
        "until 1,000,000 tokens are read (about 12 days of idle time)",
    ]
    assert not box.progress.isVisible()
    assert not box.bar.isVisible()
    box.tokens.setFocus()
    assert press(qtbot, page, box.tokens, Qt.Key.Key_End).self_distillation_tokens == 3_000_000
    box.show_state(PracticeState(600_000, 20.0))
    assert "600,000 of 3,000,000 tokens" in box.progress.text()
    assert box.bar.isVisible()
    assert box.bar.value() == pytest.approx(box.bar.maximum() / 5)


def test_what_a_command_or_file_granted_is_shown_and_kept(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    assert keeper
    granted = LearningSettings(
        self_distillation_tokens=123_456, self_distils_at_night=True, night_begins=1, night_ends=4, on_battery=True
    )
    page = shown(qtbot, granted)
    assert "123,456" in page.practice.tokens.currentText()
    assert press(qtbot, page, page.on_battery, Qt.Key.Key_Space) == replace(granted, on_battery=False)


def test_answers_are_erased_after_a_question(qtbot: QtBot, page: LearningPage) -> None:
    box = page.practice
    for asked in (box.question.no_button, box.question.yes_button):
        with qtbot.assertNotEmitted(box.erase_requested):
            box.erase_button.click()
        assert not box.erase_button.isVisible()
        if asked is box.question.no_button:
            with qtbot.assertNotEmitted(box.erase_requested):
                asked.click()
        else:
            with qtbot.waitSignal(box.erase_requested):
                asked.click()
        assert box.erase_button.isVisible()


def test_a_share_that_the_slider_cannot_show_stays_until_it_is_moved(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    assert keeper
    page = shown(qtbot, LearningSettings(share=0.333))
    assert press(qtbot, page, page.on_battery, Qt.Key.Key_Space).share == 0.333
    assert press(qtbot, page, page.share, Qt.Key.Key_Left).share == 0.28


def test_a_dragged_slider_tells_where_it_was_let_go(qtbot: QtBot, page: LearningPage) -> None:
    option = QStyleOptionSlider()
    page.share.initStyleOption(option)
    handle = page.share.style().subControlRect(
        QStyle.ComplexControl.CC_Slider, option, QStyle.SubControl.SC_SliderHandle, page.share
    )
    with qtbot.assertNotEmitted(page.changed):
        QTest.mousePress(page.share, Qt.MouseButton.LeftButton, pos=handle.center())
        QTest.mouseMove(page.share, handle.center() + QPoint(40, 0))
        QTest.mouseMove(page.share, QPoint(page.share.width(), handle.center().y()))
    assert page.share_words.text() == "all of the time"
    with qtbot.waitSignal(page.changed) as changed:
        QTest.mouseRelease(page.share, Qt.MouseButton.LeftButton)
    assert changed.args == [LearningSettings(share=1.0)]


def test_it_is_worked_from_the_keyboard_and_tells_what_is_meant(page: LearningPage) -> None:
    page.activateWindow()
    order = []
    page.enabled.setFocus()
    box = page.practice
    parts = [page.enabled, page.share, page.on_battery, page.practises, box.minutes, box.at_night, box.tokens]
    for _ in parts:
        order.append(page.focusWidget())
        QTest.keyClick(page, Qt.Key.Key_Tab)
    assert order == parts
    assert page.focusWidget() is box.erase_button
    assert all(part.accessibleName() for part in (page.share, box.tokens, box.begins, box.ends, box.bar))
    assert all(part.toolTip() for part in parts)
