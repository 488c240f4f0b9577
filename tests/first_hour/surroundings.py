"""Documents, other programs, tools, help, and the end of the hour."""

from __future__ import annotations

import json
import urllib.request
from threading import Event, Thread

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPlainTextEdit

from app.crash.watch import log_file
from app.features.help.guide_dialog import GuideDialog
from tests.first_hour.person import Person
from tests.first_hour.replies import ANIMALS, COLOURS

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


def a_message_goes_before_a_program_that_is_served(person: Person) -> None:
    person.new_chat()
    began, stopped = Event(), Event()
    program = Thread(target=_be_a_program, args=(began, stopped))
    program.start()
    try:
        person.until(began.is_set, "the program is served")
        person.send("Name two plants.")
        person.until(lambda: len(person.messages) == 2 and not person.window.is_busy, "it is answered")
        began.clear()
        person.until(began.is_set, "the program is served on")
    finally:
        stopped.set()
        person.until(lambda: not program.is_alive(), "the program has ended")


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
    person.press("Add")
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


def the_log_has_no_words_of_the_user_and_no_errors(person: Person) -> None:
    log = log_file(person.store).read_text("utf-8")
    assert log
    for words in (ANIMALS, "Marigold", "The boat", "notes-server", "miaow"):
        assert words not in log
    errors = [line for line in log.splitlines() if " ERROR " in line or " slipstream.qt " in line]
    errors = [line for line in errors if "plugin does not support" not in line]  # a window without a screen
    assert not errors, errors[0]
