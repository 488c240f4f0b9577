"""Choosing a drafter in the real window, with the real engine and the starter target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.engine_bridge import EngineBridge
from app.features.drafter.drafter import DrafterController
from app.main_window import MainWindow
from app.theme import apply_theme
from engine import STARTER, EngineConfig, ReplySettings, SamplingSettings, TargetSettings
from engine.values.events import ReplyFinished, TargetReady, TargetsListed
from tests.fakes.chats import Chats
from tests.fakes.ear import Broke, Ear
from tests.fakes.tiny_models import tiny_llama

pytestmark = [
    pytest.mark.starter,
    pytest.mark.usefixtures("sound_models"),
    pytest.mark.qt_log_ignore(r"This plugin does not support ((propagateSizeHints|raise)\(\)|grabbing the keyboard)"),
]
_PATIENCE_MS = 60_000


class Desk:
    def __init__(self, qtbot: QtBot, qapp: QApplication, folder: Path, choice: str) -> None:
        self._qtbot = qtbot
        self._keeper = apply_theme(qapp)
        self.window = MainWindow(self._keeper)
        self.bridge = EngineBridge(EngineConfig(folder))
        greedy = ReplySettings(SamplingSettings(temperature=0), 8)
        chats = Chats(self.window, self.bridge, greedy, TargetSettings(context_size=512))
        chats.keeper.note(drafter=choice)
        self.drafters = DrafterController(self.window, self.bridge, chats.keeper)
        self.dialog = self.drafters.dialog
        self.ear = Ear(self.bridge)
        qtbot.addWidget(self.window)
        self.window.show()
        self.drafters.start()
        chats.start(STARTER)
        self.bridge.ask(self.bridge.engine.library.report)
        self.until(lambda: self.heard(TargetReady) == 1 and self.heard(TargetsListed) >= 1)

    def until(self, is_so: Callable[[], bool]) -> None:
        self._qtbot.waitUntil(is_so, timeout=_PATIENCE_MS)

    def heard(self, kind: type) -> int:
        return sum(isinstance(event, kind) for event in self.ear.events)

    def close(self) -> None:
        self.window.close()
        assert self.bridge.close()
        self._keeper.deleteLater()


@pytest.fixture
def open_desk(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> Iterator[Callable[[str], Desk]]:
    with ExitStack() as opened:

        def make(choice: str) -> Desk:
            desk = Desk(qtbot, qapp, tmp_path / "store", choice)
            opened.callback(desk.close)
            return desk

        yield make


def test_a_stored_choice_that_is_gone_is_told_and_nothing_else_fails(open_desk: Callable[[str], Desk]) -> None:
    desk = open_desk("somebody/gone")
    desk.window.drafter_action.trigger()
    desk.until(lambda: desk.dialog.heading.text().endswith("has no drafter at the moment."))
    sentence = "The drafter somebody/gone is not on this computer; choose it again to download it."
    desk.until(lambda: desk.dialog.state.text() == sentence)
    assert desk.dialog.form.from_hub.isChecked()
    desk.window.prompt_box.submitted.emit("Count to three.")
    desk.until(lambda: desk.heard(ReplyFinished) == 1)


def test_a_drafter_is_seen_fixed_for_one_model_and_let_go(open_desk: Callable[[str], Desk], tmp_path: Path) -> None:
    desk = open_desk("automatic")
    desk.window.drafter_action.trigger()
    dialog, form = desk.dialog, desk.dialog.form
    desk.until(lambda: dialog.table.rowCount() > 0)
    assert form.choice == "automatic"
    assert form.scope.count() == 2

    # the built-in one, for the starter alone
    form.ours["built-in"].setChecked(True)
    form.scope.setCurrentIndex(1)
    dialog.use_button.click()
    desk.until(lambda: dialog.heading.text().startswith("The built-in drafter guesses ahead for"))
    assert dialog.state.text().startswith("You chose the built-in drafter.")
    assert desk.drafters.choice == "automatic"

    # a folder without a model: told at once, and nothing changes
    form.path.setText(str(tmp_path))
    form.from_path.setChecked(True)
    dialog.use_button.click()
    desk.until(lambda: "holds no config.json; choose the folder of a drafter" in dialog.words.text())
    assert dialog.heading.text().startswith("The built-in drafter guesses ahead for")

    # a file that only loading shows to be none: told, and the one before comes back
    form.path.setText(str(tiny_llama(tmp_path / "broken.gguf", tokenizer="rwkv")))
    dialog.use_button.click()
    desk.until(lambda: "broken cannot draft: it has a vocabulary that cannot write every text" in dialog.words.text())
    assert dialog.words.text().endswith("Your previous choice stays: Built-in.")
    desk.until(lambda: dialog.heading.text().startswith("The built-in drafter guesses ahead for"))
    assert "broken cannot draft" in dialog.words.text()  # still
    desk.window.prompt_box.submitted.emit("Count to three.")
    desk.until(lambda: desk.heard(ReplyFinished) == 1)

    # and nobody's choice again
    form.ours["automatic"].setChecked(True)
    form.scope.setCurrentIndex(0)
    dialog.use_button.click()
    desk.until(lambda: "You chose" not in dialog.state.text())
    assert form.choice == "automatic"
    assert desk.heard(Broke) == 1, "the folder without config.json alone"
