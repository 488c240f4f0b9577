"""The line about bigger models, in the window on a bridge without an engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.features.library.hub import SUBJECT, Nudge
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings, SettingsFile
from app.settings.keeper import SettingsKeeper
from app.theme import ThemeKeeper
from engine.values.events import Event, ReplyFinished, TargetsListed
from tests.fakes.bridge import FakeBridge
from tests.unit.app.library_samples import STARTER_TARGET, TARGETS
from tests.unit.app.widgets.messages import reply

ALONE = TargetsListed((STARTER_TARGET,))


class Desk:
    def __init__(self, window: MainWindow, folder: Path) -> None:
        self.window = window
        self.bridge = FakeBridge()
        self.keeper = SettingsKeeper(SettingsFile(folder), AppSettings())
        Nudge(window, self.bridge, self.keeper)

    def tells(self, *events: Event) -> bool:
        """Whether the line stands there after these events."""
        self.bridge.tell(*events)
        return SUBJECT in self.window.notices.shown


@pytest.fixture
def desk(qtbot: QtBot, keeper: ThemeKeeper, tmp_path: Path) -> Iterator[Desk]:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    window.show()
    desk = Desk(window, tmp_path)
    yield desk
    desk.keeper.close()


def test_it_lasts_while_only_the_starter_is_there_and_a_cross_ends_it_for_good(qtbot: QtBot, desk: Desk) -> None:
    finished = ReplyFinished(reply(1))
    assert not desk.tells(ALONE), "the welcome says the same"
    desk.keeper.note(has_chatted=True)
    assert desk.tells(finished)
    (button,) = desk.window.notices.shown[SUBJECT].buttons
    with qtbot.waitSignal(desk.window.models_action.triggered):
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert desk.tells(ALONE, finished), "pressing the button does not end it"
    assert not desk.tells(TargetsListed(TARGETS))
    assert desk.tells(ALONE)
    desk.window.notices.shown[SUBJECT].close_button.click()
    assert not desk.tells(ALONE, finished)
    assert desk.keeper.settings.nudge_dismissed
