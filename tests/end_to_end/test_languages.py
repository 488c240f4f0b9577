"""Another language is chosen in the middle of a reply, in the window as it is put together for users."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox
from pytestqt.qtbot import QtBot

from app.controllers.language import LanguageController
from app.settings.app_settings import AppSettings, SettingsFile
from app.startup.first_paint import open_window
from app.text.languages import ENGLISH, language_named
from app.text.numbers import use_locale
from app.text.translation import Translators
from app.wiring import WiredWindow
from engine.config import SpeculationSettings
from engine.messages.events import Event, Failed, ReplyFinished, ReplyText, TargetReady
from tests.fakes.ear import Ear
from tests.translations.collecting import collected
from tests.translations.pseudo import write_pseudo

pytestmark = [
    pytest.mark.starter,
    pytest.mark.qt_log_ignore(r"This plugin does not support ((propagateSizeHints|raise)\(\)|grabbing the keyboard)"),
]
_PATIENCE_MS = 60_000
_E = TypeVar("_E", bound=Event)
GERMAN = language_named("de") or ENGLISH


class Desk:
    def __init__(self, qtbot: QtBot, qapp: QApplication, folder: Path, translators: Translators) -> None:
        self._qtbot = qtbot
        self.app = WiredWindow(open_window(qapp, folder), folder, SpeculationSettings())
        self.window = self.app.window
        LanguageController(self.window, self.app.keeper, translators)
        self._ear = Ear(self.app.bridge)
        qtbot.addWidget(self.window)
        self.until(lambda: bool(self.heard(TargetReady)))

    def heard(self, kind: type[_E]) -> list[_E]:
        return [event for event in self._ear.events if isinstance(event, kind)]

    def until(self, is_so: Callable[[], bool]) -> None:
        self._qtbot.waitUntil(is_so, timeout=_PATIENCE_MS)

    def choose_language(self, code: str) -> None:
        """By keyboard: Home, and down to it."""
        self.window.settings_action.trigger()
        choice = self.app.settings.dialog.rows["language"].control
        assert isinstance(choice, QComboBox)
        choice.setFocus()
        QTest.keyClick(choice, Qt.Key.Key_Home)
        for _ in range(choice.findData(code)):
            QTest.keyClick(choice, Qt.Key.Key_Down)
        self.app.settings.dialog.close()


@pytest.fixture
def desk(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> Iterator[Desk]:
    SettingsFile(tmp_path).save(AppSettings(has_chatted=True, learning=False, reply_length=40))
    write_pseudo(GERMAN, collected(), tmp_path / "translations")
    translators = Translators(qapp, tmp_path / "translations")
    translators.speak(ENGLISH)
    desk = Desk(qtbot, qapp, tmp_path, translators)
    yield desk
    desk.window.close()
    desk.app.close()
    translators.remove()
    use_locale(ENGLISH.locale)


def test_the_window_speaks_another_language_and_the_reply_goes_on(desk: Desk) -> None:
    assert desk.window.new_action.text() == "New chat"
    QTest.keyClicks(desk.window.prompt_box.editor, "Tell me a story about a boat.")
    QTest.keyClick(desk.window.prompt_box.editor, Qt.Key.Key_Return)
    desk.until(lambda: bool(desk.heard(ReplyText)))
    desk.choose_language("de")
    assert desk.window.new_action.text() == "⟦Nééw cháát⟧"
    assert desk.app.keeper.settings.language == "de"
    desk.until(lambda: bool(desk.heard(ReplyFinished)))
    prompt, reply = desk.window.transcript.messages
    assert prompt.text == "Tell me a story about a boat."
    assert reply.text

    desk.app.target.load("/nowhere/a.gguf")
    desk.until(lambda: bool(desk.heard(Failed)))
    sentence = desk.heard(Failed)[-1].sentence
    assert "⟦" in sentence, "the engine's sentences, too"
    assert "a.gguf" in sentence

    desk.choose_language("en")
    assert desk.window.new_action.text() == "New chat"
    assert desk.app.settings.dialog.windowTitle() == "Settings"
