from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QStyle, QStyleOptionSlider, QWidget
from pytestqt.qtbot import QtBot

from app.dialogs.learning_dialog import LearningDialog
from app.theme import ThemeKeeper
from engine import LearningSettings


def shown(qtbot: QtBot, settings: LearningSettings) -> LearningDialog:
    dialog = LearningDialog(settings)
    qtbot.addWidget(dialog)
    with qtbot.waitExposed(dialog):
        dialog.show()
    return dialog


@pytest.fixture
def dialog(qtbot: QtBot, keeper: ThemeKeeper) -> LearningDialog:
    assert keeper  # the style is applied
    return shown(qtbot, LearningSettings())


def press(qtbot: QtBot, dialog: LearningDialog, part: QWidget, key: Qt.Key) -> LearningSettings:
    """What is wanted after a key on this part."""
    with qtbot.waitSignal(dialog.changed) as changed:
        QTest.keyClick(part, key)
    assert changed.args is not None
    settings = changed.args[0]
    assert isinstance(settings, LearningSettings)
    return settings


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (LearningSettings(), "half of the time"),
        (LearningSettings(share=0.05, on_battery=True), "5% of the time"),
        (LearningSettings(share=1.0), "all of the time"),
        (LearningSettings(enabled=False, share=0.333), "33% of the time"),
    ],
)
def test_the_settings_of_before_are_shown(
    qtbot: QtBot, keeper: ThemeKeeper, settings: LearningSettings, words: str
) -> None:
    assert keeper
    dialog = shown(qtbot, settings)
    assert (dialog.enabled.isChecked(), dialog.on_battery.isChecked()) == (settings.enabled, settings.on_battery)
    assert dialog.share_words.text() == words
    assert dialog.share.isEnabled() == dialog.on_battery.isEnabled() == settings.enabled


def test_every_change_holds_at_once(qtbot: QtBot, dialog: LearningDialog) -> None:
    assert press(qtbot, dialog, dialog.on_battery, Qt.Key.Key_Space) == LearningSettings(on_battery=True)
    assert press(qtbot, dialog, dialog.share, Qt.Key.Key_Right) == LearningSettings(share=0.55, on_battery=True)
    assert dialog.share_words.text() == "55% of the time"
    assert press(qtbot, dialog, dialog.share, Qt.Key.Key_Home).share == 0.05
    assert press(qtbot, dialog, dialog.share, Qt.Key.Key_End).share == 1.0
    assert press(qtbot, dialog, dialog.enabled, Qt.Key.Key_Space) == LearningSettings(False, 1.0, True)
    assert not dialog.share.isEnabled()
    assert not dialog.on_battery.isEnabled()
    assert press(qtbot, dialog, dialog.enabled, Qt.Key.Key_Space) == LearningSettings(True, 1.0, True)
    assert dialog.share.isEnabled()


def test_a_share_that_the_slider_cannot_show_stays_until_it_is_moved(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    assert keeper
    dialog = shown(qtbot, LearningSettings(share=0.333))
    assert press(qtbot, dialog, dialog.on_battery, Qt.Key.Key_Space).share == 0.333
    assert press(qtbot, dialog, dialog.share, Qt.Key.Key_Left).share == 0.28


def test_a_dragged_slider_tells_where_it_was_let_go(qtbot: QtBot, dialog: LearningDialog) -> None:
    option = QStyleOptionSlider()
    dialog.share.initStyleOption(option)
    handle = dialog.share.style().subControlRect(
        QStyle.ComplexControl.CC_Slider, option, QStyle.SubControl.SC_SliderHandle, dialog.share
    )
    with qtbot.assertNotEmitted(dialog.changed):
        QTest.mousePress(dialog.share, Qt.MouseButton.LeftButton, pos=handle.center())
        QTest.mouseMove(dialog.share, handle.center() + QPoint(40, 0))
        QTest.mouseMove(dialog.share, QPoint(dialog.share.width(), handle.center().y()))
    assert dialog.share_words.text() == "all of the time"
    with qtbot.waitSignal(dialog.changed) as changed:
        QTest.mouseRelease(dialog.share, Qt.MouseButton.LeftButton)
    assert changed.args == [LearningSettings(share=1.0)]


def test_what_was_learned_is_told_in_full(qtbot: QtBot, dialog: LearningDialog) -> None:
    dialog.show_learned("Nothing.")
    dialog.show_learned("With what it learned from 42 replies, more guesses stand in each round. " * 3)
    qtbot.waitUntil(lambda: dialog.learned.height() >= dialog.learned.heightForWidth(dialog.learned.width()))


def test_it_is_worked_from_the_keyboard_and_tells_what_is_meant(qtbot: QtBot, dialog: LearningDialog) -> None:
    dialog.activateWindow()
    order = []
    dialog.enabled.setFocus()
    for _ in range(4):
        order.append(dialog.focusWidget())
        QTest.keyClick(dialog, Qt.Key.Key_Tab)
    assert order == [dialog.enabled, dialog.share, dialog.on_battery, dialog.close_button]
    assert dialog.share.accessibleName()
    assert all(part.toolTip() for part in (dialog.enabled, dialog.share, dialog.on_battery))
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not dialog.isVisible())
