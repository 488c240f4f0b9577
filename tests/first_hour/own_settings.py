"""What a chat has of its own: settings, a schema, banned words, presets; and prompts that are kept."""

from __future__ import annotations

import json

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QTabBar

from app.features.chat.conversation_dialog import ConversationDialog
from tests.first_hour.person import Person, few_clicks

_CTRL = Qt.KeyboardModifier.ControlModifier
_SCHEMA = '{"type": "object", "properties": {"age": {"type": "integer", "maximum": 99}}, "required": ["age"]}'


def open_chat_settings(person: Person) -> ConversationDialog:
    with few_clicks(person, 1):
        person.click(person.window.target_bar.chat_settings)
    person.until(person.app.chat_settings.dialog.isVisible, "the settings of the chat are open")
    return person.app.chat_settings.dialog


def the_settings_of_a_chat_are_one_click_away(person: Person) -> None:
    person.new_chat()
    person.ask("Say hello.")
    dialog = open_chat_settings(person)
    person.click(dialog.shorter_button)
    assert "briefly" in dialog.system_prompt.toPlainText()
    person.click(dialog.save_button)
    person.until(lambda: not dialog.isVisible(), "they are saved")


def replies_follow_a_schema_and_a_sign_says_so(person: Person) -> None:
    dialog = open_chat_settings(person)
    if not dialog.more.button.isChecked():
        person.click(dialog.more.button)
    _write(dialog.texts["grammar"].field, _SCHEMA)
    person.click(dialog.save_button)
    person.until(lambda: not dialog.isVisible(), "they are saved")
    reply = person.ask("How old is the cat?")
    assert json.loads(reply.text).keys() == {"age"}
    person.click(person.window.signs.form)
    person.until(dialog.isVisible, "the sign leads to the settings")


def banned_words_have_a_sign(person: Person) -> None:
    dialog = open_chat_settings(person)
    if not dialog.more.button.isChecked():
        person.click(dialog.more.button)
    _write(dialog.texts["grammar"].field, "")
    field = next(text.field for name, text in dialog.texts.items() if "ban" in name)
    _write(field, "cat")
    person.click(dialog.save_button)
    person.until(lambda: not dialog.isVisible(), "they are saved")
    person.until(person.window.signs.banned.isVisible, "the sign is there")
    assert not person.window.signs.form.isVisible()
    assert "cat" not in person.ask("What animal says miaow?").text


def _write(field: QPlainTextEdit, text: str) -> None:
    field.setFocus()
    field.selectAll()
    QTest.keyClick(field, Qt.Key.Key_Delete)
    QTest.keyClicks(field, text)


def settings_are_kept_as_a_preset_and_have_a_sign(person: Person) -> None:
    person.choose("Choose a preset")
    person.press("Save this chat's settings as a preset…")
    dialog = person.dialog("Save as a preset")
    name = person.see("Name of the preset", QLineEdit)
    person.type_into(name, "No cats")
    person.press("Save")
    person.until(lambda: not dialog.isVisible(), "it is saved")
    person.until(person.window.signs.preset.isVisible, "the sign is there")
    assert "No cats" in person.window.signs.preset.toolTip()


def a_preset_is_chosen_by_its_digit(person: Person) -> None:
    person.new_chat()
    QTest.keyClick(person.window, Qt.Key.Key_P, _CTRL)
    person.until(person.app.presets.picker.isVisible, "presets are offered")
    QTest.keyClick(person.app.presets.picker.view, Qt.Key.Key_1)
    person.see("Undo")
    person.until(person.window.signs.preset.isVisible, "the sign is there")
    person.press("Undo")
    person.until(lambda: not person.window.signs.preset.isVisible(), "the chat is as before")


def prompts_are_kept_and_found_by_a_slash(person: Person) -> None:
    person.choose("Presets and prompts…")
    dialog = person.app.preset_library.dialog
    bar = dialog.findChild(QTabBar)
    assert bar is not None
    QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=bar.tabRect(1).center())
    person.click(dialog.prompts.examples_button)
    person.until(lambda: len(dialog.prompts.prompts) > 1, "there are prompts")
    person.press("Close")
    editor = person.window.prompt_box.editor
    person.click(editor.viewport())
    QTest.keyClicks(editor, "/")
    person.until(person.window.prompt_box.library.menu.isVisible, "prompts are offered")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert len(person.window.prompt_box.text) > 1
    editor.selectAll()
    QTest.keyClick(editor, Qt.Key.Key_Delete)
