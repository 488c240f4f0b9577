"""The window of settings as a user works with it, on a bridge without an engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QKeyCombination, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QMessageBox, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from app.features.drafter.drafter import DrafterController
from app.features.personalization.personal import PersonalController
from app.features.settings.settings import SettingsController
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings, SettingsFile
from app.settings.declaration import SettingsPage
from app.settings.keeper import SettingsKeeper
from app.theme import ThemeKeeper
from engine import STARTER, ReplySettings, SamplingSettings, TargetSettings, built_in_drafter
from engine.values.events import Event, TargetInfo, TargetReady
from engine.values.orders import Send
from engine.values.targets import LoadOrder
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import Chats


class Desk:
    def __init__(self, qtbot: QtBot, theme: ThemeKeeper, folder: Path, settings: AppSettings) -> None:
        self.window = MainWindow(theme)
        qtbot.addWidget(self.window)
        self.window.show()
        self.bridge = FakeBridge()
        self.keeper = SettingsKeeper(SettingsFile(folder), settings)
        self.chats = Chats(self.window, self.bridge, keeper=self.keeper)
        self.controller = SettingsController(self.window, theme, self.keeper, self.chats.target)

    def open(self) -> None:
        self.window.settings_action.trigger()

    def type(self, name: str, text: str) -> None:
        field = self.controller.dialog.rows[name].control
        assert isinstance(field, QLineEdit)
        field.selectAll()
        QTest.keyClicks(field, text)

    def problem(self, name: str) -> str:
        label = self.controller.dialog.rows[name].problem
        return "" if label.isHidden() else label.text()

    def shown(self) -> list[str]:
        dialog = self.controller.dialog
        rows = [*dialog.rows.items(), *dialog.shortcut_rows.items()]
        return [name for name, row in rows if not row.isHidden()]

    def tell(self, event: Event) -> None:
        self.bridge.tell(event)

    def load(self, name: str = "Tiny") -> None:
        target = TargetInfo(name, "/t.gguf", "llama", 1000, 10, 2)
        self.tell(TargetReady(target, self.bridge.loads[-1]))


@pytest.fixture
def desk(qtbot: QtBot, keeper: ThemeKeeper, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(qtbot, keeper, tmp_path, AppSettings())
    desk.chats.start("starter")
    desk.load()
    yield desk
    desk.keeper.close()


def test_numbers_hold_at_once_and_wrong_ones_never(desk: Desk) -> None:
    desk.open()
    desk.type("temperature", "1.25")
    assert desk.keeper.settings.sampling.temperature == 1.25
    desk.type("temperature", "9")
    assert desk.problem("temperature") == "Choose a number from 0 to 5."
    assert desk.keeper.settings.sampling.temperature == 1.25
    desk.type("temperature", "2")
    assert desk.problem("temperature") == ""
    assert desk.keeper.settings.sampling.temperature == 2


def test_what_only_the_engine_refuses_is_told_at_the_field(desk: Desk) -> None:
    desk.open()
    desk.type("temperature", "0.000001")
    assert desk.problem("temperature") == "Temperature is 1e-06; choose 0 or at least 0.0001."


def test_a_number_that_may_be_missing_says_so(desk: Desk) -> None:
    desk.open()
    desk.type("context_size", "7")
    assert desk.problem("context_size") == "Choose a whole number from 32 to 16,777,216, or nothing for “Automatic”."
    desk.type("context_size", "4096")
    assert desk.keeper.settings.context_size == 4096
    field = desk.controller.dialog.rows["context_size"].control
    assert isinstance(field, QLineEdit)
    field.selectAll()
    QTest.keyClick(field, Qt.Key.Key_Delete)
    assert desk.keeper.settings.context_size is None
    assert field.placeholderText() == "Automatic"


def test_arrow_keys_step(desk: Desk) -> None:
    desk.open()
    field = desk.controller.dialog.rows["top_k"].control
    QTest.keyClick(field, Qt.Key.Key_Up)
    assert desk.keeper.settings.sampling.top_k == 45
    QTest.keyClick(field, Qt.Key.Key_PageDown)
    assert desk.keeper.settings.sampling.top_k == 0


def test_replies_follow_from_the_next_one_on(desk: Desk) -> None:
    desk.open()
    desk.type("top_k", "7")
    desk.type("repetition_penalty", "1.1")
    desk.type("reply_length", "100")
    prompt = desk.controller.dialog.rows["system_prompt"].control
    assert isinstance(prompt, QPlainTextEdit)
    QTest.keyClicks(prompt, "Be kind.")
    desk.controller.dialog.close()  # before the pause after typing is over
    desk.window.prompt_box.set_text("Hello")
    desk.window.prompt_box.submit()
    sampling = SamplingSettings(top_k=7, repetition_penalty=1.1)
    assert desk.bridge.orders[-1] == Send("Hello", None, ReplySettings(sampling, 100), "Be kind.")


def test_the_model_follows_when_it_is_loaded_again(desk: Desk) -> None:
    desk.open()
    dialog = desk.controller.dialog
    assert dialog.loading.isHidden()
    desk.type("threads", "3")
    assert not dialog.loading.isHidden()
    dialog.load_button.click()
    assert desk.bridge.loads[-1] == LoadOrder(STARTER, for_all=TargetSettings(threads=3))
    assert dialog.loading.isHidden()


def test_a_model_that_is_still_being_loaded_begins_anew(desk: Desk) -> None:
    desk.chats.target.load("/other.gguf")
    desk.open()
    desk.type("threads", "3")
    desk.controller.dialog.load_button.click()
    assert desk.bridge.loads[-1] == LoadOrder("/other.gguf", for_all=TargetSettings(threads=3))


def test_reset_of_one_is_offered_only_where_it_differs(desk: Desk) -> None:
    desk.open()
    row = desk.controller.dialog.rows["top_k"]
    assert row.reset_button.isHidden()
    desk.type("top_k", "7")
    assert not row.reset_button.isHidden()
    row.reset_button.click()
    assert desk.keeper.settings.sampling.top_k == AppSettings().sampling.top_k
    assert row.reset_button.isHidden()
    assert isinstance(row.control, QLineEdit)
    assert row.control.text() == "40"


def test_reset_of_all_asks_first(desk: Desk) -> None:
    desk.open()
    desk.type("top_k", "7")
    desk.controller.dialog.reset_all_button.click()
    box = desk.controller.dialog.findChild(QMessageBox)
    assert isinstance(box, QMessageBox)
    assert desk.keeper.settings.sampling.top_k == 7
    next(button for button in box.findChildren(QPushButton) if button.text() == "Reset all").click()
    assert desk.keeper.settings == AppSettings()


def test_the_search_finds_names_and_descriptions_on_all_pages(desk: Desk) -> None:
    desk.open()
    assert "theme" not in desk.shown(), "it is on another page"
    desk.controller.dialog.search.setText("dark light")
    assert desk.shown() == []
    desk.controller.dialog.search.setText("memory")
    assert desk.shown() == ["context_size"], "its description says so"
    desk.controller.dialog.search.setText("TEXT")
    assert {"text_size", "larger", "smaller"} <= set(desk.shown())
    desk.controller.dialog.search.setText("xyzzy")
    assert not desk.controller.dialog.nothing.isHidden()
    desk.controller.dialog.show_page(SettingsPage.APPEARANCE)
    assert desk.shown() == ["theme", "text_size"]


def test_a_page_that_is_pressed_ends_the_search(desk: Desk) -> None:
    desk.open()
    dialog = desk.controller.dialog
    dialog.search.setText("xyzzy")
    item = dialog.pages.item(0)  # the page that was open before
    QTest.mouseClick(dialog.pages.viewport(), Qt.MouseButton.LeftButton, pos=dialog.pages.visualItemRect(item).center())
    assert dialog.search.text() == ""
    assert "notify" in desk.shown()


def test_theme_and_size_change_while_one_looks(desk: Desk, keeper: ThemeKeeper) -> None:
    desk.open()
    choice = desk.controller.dialog.rows["theme"].control
    assert isinstance(choice, QComboBox)
    choice.setCurrentIndex(choice.findData("dark"))
    choice.activated.emit(choice.currentIndex())
    assert keeper.theme.dark
    desk.type("text_size", "150")
    assert keeper.scale == 1.5
    keeper.show_scheme(Qt.ColorScheme.Light)
    assert keeper.theme.dark, "the system is not followed"


def test_keys_change_the_size(desk: Desk, keeper: ThemeKeeper) -> None:
    for _ in range(12):
        desk.window.larger_action.trigger()
    assert keeper.scale == 2
    desk.window.smaller_action.trigger()
    assert desk.keeper.settings.text_size == 190
    desk.window.usual_size_action.trigger()
    assert keeper.scale == 1


def test_the_key_that_sends(desk: Desk) -> None:
    desk.open()
    choice = desk.controller.dialog.rows["send_with"].control
    assert isinstance(choice, QComboBox)
    choice.setCurrentIndex(1)
    choice.activated.emit(1)
    assert desk.window.prompt_box.sends_with_ctrl
    editor = desk.window.prompt_box.editor
    QTest.keyClicks(editor, "a")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    QTest.keyClicks(editor, "b")
    assert desk.window.prompt_box.text == "a\nb"
    QTest.keyClick(editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert isinstance(desk.bridge.orders[-1], Send)


def press(desk: Desk, name: str, key: Qt.Key, modifiers: Qt.KeyboardModifier) -> None:
    field = desk.controller.dialog.shortcut_rows[name].field
    field.click()
    assert field.text() == "Press keys…"
    QTest.keyClick(field, key, modifiers)


def test_keys_are_pressed_to_be_chosen(desk: Desk) -> None:
    desk.window.shortcut_settings_requested.emit()
    control_shift = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    press(desk, "about", Qt.Key.Key_Y, control_shift)
    assert desk.window.about_action.shortcut() == QKeySequence(QKeyCombination(control_shift, Qt.Key.Key_Y))
    assert desk.keeper.settings.shortcuts == {"about": "Ctrl+Shift+Y"}
    row = desk.controller.dialog.shortcut_rows["about"]
    row.reset_button.click()
    assert desk.keeper.settings.shortcuts == {}


def test_escape_leaves_keys_and_backspace_takes_them(desk: Desk) -> None:
    desk.window.shortcut_settings_requested.emit()
    press(desk, "new", Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier)
    assert desk.keeper.settings.shortcuts == {}
    assert desk.controller.dialog.isVisible(), "Escape was the field's"
    press(desk, "new", Qt.Key.Key_Backspace, Qt.KeyboardModifier.NoModifier)
    assert desk.keeper.settings.shortcuts == {"new": ""}
    assert desk.controller.dialog.shortcut_rows["new"].field.text() == "None"


def test_keys_of_another_action_can_be_swapped(desk: Desk) -> None:
    desk.window.shortcut_settings_requested.emit()
    press(desk, "new", Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    row = desk.controller.dialog.shortcut_rows["new"]
    assert row.problem.text() == "Ctrl+B is already used for “Show or hide the sidebar”."
    assert desk.keeper.settings.shortcuts == {}
    row.swap_button.click()
    assert desk.keeper.settings.shortcuts == {"new": "Ctrl+B", "sidebar": "Ctrl+N"}
    assert row.swap_button.isHidden()


def test_keys_that_write_are_refused_without_a_swap(desk: Desk) -> None:
    desk.window.shortcut_settings_requested.emit()
    press(desk, "new", Qt.Key.Key_X, Qt.KeyboardModifier.NoModifier)
    row = desk.controller.dialog.shortcut_rows["new"]
    assert "is needed for typing" in row.problem.text()
    assert row.swap_button.isHidden()


def test_kept_settings_hold_from_the_start(qtbot: QtBot, keeper: ThemeKeeper, tmp_path: Path) -> None:
    settings = AppSettings(send_with="ctrl+enter", shortcuts={"new": "Ctrl+J", "about": "x"})
    desk = Desk(qtbot, keeper, tmp_path, settings)
    assert desk.window.prompt_box.sends_with_ctrl
    assert desk.window.new_action.shortcut() == QKeySequence("Ctrl+J")
    assert "About Slipstream" in desk.window.toasts.shown[0].words.text()
    assert desk.keeper.settings.shortcuts == {"new": "Ctrl+J"}, "told once only"
    desk.keeper.close()


def test_switches_switch(desk: Desk) -> None:
    desk.open()
    switch = desk.controller.dialog.rows["open_last_chat"].control
    assert isinstance(switch, QCheckBox)
    QTest.keyClick(switch, Qt.Key.Key_Space)
    assert desk.keeper.settings.open_last_chat


def test_other_windows_are_one_press_away(qtbot: QtBot, desk: Desk) -> None:
    desk.open()
    desk.controller.dialog.search.setText("learn")
    link = next(
        button
        for button in desk.controller.dialog.findChildren(QPushButton)
        if button.accessibleName() == "Personalization…" and button.isVisible()
    )
    with qtbot.waitSignal(desk.window.personal_action.triggered):
        link.click()


# What the app remembers by itself


def test_what_was_chosen_is_on_the_disk_before_the_app_is_closed(
    qtbot: QtBot, keeper: ThemeKeeper, tmp_path: Path
) -> None:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    bridge = FakeBridge()
    settings = SettingsKeeper(SettingsFile(tmp_path), AppSettings(sampling=SamplingSettings(temperature=0.3)))
    Chats(window, bridge, keeper=settings)
    drafters = DrafterController(window, bridge, settings)
    personal = PersonalController(window, bridge, settings)

    window.target_bar.target_chosen.emit("/models/x.gguf")
    info = TargetInfo("x", "/models/x.gguf", "llama", 1000, 10, 2, identity="file:1")
    bridge.tell(TargetReady(info, bridge.loads[-1]))
    QTest.keyClick(personal.dialog.learning.on_battery, Qt.Key.Key_Space)

    def kept() -> AppSettings:
        return SettingsFile(tmp_path).load()[0]

    qtbot.waitUntil(lambda: kept().learning_on_battery)
    assert (kept().target, kept().sampling.temperature) == ("/models/x.gguf", 0.3)
    assert kept().target_identity == "file:1"
    window.starter_action.trigger()
    bridge.tell(TargetReady(replace(info, path="/models/smol.gguf", identity="file:2"), bridge.loads[-1]))
    drafters.dialog.chosen.emit(str(built_in_drafter()), False)
    bridge.asked(bridge.engine.inspector.check_drafter)[-1].answer()
    settings.close()
    assert (kept().target, kept().target_identity) == (STARTER, "")
    assert kept().drafter == str(built_in_drafter())
