"""The dialog of presets and prompts, on a bridge without an engine: what is typed is saved, and deletions come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from app.features.chat.conversation_dialog import ConversationDialog
from app.features.presets import kept_page
from app.features.presets.preset_library import PresetLibraryController
from app.features.presets.presets_dialog import PresetsDialog
from app.main_window import MainWindow
from app.text.preset_examples import example_presets, example_prompts
from app.theme import ThemeKeeper
from engine import OwnSampling
from engine.values.events import EverythingForgotten, PresetsListed, TargetsListed
from engine.values.order import AddedPresets, LibraryPrompt, Preset, TargetChoice
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import Chats
from tests.unit.app.library_samples import TARGETS

BRIEF = Preset(1, "Brief", "Be brief.", OwnSampling(temperature=0.2), None, TargetChoice("Gone", "file:gone"))
COOL = Preset(2, "Cool")
SUM = LibraryPrompt(1, "Sum up", "Sum up {text}")


class Desk:
    def __init__(self, window: MainWindow, theme: ThemeKeeper) -> None:
        self.window, self.bridge = window, FakeBridge()
        chats = Chats(window, self.bridge)
        self.target = chats.target
        self.controller = PresetLibraryController(window, theme, self.bridge, chats.chat, chats.target)
        self.bridge.tell(PresetsListed((BRIEF, COOL), (SUM,)))
        window.library_of_presets_action.trigger()
        self.take()

    @property
    def dialog(self) -> PresetsDialog:
        return self.controller.dialog

    def take(self) -> list[tuple[object, ...]]:
        """The names of methods that were asked for, with their arguments."""
        asked = [(each.method.name, *each.args) for each in self.bridge.all_asked]
        self.bridge.all_asked.clear()
        return asked


@pytest.fixture
def desk(window: MainWindow, keeper: ThemeKeeper) -> Desk:
    return Desk(window, keeper)


def with_file(press: Callable[[], object], path: Path) -> None:
    press()
    (chooser,) = (each for each in QApplication.topLevelWidgets() if isinstance(each, QFileDialog) and each.isVisible())
    chooser.fileSelected.emit(str(path))
    chooser.close()


def test_what_is_typed_is_saved_after_a_pause(desk: Desk, qtbot: QtBot) -> None:
    assert kept_page._PAUSE_MS < 1_000
    page = desk.dialog.presets
    page._pause.setInterval(0)
    page.name.setFocus()
    page.name.selectAll()
    QTest.keyClicks(page.name, "Curt")
    qtbot.waitUntil(lambda: bool(desk.bridge.all_asked))
    assert desk.take() == [("save_preset", replace(BRIEF, name="Curt"))]
    desk.bridge.tell(PresetsListed((COOL, replace(BRIEF, name="Curt (2)")), (SUM,)))
    assert page.name.text() == "Curt", "who types is not disturbed"
    page.system_prompt.setFocus()
    assert page.view.current_key == BRIEF.id
    QTest.keyClicks(page.system_prompt, "So ")
    page.view.point_at(COOL.id)
    assert desk.take() == [("save_preset", replace(BRIEF, name="Curt", system_prompt="So Be brief."))]
    assert page.name.text() == "Cool"
    assert not page.system_prompt.isVisible()
    desk.dialog.close()
    assert desk.take() == [], "nothing was changed"


def test_closing_the_window_saves_what_was_typed_last(desk: Desk) -> None:
    desk.dialog.presets.name.setText("Curt")
    desk.window.closing.emit()
    assert desk.take() == [("save_preset", replace(BRIEF, name="Curt"))]


def test_every_part_of_a_preset_can_be_set_and_left_out(desk: Desk) -> None:
    desk.target.library = TARGETS
    desk.bridge.tell(TargetsListed(TARGETS))
    page = desk.dialog.presets
    assert page.model.currentText() == "Gone (not in the library)"
    page.has_prompt.click()
    without = replace(BRIEF, system_prompt=None)
    assert desk.take() == [("save_preset", without)]
    page.thinking.setCurrentIndex(1)
    page.thinking.activated.emit(1)
    page.model.setCurrentIndex(page.model.findText("qwen2.5-7b"))
    page.model.activated.emit(2)
    thinking = replace(without, thinks=True)
    assert desk.take() == [
        ("save_preset", thinking),
        ("save_preset", replace(thinking, target=TargetChoice("qwen2.5-7b"))),
    ]
    page.model.setCurrentIndex(0)
    page.model.activated.emit(0)
    assert desk.take() == [("save_preset", replace(thinking, target=None))]
    page.name.setText("  ")
    page.flush()
    assert desk.take() == [], "a preset keeps its name if it is given none"


def test_how_it_answers_is_set_where_chats_have_it(desk: Desk) -> None:
    page = desk.dialog.presets
    assert page.sampling.text() == "Temperature 0.2"
    page.sampling_button.click()
    (dialog,) = (each for each in desk.dialog.findChildren(ConversationDialog) if each.isVisible())
    assert not dialog.system_prompt.isVisible()
    assert dialog.rows["temperature"].value.value() == 0.2
    dialog.rows["top_k"].choose(3)
    dialog.texts["grammar"].show_text("{}")
    dialog.save_button.click()
    (check,) = desk.bridge.asked(desk.bridge.engine.files.check_grammar)
    assert desk.take() == [("check_grammar", "{}")]
    check.answer("")
    assert not dialog.isVisible()
    assert desk.take() == [
        ("save_preset", replace(BRIEF, sampling=OwnSampling(temperature=0.2, top_k=3, grammar="{}")))
    ]
    assert page.sampling.text() == "Temperature 0.2 · Top-k 3 · Reply format"


def test_a_new_one_is_named_at_once(desk: Desk) -> None:
    prompts = desk.dialog.prompts
    desk.window.prompt_box.library.manage_requested.emit()
    assert prompts.isVisible()
    prompts.new_button.click()
    new = LibraryPrompt(0, "New prompt", "")
    assert desk.take() == [("save_prompt", new)]
    desk.bridge.tell(PresetsListed((BRIEF, COOL), (replace(new, id=5), SUM)))
    assert prompts.view.current_key == 5
    assert prompts.name.hasFocus()
    assert prompts.name.selectedText() == "New prompt"
    prompts.text.setPlainText("Say {this}")
    prompts.flush()
    assert desk.take() == [("save_prompt", LibraryPrompt(5, "New prompt", "Say {this}"))]


def test_what_is_deleted_comes_back_with_undo(desk: Desk) -> None:
    page = desk.dialog.presets
    QTest.keyClick(page.view, Qt.Key.Key_Delete)
    assert desk.take() == [("delete_preset", 1)]
    assert desk.dialog.words.text() == "The preset “Brief” was deleted."
    desk.bridge.tell(PresetsListed((COOL,), (SUM,)))
    assert page.name.text() == "Cool", "the next one is shown"
    desk.dialog.undo_button.click()
    assert desk.take() == [("save_preset", BRIEF)]
    assert not desk.dialog.status.isVisible()
    desk.controller.open_prompts()
    desk.dialog.prompts.delete_button.click()
    assert desk.take() == [("delete_prompt", 1)]
    desk.bridge.tell(PresetsListed((BRIEF, COOL), ()))
    assert desk.dialog.prompts.none.isVisible()
    assert not desk.dialog.prompts.export_button.isEnabled()
    desk.bridge.tell(EverythingForgotten())
    assert not desk.dialog.undo_button.isVisible(), "what is forgotten stays so"


def test_files_are_asked_for_and_outcomes_told(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with_file(desk.dialog.presets.export_button.click, path)
    with_file(desk.dialog.prompts.export_button.click, path)
    with_file(desk.dialog.presets.import_button.click, path)
    with_file(desk.dialog.prompts.import_button.click, path)
    export, other, imported, again = desk.bridge.all_asked
    assert export.kwargs == other.kwargs == {"overwrite": True}
    assert desk.take() == [
        ("export_presets", path, (BRIEF, COOL), ()),
        ("export_presets", path, (), (SUM,)),
        *[("import_presets", path)] * 2,
    ]
    export.answer()
    assert desk.dialog.words.text() == "Exported to a.json."
    imported.answer(AddedPresets(2, 1, 1, 3))
    assert desk.dialog.words.text() == (
        "2 presets added. 1 prompt added. 1 is here already. 3 could not be read and were skipped."
    )
    again.fail("a.json is damaged.")
    assert desk.dialog.words.text() == "a.json is damaged."
    assert desk.dialog.status.property("level") == "error"


def test_examples_come_only_when_asked_for(desk: Desk) -> None:
    desk.dialog.presets.examples_button.click()
    desk.dialog.prompts.examples_button.click()
    assert desk.take() == [("add", example_presets(), ()), ("add", (), example_prompts())]
