"""Models, settings of a chat, personalization, figures, documents, the server, tools and help."""

from __future__ import annotations

import json
import urllib.request
from threading import Event, Thread

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QTabBar

from app.crash.watch import log_file
from app.dialogs.conversation_dialog import ConversationDialog
from app.dialogs.guide_dialog import GuideDialog
from app.widgets.row_view import Waiting
from engine.messages.conversations import Role
from tests.first_hour.person import Person, few_clicks, said_in
from tests.first_hour.replies import ANIMALS, COLOURS

SECOND = "Second-model"  # beside the starter
_CTRL = Qt.KeyboardModifier.ControlModifier
_SCHEMA = '{"type": "object", "properties": {"age": {"type": "integer", "maximum": 99}}, "required": ["age"]}'


# Models


def a_model_file_is_added(person: Person) -> None:
    person.with_file(lambda: person.choose("Open a model file…"), person.folder / f"{SECOND}.gguf")
    person.until(lambda: _in_use(person) == SECOND, f"{SECOND} is in use")


def the_model_is_switched_in_two_clicks(person: Person) -> None:
    picker = person.window.target_bar.picker
    with few_clicks(person, 2):
        person.click(person.window.target_bar.name)
        starter = next(row.title for row in picker.view.rows.rows if row.title != SECOND)
        person.pick_row(picker.view, starter)
    person.until(lambda: _in_use(person) not in ("", SECOND), "the starter is in use")


def _in_use(person: Person) -> str:
    """As the window says, once it is loaded."""
    in_use = person.app.target.in_use
    name = person.window.target_bar.name.text()
    return name if in_use is not None and in_use.name == name else ""


def the_library_lists_both_models(person: Person) -> None:
    person.choose("Library…")
    assert person.app.library is not None
    dialog = person.app.library.dialog
    person.until(dialog.isVisible, "the library is open")
    titles = [row.title for row in dialog.library.view.rows.rows]
    assert SECOND in titles
    assert len(titles) == 2


def find_models_says_which_suit_this_computer(person: Person) -> None:
    person.choose("Find models…")
    assert person.app.library is not None
    suggestions = person.app.library.dialog.hub.suggestions
    person.until(lambda: suggestions.isVisible() and suggestions.view.rows.rowCount() > 0, "models are suggested")


def the_drafter_is_named(person: Person) -> None:
    person.choose("Drafter…")
    person.dialog("Drafter")


# Settings of a chat


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


# What was learned


def personalization_names_the_model_and_counts(person: Person) -> None:
    person.choose("Personalization…")
    page = person.app.personal.dialog.learned
    person.until(lambda: bool(page.cards), "a model is named")
    said = " ".join(said_in(person.app.personal.dialog))
    assert "SmolLM2" in said
    assert "chats" in said


def a_profile_is_exported_in_three_clicks(person: Person) -> None:
    with few_clicks(person, 3):
        person.choose("Personalization…")
        person.with_file(lambda: person.press("Export a profile"), person.folder / "mine.slipstream")
    person.until(lambda: any(person.folder.glob("mine*")), "the profile is written")


def the_preview_of_an_import_names_the_model(person: Person) -> None:
    (file,) = person.folder.glob("mine*")
    person.choose("Personalization…")
    person.with_file(lambda: person.press("Import a profile"), file)
    page = person.app.personal.dialog.profile
    person.until(page.preview.isVisible, "what is inside is shown")
    told = " ".join((page.headline.text(), page.contents.text(), page.misfits.text()))
    assert "SmolLM2" in told, told
    person.press("Cancel")


def forgetting_asks_first(person: Person) -> None:
    person.choose("Personalization…")
    dialog = person.app.personal.dialog
    bar = dialog.findChild(QTabBar)
    assert bar is not None
    person.click(bar, bar.tabRect(3).center())
    person.click(dialog.forget.learned_button)
    person.press("Cancel")
    assert person.app.personal.dialog.isVisible()


# Figures


def the_speed_window_has_its_title_bar_on_the_screen(person: Person) -> None:
    person.choose("Speed…")
    page = person.dialog("Speed")
    person.rest(0.2)
    assert page.screen().availableGeometry().contains(page.frameGeometry())
    assert not person.reads("The figures are being read")


def without_and_with_speed_up_are_compared(person: Person) -> None:
    person.choose("Speed…")
    person.dialog("Speed")
    person.press("Prove it…")
    person.until(person.app.comparing.dialog.isVisible, "a comparison is offered")


# Documents


def a_document_is_attached_and_removed(person: Person) -> None:
    person.new_chat()
    file = person.folder / "Notes.md"
    file.write_text("# Notes\n\nThe boat is called Marigold.\n")
    person.with_file(lambda: person.press("Attach a file or picture"), file)
    chips = person.window.prompt_box.chips
    person.until(lambda: bool(chips.attachments) and not chips.is_reading, "the file is attached")
    assert person.reads("Notes.md")
    person.click(person.see("Remove Notes.md"))
    person.until(lambda: not chips.attachments, "the file is removed")


def of_a_document_that_is_too_long_passages_are_sent(person: Person) -> None:
    person.new_chat()
    file = person.folder / "Long.md"
    file.write_text("".join(f"Paragraph {n} tells of the boat, the harbour and number {n}.\n\n" for n in range(4000)))
    person.with_file(lambda: person.press("Attach a file or picture"), file)
    box = person.window.prompt_box
    person.until(box.notice.box.isVisible, "passages are offered")
    person.click(box.notice.box)
    assert box.notice.sends_passages
    person.until(lambda: not box.count.text() or box.count.property("level") != "error", "nothing is red any more")
    assert not any(each.property("level") == "error" for each in box.chips.findChildren(QPlainTextEdit))
    person.click(person.see("Remove Long.md"))


# The server


def the_server_is_on_and_the_window_says_so(person: Person) -> None:
    person.choose("Server…")
    dialog = person.app.server.dialog
    person.type_into(dialog.port, "18642")
    person.click(dialog.switch)
    person.until(lambda: "127.0.0.1:18642" in dialog.state.text(), "programs find the server")
    person.press("Close")
    person.click(person.window.signs.server)
    person.until(dialog.isVisible, "the sign leads to the server")


def a_message_waits_while_a_program_is_served_and_can_be_stopped(person: Person) -> None:
    person.new_chat()
    began, stopped = Event(), Event()
    program = Thread(target=_be_a_program, args=(began, stopped))
    program.start()
    try:
        person.until(began.is_set, "the program is served")
        person.send("Name two plants.")
        person.until(lambda: [each.text for each in person.messages] == ["Name two plants."], "the message is shown")
        person.until(
            lambda: any(
                each.words == "Waiting for another program" and each.isVisible()
                for each in person.window.transcript.findChildren(Waiting)
            ),
            "it says what it waits for",
        )
        QTest.keyClick(person.window, Qt.Key.Key_Escape)
        person.until(lambda: not person.window.is_busy, "it has stopped")
        person.see("Try again")
    finally:
        stopped.set()
        person.until(lambda: not program.is_alive(), "the program has ended")
    person.press("Try again")
    person.until(lambda: len(person.messages) == 2 and person.messages[1].role is Role.ASSISTANT, "it is answered")


def _be_a_program(began: Event, stopped: Event) -> None:
    body = {"prompt": "1, 2, 3, 4, 5, 6, 7, 8,", "stream": True, "max_tokens": 8000, "temperature": 0}
    asked = urllib.request.Request(
        "http://127.0.0.1:18642/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(asked, timeout=60) as reply:
        while not stopped.is_set() and reply.readline():
            began.set()


def the_server_is_off_and_the_sign_goes(person: Person) -> None:
    person.click(person.window.signs.server)
    person.click(person.app.server.dialog.switch)
    person.until(lambda: not person.window.signs.server.isVisible(), "the sign is gone")


# Tools


def a_tool_server_is_added_and_changed(person: Person) -> None:
    person.choose("Tools…")
    page = person.app.tools.dialog.servers
    person.click(page.add_button)
    person.type_into(page.form.name, "notes")
    person.type_into(page.form.command, "notes-server --folder /tmp")
    person.press("Add it")
    person.until(lambda: "notes" in page.cards, "the server is in the list")
    person.press("Change…")
    person.type_into(page.form.command, "notes-server --folder /home")
    person.press("Save")
    person.until(lambda: page.cards["notes"].server.args == ("--folder", "/home"), "the server is changed")


# Help


def the_guide_is_searched(person: Person) -> None:
    QTest.keyClick(person.window, Qt.Key.Key_F1)
    person.until(lambda: any(isinstance(each, GuideDialog) for each in person.windows()), "the guide is open")
    guide = next(each for each in person.windows() if isinstance(each, GuideDialog))
    person.type_into(guide.search, "incognito")
    person.rest(0.1)
    assert person.reads("ncognito")


def the_keys_are_listed(person: Person) -> None:
    person.choose("Keyboard shortcuts")
    person.dialog("Keyboard shortcuts")
    assert person.reads("Ctrl+N")


def about_tells_the_version(person: Person) -> None:
    person.choose("About Slipstream")
    person.dialog("About Slipstream")
    assert person.reads(person.window.version)


# The end


def a_window_closed_in_the_middle_of_a_reply_keeps_the_message(person: Person) -> None:
    person.new_chat()
    person.send("Name four rivers.")
    person.rest(0.02)
    person.quit()
    person.start()
    person.open_chat("Name four rivers.")
    assert person.messages[0].text == "Name four rivers."
    if len(person.messages) == 1:
        person.see("No reply yet")
        person.press("Try again")
        person.reply_to("Name four rivers.")
    person.open_chat(COLOURS)


def the_log_has_no_words_of_the_user_and_no_gaps(person: Person) -> None:
    log = log_file(person.store).read_text("utf-8")
    assert log
    for words in (ANIMALS, "Marigold", "The boat", "notes-server", "miaow"):
        assert words not in log
    gaps = [line for line in log.splitlines() if "{" in line and "}" in line]
    assert not gaps, gaps[0]
    errors = [line for line in log.splitlines() if " ERROR " in line or " slipstream.qt " in line]
    errors = [line for line in errors if "This plugin does not support" not in line]  # a window without a screen
    assert not errors, errors[0]
