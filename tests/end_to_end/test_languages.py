"""Another language is chosen beside a chat with real replies, in the window as it is put together for users."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox
from pytestqt.qtbot import QtBot

from app.language_change import LanguageChange
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings, SettingsFile
from app.startup.first_paint import open_window
from app.text.languages import ENGLISH
from app.text.translation import Translators
from app.wiring import WiredWindow
from engine.values.config import SpeculationSettings
from engine.values.events import Event, ReplyFinished, TargetReady, TargetRefused
from tests.fakes.ear import Ear, Grew

pytestmark = [
    pytest.mark.starter,
    pytest.mark.qt_log_ignore(r"This plugin does not support ((propagateSizeHints|raise)\(\)|grabbing the keyboard)"),
]
_PATIENCE_MS = 60_000
_E = TypeVar("_E", bound=Event)


class Desk:
    def __init__(self, qtbot: QtBot, qapp: QApplication, folder: Path, translators: Translators) -> None:
        self._qtbot = qtbot
        self.app = WiredWindow(open_window(qapp, folder), folder, SpeculationSettings())
        LanguageChange(self.app, translators)
        self._ear = Ear(self.app.bridge)
        self.until(lambda: bool(self.heard(TargetReady)))

    @property
    def window(self) -> MainWindow:
        return self.app.window

    def heard(self, kind: type[_E]) -> list[_E]:
        return [event for event in self._ear.events if isinstance(event, kind)]

    def until(self, is_so: Callable[[], bool]) -> None:
        self._qtbot.waitUntil(is_so, timeout=_PATIENCE_MS)

    def ask(self, prompt: str) -> None:
        QTest.keyClicks(self.window.prompt_box.editor, prompt)
        QTest.keyClick(self.window.prompt_box.editor, Qt.Key.Key_Return)

    def choose_language(self, code: str) -> None:
        """By keyboard: Home, and down to it."""
        self.window.settings_action.trigger()
        choice = self.app.settings.dialog.rows["language"].control
        assert isinstance(choice, QComboBox)
        choice.setFocus()
        QTest.keyClick(choice, Qt.Key.Key_Home)
        for _ in range(choice.findData(code)):
            QTest.keyClick(choice, Qt.Key.Key_Down)


@pytest.fixture
def desk(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> Iterator[Desk]:
    SettingsFile(tmp_path).save(AppSettings(has_chatted=True, learning=False, reply_length=40))
    translators = Translators(qapp)
    translators.speak(ENGLISH)
    desk = Desk(qtbot, qapp, tmp_path, translators)
    yield desk
    desk.window.close()
    desk.app.close()
    desk.window.deleteLater()
    translators.speak(ENGLISH)
    translators.remove()


def test_the_language_changes_after_the_reply_and_the_chat_goes_on(desk: Desk) -> None:
    english = desk.window
    desk.ask("Tell me a story about a boat.")
    desk.until(lambda: bool(desk.heard(Grew)))
    QTest.keyClicks(desk.window.prompt_box.editor, "And then?")
    desk.choose_language("de")
    desk.until(lambda: "current task" in desk.app.settings.dialog.rows["language"].problem.text())
    assert not desk.heard(ReplyFinished)
    desk.until(lambda: desk.window is not english)
    assert desk.window.new_action.text() == "Neuer Chat"
    (finished,) = desk.heard(ReplyFinished)
    prompt, reply = desk.window.transcript.messages
    assert (prompt.text, reply) == ("Tell me a story about a boat.", finished.message)
    assert desk.window.prompt_box.text == "And then?"
    assert desk.window.meter.headline.text()
    assert desk.app.target.in_use is not None

    QTest.keyClick(desk.window.prompt_box.editor, Qt.Key.Key_Return)
    desk.until(lambda: len(desk.heard(ReplyFinished)) == 2)
    assert len(desk.heard(TargetReady)) == 1, "the model stayed loaded"
    assert len(desk.window.transcript.messages) == 4
    assert desk.window.meter.headline.text()
    assert [each.id for each in desk.window.conversations.model.summaries] == [reply.conversation_id]

    desk.app.target.load("/nowhere/a.gguf")
    # Two threads find the file missing, in either order.
    desk.until(lambda: any("gibt es nicht" in refused.sentence for refused in desk.heard(TargetRefused)))
    desk.window.toasts.clear()

    german = desk.window
    desk.choose_language("en")
    desk.until(lambda: desk.window is not german)
    assert desk.window.new_action.text() == "New chat"
    assert len(desk.window.transcript.messages) == 4
