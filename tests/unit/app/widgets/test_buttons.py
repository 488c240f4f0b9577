"""Enter on a button that has the focus, in every window."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QMessageBox, QPushButton, QTabBar, QToolButton
from pytestqt.qtbot import QtBot

from app.theme import ThemeKeeper
from app.widgets.dialog_parts import ask, question_box
from app.widgets.icon_button import IconButton
from app.widgets.layouts import in_column
from app.widgets.parts import PressedByEnter, button
from tests.unit.app.top_levels import TOP_LEVELS


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space])
def test_a_key_presses_the_button_it_is_at_and_no_other(qtbot: QtBot, keeper: ThemeKeeper, key: Qt.Key) -> None:
    dialog, pressed = QDialog(), list[str]()
    qtbot.addWidget(dialog)
    default = button("Save", "primary", dialog, lambda: pressed.append("default"))
    default.setDefault(True)
    plain = button("Plain", "outlined", dialog, lambda: pressed.append("plain"))
    icon = IconButton(keeper, "close", "Close", lambda: pressed.append("icon"), parent=dialog)
    in_column([default, plain, icon], inside=dialog)
    with qtbot.waitExposed(dialog):
        dialog.show()
    for each in (plain, icon, default):
        each.setFocus()
        QTest.keyClick(each, key)
    assert pressed == ["plain", "icon", "default"]


def test_enter_on_yes_is_a_yes(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    assert keeper
    window, answers = QDialog(), list[str]()
    qtbot.addWidget(window)
    box = ask(question_box(window, "Remove", "Remove it?"), "Remove", lambda: answers.append("yes"))
    (yes,) = (each for each in box.buttons() if box.buttonRole(each) is QMessageBox.ButtonRole.AcceptRole)
    QTest.keyClick(yes, Qt.Key.Key_Return)
    assert answers == ["yes"]


@pytest.mark.parametrize("name", TOP_LEVELS)
def test_every_button_can_be_pressed_by_enter(qtbot: QtBot, keeper: ThemeKeeper, name: str) -> None:
    window = TOP_LEVELS[name](keeper)
    qtbot.addWidget(window)
    found = (*window.findChildren(QPushButton), *window.findChildren(QToolButton))
    buttons = [each for each in found if not isinstance(each.parent(), QTabBar)]  # the arrows that turn a row of tabs
    reached = [each for each in buttons if each.focusPolicy() & Qt.FocusPolicy.TabFocus]
    assert [each.objectName() or each.text() for each in reached if not isinstance(each, PressedByEnter)] == []
