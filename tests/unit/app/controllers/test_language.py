"""Another language is chosen in the settings, while the window is in use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PySide6.QtGui import QAction, QFontDatabase
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QComboBox, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from app.controllers.language import LanguageController
from app.controllers.settings import SettingsController
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings, SettingsFile
from app.settings.keeper import SettingsKeeper
from app.text.languages import ENGLISH, language_named
from app.text.numbers import use_locale
from app.text.translation import Translators, told
from app.theme import ThemeKeeper
from engine.messages.commands import ListTargets
from engine.messages.conversations import Message, Role
from engine.messages.events import Failed
from engine.sentences import say
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import Chats
from tests.translations.collecting import collected
from tests.translations.pseudo import write_pseudo

GERMAN = language_named("de") or ENGLISH
NAMES = {"Slipstream", "%", "s", "<b></b>", "Words of mine", *("English", "Deutsch", "Español", "Français")}
KEYS = re.compile(r"(?:(?:Ctrl|Shift|Strg|Umschalt)\+\S+|F\d+|[\s,]|Esc)+")
READ = ("text", "toolTip", "placeholderText", "windowTitle", "accessibleName", "accessibleDescription")


@pytest.fixture(scope="module")
def translations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("translations")
    write_pseudo(GERMAN, collected(), folder)
    return folder


class Desk:
    def __init__(self, qtbot: QtBot, theme: ThemeKeeper, folder: Path, translators: Translators) -> None:
        self.window = MainWindow(theme)
        qtbot.addWidget(self.window)
        self.window.show()
        self.keeper = SettingsKeeper(SettingsFile(folder), AppSettings())
        self.chats = Chats(self.window, FakeBridge(), keeper=self.keeper)
        self.settings = SettingsController(self.window, theme, self.keeper, self.chats.target)
        self.controller = LanguageController(self.window, self.keeper, translators)
        self.window.settings_action.trigger()

    def choose(self, code: str) -> None:
        choice = self.settings.dialog.rows["language"].control
        assert isinstance(choice, QComboBox)
        choice.setCurrentIndex(choice.findData(code))
        choice.activated.emit(choice.currentIndex())

    def texts(self) -> dict[tuple[int, str], str]:
        found = {}
        for widget in (self.window, *self.window.findChildren(QWidget)):
            for name in READ:
                read = getattr(widget, name, None)
                if callable(read) and not (isinstance(widget, QLineEdit | QAbstractSpinBox) and name == "text"):
                    found[id(widget), name] = str(read())
        return found


@pytest.fixture
def desk(qtbot: QtBot, qapp: QApplication, keeper: ThemeKeeper, tmp_path: Path, translations: Path) -> Iterator[Desk]:
    translators = Translators(qapp, translations)
    translators.speak(ENGLISH)
    desk = Desk(qtbot, keeper, tmp_path, translators)
    yield desk
    desk.keeper.close()
    translators.remove()
    use_locale(ENGLISH.locale)


def test_another_language_is_spoken_at_once_and_nothing_is_lost(desk: Desk) -> None:
    desk.window.prompt_box.set_text("Words of mine")
    desk.window.transcript.show_messages((Message(1, 1, None, Role.USER, "Save", datetime.now(UTC)),))
    before = desk.texts()
    desk.choose("de")
    translated = desk.texts()
    left = {text for text in translated.values() if any(map(str.isalpha, text)) and "⟦" not in text} - NAMES
    assert not {each for each in left if each.isascii() and not KEYS.fullmatch(each)}, "nothing stays in English"
    assert desk.window.prompt_box.text == "Words of mine"
    assert desk.window.transcript.messages[0].text == "Save", "what somebody wrote stays as it is"
    assert desk.window.new_action.text().startswith("⟦")
    desk.choose("en")
    again = desk.texts()
    differing = [(text, again[key]) for key, text in before.items() if again[key] != text]
    assert all(one.casefold() == other.casefold() for one, other in differing), "⟦ has no capital"


def test_what_comes_next_is_in_the_new_language(desk: Desk) -> None:
    desk.choose("de")
    failed = told(Failed(say("{name} is cut short; download it again.", name="a.gguf"), ListTargets()))
    assert failed.sentence.startswith("a.gguf ⟦") or failed.sentence.startswith("⟦a.gguf")
    desk.choose("system")
    assert desk.keeper.settings.language == "system"


def test_a_hint_that_is_shortened_later_is_in_the_new_language(desk: Desk) -> None:
    box = desk.window.prompt_box
    box.set_target_name("Small")
    desk.choose("de")
    box.resize(box.width() - 100, box.height())
    assert box.editor.placeholderText().startswith("⟦")


def test_an_action_of_a_controller_follows_too(desk: Desk) -> None:
    action = QAction("Save", desk.controller)
    desk.choose("de")
    assert action.text().startswith("⟦")


@pytest.mark.parametrize(("families", "is_told"), [([], True), (["Noto Sans CJK JP"], False)])
def test_a_missing_font_is_named(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, families: list[str], is_told: bool
) -> None:
    monkeypatch.setattr(QFontDatabase, "families", lambda _letters: families)
    desk.choose("ja")
    told = [toast.words.text() for toast in desk.window.toasts.shown]
    assert any("fonts-noto-cjk" in text for text in told) == is_told
