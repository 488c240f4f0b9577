"""The tour at the first start, and the guide with its search, by keyboard alone, in the real window."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.features.help.guide_dialog import GuideDialog
from app.settings.app_settings import SettingsFile
from tests.end_to_end.test_presets import Desk
from tests.fakes.thinker import Thinker

pytestmark = [
    pytest.mark.starter,  # whose file stands for the target's
    pytest.mark.qt_log_ignore(r"This plugin does not support ((propagateSizeHints|raise)\(\)|grabbing the keyboard)"),
]


def test_the_tour_is_shown_once_and_found_again_in_help(
    qtbot: QtBot,
    qapp: QApplication,
    thinker: Thinker,  # noqa: ARG001
    tmp_path: Path,
) -> None:
    folder = tmp_path / "store"
    desk = Desk(qtbot, qapp, folder, has_tour=True)
    tour = desk.app.tour.tour
    assert tour is not None
    assert tour.isVisible()
    desk.until(tour.next_button.hasFocus)
    for title in ("Write here", "See how fast it is", "Choose a model"):
        assert tour.title.text() == title
        QTest.keyClick(tour.next_button, Qt.Key.Key_Return)
    assert not tour.isVisible()
    assert desk.window.prompt_box.editor.hasFocus()
    desk.ask("What is 2 and 2?")
    desk.close()
    assert SettingsFile(folder).load()[0].tour_seen

    desk = Desk(qtbot, qapp, folder, has_tour=True)
    assert desk.app.tour.tour is None
    desk.press(Qt.Key.Key_F1)
    (guide,) = desk.window.findChildren(GuideDialog)
    assert guide.isVisible()
    QTest.keyClick(guide.page, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(guide.search, "preset")
    spoken = QAccessible.queryAccessibleInterface(guide.search)
    assert spoken.text(QAccessible.Text.Name) == "Search the guide"
    assert guide.found.text().startswith("1 of ")
    first = guide.page.textCursor().position()
    QTest.keyClick(guide.search, Qt.Key.Key_Return)
    assert guide.found.text().startswith("2 of ")
    assert guide.page.textCursor().position() > first
    QTest.keyClick(guide.search, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert guide.page.textCursor().position() == first
    QTest.keyClick(guide.tour_button, Qt.Key.Key_Space)
    assert not guide.isVisible()
    tour = desk.app.tour.tour
    assert tour is not None
    assert tour.isVisible()
    handle = desk.window.windowHandle()
    assert handle is not None
    QTest.keyClick(handle, Qt.Key.Key_Escape)
    assert not tour.isVisible()
    desk.close()
