"""Presets and the library of prompts, by keyboard alone, in the real window with the real engine; what the model says
is scripted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from app.startup.first_paint import open_window
from app.widgets.prompt.preset_picker import PresetPicker
from app.wiring import WiredWindow
from engine import OwnSampling
from engine.values.config import SpeculationSettings
from engine.values.events import (
    ConversationChanged,
    ConversationsListed,
    Event,
    PresetsListed,
    ReplyFinished,
    TargetReady,
    TargetsListed,
)
from tests.fakes.ear import Ear
from tests.fakes.thinker import Thinker

pytestmark = [
    pytest.mark.starter,  # whose file stands for the target's
    pytest.mark.qt_log_ignore(r"This plugin does not support ((propagateSizeHints|raise)\(\)|grabbing the keyboard)"),
]
_PATIENCE_MS = 60_000
_E = TypeVar("_E", bound=Event)
_KEY = Qt.Key


class Desk:
    def __init__(self, qtbot: QtBot, qapp: QApplication, folder: Path, has_tour: bool = False) -> None:
        self._qtbot = qtbot
        drafting = SpeculationSettings(drafter="none")
        self.app = WiredWindow(open_window(qapp, folder), folder, drafting, has_tour=has_tour)
        self.window = self.app.window
        self._ear = Ear(self.app.bridge)  # after the controllers: what the test hears, the window has heard
        qtbot.addWidget(self.window)
        for kind in (TargetReady, TargetsListed, ConversationsListed, PresetsListed):
            self.until(lambda kind=kind: bool(self.heard(kind)))  # type: ignore[misc]
        self.window.activateWindow()

    def heard(self, kind: type[_E]) -> list[_E]:
        return [event for event in self._ear.events if isinstance(event, kind)]

    def until(self, is_so: Callable[[], bool]) -> None:
        self._qtbot.waitUntil(is_so, timeout=_PATIENCE_MS)

    def next(self, kind: type[_E], act: Callable[[], object]) -> _E:
        QApplication.processEvents()  # what was told before counts as heard
        num_before = len(self.heard(kind))
        act()
        self.until(lambda: len(self.heard(kind)) > num_before)
        return self.heard(kind)[-1]

    @property
    def text(self) -> str:
        return self.window.prompt_box.editor.toPlainText()

    def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.keyClick(self.window.prompt_box.editor, key, modifiers)

    def type(self, text: str) -> None:
        QTest.keyClicks(self.window.prompt_box.editor, text)

    def ask(self, text: str) -> None:
        self.type(text)
        self.next(ReplyFinished, lambda: self.press(_KEY.Key_Return))

    def open_picker(self) -> PresetPicker:
        self.window.activateWindow()
        self.until(self.window.isActiveWindow)
        self.press(_KEY.Key_P, Qt.KeyboardModifier.ControlModifier)
        assert self.app.presets.picker.isVisible()
        return self.app.presets.picker

    def choose_preset(self, digit: str) -> None:
        """Two keys."""
        picker = self.open_picker()
        QTest.keyClicks(picker.view, digit)
        assert not picker.isVisible()

    def close(self) -> None:
        self.window.close()
        self.app.close()


@pytest.fixture
def desk(qtbot: QtBot, qapp: QApplication, thinker: Thinker, tmp_path: Path) -> Iterator[Desk]:  # noqa: ARG001
    desk = Desk(qtbot, qapp, tmp_path / "store")
    yield desk
    desk.close()


def spoken(widget: QWidget) -> str:
    return str(QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name))


def test_a_preset_is_chosen_in_two_keys_changed_and_carried_on(desk: Desk, thinker: Thinker, tmp_path: Path) -> None:
    dialog = desk.app.preset_library.dialog
    desk.window.library_of_presets_action.trigger()
    assert (spoken(dialog.presets.view), spoken(dialog.presets.name)) == ("Presets", "Name")
    QTest.keyClick(dialog.presets.examples_button, _KEY.Key_Space)
    desk.until(lambda: dialog.words.text() == "4 presets added.")
    dialog.presets.examples_button.click()
    desk.until(lambda: dialog.words.text() == "4 are here already.")
    names = [each.name for each in desk.app.presets.presets]
    assert names == ["Brief", "Creative", "Precise", "Programmer"]

    dialog.presets.view.point_at(desk.app.presets.presets[0].id)
    dialog.presets.name.setFocus()
    dialog.presets.name.selectAll()
    QTest.keyClicks(dialog.presets.name, "Curt")
    dialog.presets.thinking.setFocus()
    QTest.keyClicks(dialog.presets.thinking, "Answer")
    dialog.close()  # which may have been stored during a pause in typing
    desk.until(lambda: [(each.name, each.thinks) for each in desk.app.presets.presets[1:2]] == [("Curt", False)])

    desk.choose_preset("2")
    assert not desk.window.prompt_box.think_button.isChecked()
    desk.ask("What is 2 and 2?")
    assert "Answer in at most three sentences." in thinker.text, "the new chat begins with it"
    number = desk.app.conversations.open_id
    assert number is not None
    desk.window.conversation_action.trigger()
    settings = desk.app.chat_settings.dialog
    desk.until(lambda: settings.isVisible() and settings.preset.words == "Preset: Curt")
    assert spoken(settings.preset) == "Preset: Curt"
    settings.system_prompt.setPlainText("Rhyme.")
    desk.until(lambda: settings.preset.words == "No preset")
    settings.reject()

    desk.next(ConversationChanged, lambda: desk.choose_preset("4"))
    desk.ask("And 3 and 1?")
    assert "You are an experienced programmer." in thinker.text
    assert "at most three sentences" not in thinker.text
    desk.next(ConversationChanged, lambda: desk.choose_preset("0"))
    desk.ask("And now?")
    assert "experienced programmer" not in thinker.text, "as in all chats again"

    dialog.presets.view.point_at(desk.app.presets.presets[0].id)
    desk.window.library_of_presets_action.trigger()
    desk.next(PresetsListed, lambda: QTest.keyClick(dialog.presets.view, _KEY.Key_Delete))
    assert [each.name for each in desk.app.presets.presets] == ["Curt", "Precise", "Programmer"]
    desk.next(PresetsListed, lambda: QTest.keyClick(dialog.undo_button, _KEY.Key_Space))
    assert [each.name for each in desk.app.presets.presets] == ["Creative", "Curt", "Precise", "Programmer"]

    path = tmp_path / "presets.json"
    _with_file(dialog.presets.export_button.click, path)
    desk.until(lambda: dialog.words.text() == "Exported to presets.json.")
    written = json.loads(path.read_text("utf-8"))
    assert [each["name"] for each in written["presets"]] == ["Creative", "Curt", "Precise", "Programmer"]
    written["presets"][1]["thinks"] = True
    path.write_text(json.dumps(written), "utf-8")
    _with_file(dialog.presets.import_button.click, path)
    desk.until(lambda: dialog.words.text() == "1 preset added. 3 are here already.")
    assert "Curt (2)" in [each.name for each in desk.app.presets.presets]
    path.write_text("{", "utf-8")
    _with_file(dialog.presets.import_button.click, path)
    desk.until(lambda: "is damaged or is not a preset file" in dialog.words.text())
    dialog.close()


def _with_file(press: Callable[[], object], path: Path) -> None:
    press()
    (chooser,) = (each for each in QApplication.topLevelWidgets() if isinstance(each, QFileDialog) and each.isVisible())
    chooser.fileSelected.emit(str(path))
    chooser.close()


def test_the_settings_of_a_chat_become_a_preset(desk: Desk) -> None:
    window, picker = desk.window, desk.app.presets.picker
    window.conversation_action.trigger()
    settings = desk.app.chat_settings.dialog
    settings.system_prompt.setPlainText("Be kind.")
    settings.rows["temperature"].choose(0.4)
    settings.save_button.click()
    desk.open_picker()
    assert [row.title for row in picker.view.rows.rows] == ["Default settings"]
    QTest.keyClick(picker.save_button, _KEY.Key_Return)
    asked = desk.app.presets.save_dialog
    assert asked.isVisible()
    QTest.keyClicks(asked.name, "Kind")
    saved = desk.next(PresetsListed, lambda: QTest.keyClick(asked.name, _KEY.Key_Return)).presets
    assert [(each.name, each.system_prompt, each.sampling) for each in saved] == [
        ("Kind", "Be kind.", OwnSampling(temperature=0.4))
    ]
    desk.open_picker()
    assert [(row.title, row.tag) for row in picker.view.rows.rows] == [
        ("Default settings", "0"),
        ("Kind", "In use · 1"),
    ]
    picker.close()


def test_a_prompt_is_found_by_a_slash_and_filled_in(desk: Desk, thinker: Thinker) -> None:
    box, menu = desk.window.prompt_box, desk.window.prompt_box.library.menu
    desk.type("/")
    assert menu.isVisible()
    assert [row.title for row in menu.view.rows.rows] == ["Manage prompts…"]
    desk.press(_KEY.Key_Return)
    dialog = desk.app.preset_library.dialog
    assert dialog.isVisible()
    assert dialog.pages.tabText(dialog.pages.currentIndex()) == "Prompts"
    assert desk.text == ""
    desk.next(PresetsListed, lambda: QTest.keyClick(dialog.prompts.examples_button, _KEY.Key_Space))
    desk.next(PresetsListed, lambda: QTest.keyClick(dialog.prompts.new_button, _KEY.Key_Space))
    assert dialog.prompts.name.hasFocus()
    QTest.keyClicks(dialog.prompts.name, "Greet")
    dialog.prompts.text.setFocus()
    dialog.prompts.text.insertPlainText("🙂 ")  # two places of Qt's
    QTest.keyClicks(dialog.prompts.text, "Greet {name} in {language:French}, {name}. Quote {{this}}: {clipboard}")
    desk.next(PresetsListed, dialog.close)
    desk.window.activateWindow()
    box.setFocus()
    QGuiApplication.clipboard().setText("so 🙂")

    desk.type("/gre")
    assert menu.isVisible()
    assert spoken(menu.view) == "Your prompts"
    assert [row.title for row in menu.view.rows.rows] == ["Greet"]
    desk.press(_KEY.Key_Return)
    assert not menu.isVisible()
    assert desk.text == "🙂 Greet {name} in French, {name}. Quote {this}: so 🙂"
    assert box.editor.textCursor().selectedText() == "{name}"
    assert box.hint.text() == "Type “name” · Tab: next · Esc: leave the rest"
    desk.press(_KEY.Key_Return)
    assert "{name}" in desk.text, "nothing is sent while a variable is open"
    desk.type("Ada")
    desk.press(_KEY.Key_Tab)
    assert box.editor.textCursor().selectedText() == "French"
    desk.type("Greek")
    assert desk.text == "🙂 Greet Ada in Greek, Ada. Quote {this}: so 🙂", "one value for one name"
    desk.press(_KEY.Key_Backtab)
    assert box.editor.textCursor().selectedText() == "Ada"
    desk.next(ReplyFinished, lambda: desk.press(_KEY.Key_Return))
    assert "Greet Ada in Greek" in thinker.text

    for path in ("/etc/hosts", "/ what does it mean?"):
        desk.ask(path)
        assert desk.window.transcript.messages[-2].text == path, "what begins with a slash is sent as it is"
    desk.type("/gre")
    desk.press(_KEY.Key_Escape)
    assert not menu.isVisible()
    desk.type("e")
    assert (menu.isVisible(), desk.text) == (False, "/gree")
    desk.next(ReplyFinished, lambda: desk.press(_KEY.Key_Return))
    assert desk.window.transcript.messages[-2].text == "/gree"
