"""The guided start on the real starter, by keyboard: measure, the same reply side by side, what to expect; left in the
middle and gone on with from Help."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from app.features.guided.guided_dialog import GuidedDialog
from app.features.guided.steps import State
from app.settings.app_settings import SettingsFile
from app.startup.first_paint import open_window
from app.wiring import WiredWindow
from engine import AUTOMATIC
from engine.values.comparison import Side
from engine.values.config import SpeculationSettings
from engine.values.events import Event, TargetReady
from tests.fakes.ear import Ear

pytestmark = [
    pytest.mark.starter,
    pytest.mark.qt_log_ignore(r"This plugin does not support ((propagateSizeHints|raise)\(\)|grabbing the keyboard)"),
]
_PATIENCE_MS = 180_000  # on a busy machine
_SHOTS = os.environ.get("SLIPSTREAM_SHOTS", "")  # a folder for pictures of the steps


class Desk:
    def __init__(self, qtbot: QtBot, qapp: QApplication, folder: Path) -> None:
        self._qtbot = qtbot
        self.app = WiredWindow(open_window(qapp, folder), folder, SpeculationSettings(drafter=AUTOMATIC), has_tour=True)
        self.window = self.app.window
        self._ear = Ear(self.app.bridge)  # after the controllers: what the test hears, the window has heard
        qtbot.addWidget(self.window)
        self.until(lambda: bool(self.heard(TargetReady)) and self.app.library is not None)

    def heard(self, kind: type[Event]) -> list[Event]:
        return [event for event in self._ear.events if isinstance(event, kind)]

    def until(self, is_so: Callable[[], bool]) -> None:
        self._qtbot.waitUntil(is_so, timeout=_PATIENCE_MS)

    @property
    def guided(self) -> GuidedDialog:
        assert self.app.guided.dialog is not None
        return self.app.guided.dialog

    def press(self, pressed: QPushButton) -> None:
        assert pressed.isVisible()
        assert pressed.isEnabled()
        QTest.keyClick(pressed, Qt.Key.Key_Space)

    def shoot(self, name: str) -> None:
        if _SHOTS:
            QApplication.processEvents()
            self.guided.grab().save(f"{_SHOTS}/{name}.png")

    def close(self) -> None:
        self.window.close()
        self.app.close()


@pytest.fixture
def desk(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(qtbot, qapp, tmp_path / "store")
    yield desk
    desk.close()


def test_the_first_start_shows_what_speed_up_does_here(desk: Desk, tmp_path: Path) -> None:
    tour = desk.app.tour.tour
    assert tour is not None
    desk.until(tour.isVisible)
    for _ in range(3):
        desk.press(tour.next_button)
    dialog = desk.guided
    assert dialog.isVisible(), "after the tour it comes by itself"
    assert dialog.count.text() == "Step 1 of 3"
    desk.shoot("1-start")

    desk.press(dialog.main_button)
    desk.shoot("2-measuring")
    desk.until(lambda: dialog.machine.state is State.DONE)
    assert desk.app.guided.machine is not None
    assert {1, 2, 4} <= set(desk.app.guided.machine.passes)
    desk.shoot("3-measured")

    desk.press(dialog.main_button)
    assert dialog.count.text() == "Step 2 of 3"
    desk.shoot("4-sample")
    desk.press(dialog.main_button)
    desk.until(lambda: bool(dialog.proof.sides.texts[Side.SPED_UP].toPlainText()))
    desk.shoot("5-answering")
    desk.until(lambda: dialog.proof.state is State.DONE)
    comparison = desk.app.guided.comparison
    assert comparison is not None
    assert comparison.fork is None or (comparison.fork.logit_gap or 1.0) < 0.5, "the same but for a tie"
    plain, sped_up = (dialog.proof.sides.texts[side].toPlainText() for side in Side)
    assert "twenty tables" in plain
    if comparison.fork is None:
        assert sped_up == plain
    # How much is drafted depends on what passes were found to cost, which is little certain on a busy machine.
    assert sum(run.num_rounds for run in comparison.sped_up) <= sum(run.num_rounds for run in comparison.plain)
    assert "×" in dialog.proof.sides.outcome.text()
    desk.shoot("6-compared")

    desk.press(dialog.main_button)
    assert dialog.count.text() == "Step 3 of 3"
    text = dialog.outlook.text
    assert text.startswith("SmolLM2-135M-Instruct"), "the model in use comes first"
    for size in ("4B", "8B", "14B"):
        assert size in text
    assert "Measured just now" in text
    assert text.count("\n") == 4
    desk.shoot("7-expected")

    desk.press(dialog.outlook.best_button)
    assert desk.app.library is not None
    library = desk.app.library.dialog
    assert library.isVisible()
    suggestions = library.hub.suggestions
    desk.until(lambda: suggestions.name.text() in dialog.outlook.best_button.text())
    library.close()
    desk.press(dialog.main_button)
    assert not dialog.isVisible()
    desk.close()
    settings = SettingsFile(tmp_path / "store").load()[0]
    assert settings.guided_seen
    assert settings.guided_step == 0


def test_it_can_be_left_and_gone_on_with_from_help(desk: Desk) -> None:
    tour = desk.app.tour.tour
    assert tour is not None
    desk.until(tour.isVisible)
    tour.end()
    assert desk.app.guided.dialog is None, "whoever skips the tour is not held up"
    notice = desk.window.notices.shown["guided"]
    desk.press(notice.buttons[0])
    assert not desk.window.notices.shown
    dialog = desk.guided
    desk.press(dialog.main_button)
    desk.until(lambda: dialog.main_button.text() == "Stop")
    desk.press(dialog.main_button)
    desk.until(lambda: dialog.machine.state is State.OPEN)
    assert "stopped" in dialog.machine.status.text()
    assert desk.app.guided.machine is None

    desk.press(dialog.main_button)
    desk.until(lambda: dialog.machine.state is State.DONE)
    desk.press(dialog.main_button)
    desk.press(dialog.main_button)
    desk.until(lambda: dialog.proof.state is State.RUNNING)
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    desk.until(lambda: dialog.proof.state is not State.RUNNING)

    desk.window.guided_action.trigger()
    assert dialog.isVisible()
    assert dialog.count.text() == "Step 2 of 3", "where it was left"
    desk.press(dialog.pass_button)
    assert "4B" in dialog.outlook.text
    assert "Measured just now" not in dialog.outlook.text
    desk.press(dialog.main_button)
    assert not dialog.isVisible()
