"""Several chats: which is being written, found, renamed, ordered, deleted, incognito, exported and imported."""

from __future__ import annotations

import json

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from app.models.conversations import ConversationsModel
from app.widgets.transcript.reply_view import ReplyView
from app.widgets.words.prose import WideTable
from tests.first_hour.person import Person
from tests.first_hour.replies import ANIMALS, COLOURS

_STORY = "Tell me a story about a boat."
_CTRL = Qt.KeyboardModifier.ControlModifier
_CELLS = ("Characteristics", "Responsibilities", "Internationalization", "Incomprehensibility", "Counterrevolutionary")
_TABLE = "\n".join(
    ["| " + " | ".join(_CELLS) + " |", "|" + "---|" * len(_CELLS)] + ["| " + " | ".join(_CELLS) + " |"] * 2
)


def written(person: Person) -> list[str]:
    """The chats that the sidebar marks as being written."""
    model = person.window.conversations.model
    rows = (model.index(row) for row in range(model.rowCount()))
    return [str(each.data()) for each in rows if each.data(ConversationsModel.WrittenRole)]


def the_sidebar_shows_which_chat_is_written(person: Person) -> None:
    person.new_chat()
    person.send(_STORY)
    person.wait_for_text()
    assert written(person) == [_STORY]
    person.open_chat(COLOURS)
    if person.window.is_busy:
        assert written(person) == [_STORY]
        writing = person.window.signs.writing
        person.click(writing)
        person.until(lambda: person.messages and person.messages[0].text == _STORY, "the sign leads back")
    person.until(lambda: not person.window.is_busy, "the reply is finished")
    assert written(person) == []


def ctrl_f_searches_all_chats(person: Person) -> None:
    QTest.keyClick(person.window, Qt.Key.Key_F, _CTRL)
    field = person.window.conversations.search
    assert field.hasFocus()
    QTest.keyClicks(field, "animals")
    results = person.window.conversations.results
    person.until(results.isVisible, "the chat is found")
    QTest.keyClick(field, Qt.Key.Key_Return)
    person.until(lambda: bool(person.messages) and person.messages[0].text == ANIMALS, "the chat is open")
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert not field.text()


def a_chat_is_renamed(person: Person) -> None:
    person.open_chat(_STORY)
    QTest.keyClick(person.window.conversations.view, Qt.Key.Key_F2)
    person.until(lambda: isinstance(QApplication.focusWidget(), QLineEdit), "the name can be typed")
    field = QApplication.focusWidget()
    assert field is not None
    QTest.keyClicks(field, "The boat")
    QTest.keyClick(field, Qt.Key.Key_Return)
    person.until(lambda: "The boat" in person.titles, "the chat has its name")


def a_chat_is_pinned(person: Person) -> None:
    person.open_chat(COLOURS)
    person.choose("Pin or unpin")
    person.until(lambda: person.titles[0] == COLOURS, "the chat is on top")
    assert person.window.conversations.model.index(0).data(ConversationsModel.GroupRole) == "Pinned"


def a_chat_is_put_into_a_new_folder(person: Person) -> None:
    person.press("New folder")
    dialog = person.dialog("New folder")
    QTest.keyClicks(dialog.focusWidget(), "Travels")
    person.press("Create")
    person.until(lambda: "Travels" in person.titles, "the folder is there")
    person.open_chat("The boat")
    person.choose("Move to a folder…")
    picker = person.window.conversations.folder_picker
    person.until(picker.isVisible, "folders can be chosen")
    QTest.keyClicks(picker.focusWidget(), "Travels")
    QTest.keyClick(picker.focusWidget(), Qt.Key.Key_Return)
    folder = person.window.conversations.model.folders[0]
    person.until(lambda: person.window.conversations.model.inside(folder.id), "the chat is in the folder")


def a_chat_is_deleted_and_comes_back(person: Person) -> None:
    person.open_chat(COLOURS)
    number = len(person.messages)
    person.choose("Delete this chat")
    person.until(lambda: COLOURS not in person.titles, "the chat is gone")
    undo = person.window.toasts.shown[-1].action_button
    assert undo is not None
    person.click(undo)
    person.until(lambda: COLOURS in person.titles, "the chat is back")
    person.open_chat(COLOURS)
    assert len(person.messages) == number


def an_incognito_chat_leaves_nothing(person: Person) -> None:
    before = set(person.titles)
    person.click(person.window.conversations.incognito_button)
    person.until(lambda: person.reads("Incognito: this chat is not stored"), "it says what incognito means")
    assert person.ask("What is a secret?").text
    person.choose("Delete this chat")
    person.until(lambda: set(person.titles) == before, "the chat is gone")


def a_chat_is_exported(person: Person) -> None:
    person.open_chat(COLOURS)
    file = person.folder / "animals.json"
    person.with_file(lambda: person.choose("Export this chat…"), file)
    person.until(file.exists, "the file is there")
    assert ANIMALS in file.read_text("utf-8")


def a_chat_is_imported_and_its_wide_table_keeps_its_words_whole(person: Person) -> None:
    told = [("user", "A table, please."), ("assistant", f"Here it is.\n\n{_TABLE}\n")]
    messages = [
        {"id": n, "parent": n - 1 or None, "role": role, "text": text, "created_at": "2026-11-01T10:00:00+00:00"}
        for n, (role, text) in enumerate(told, 1)
    ]
    chat = {"title": "Wide table", "head": 2, "messages": messages, "system_prompt": ""}
    chat |= {"created_at": "2026-11-01T10:00:00+00:00", "updated_at": "2026-11-01T10:00:00+00:00"}
    file = person.folder / "table.json"
    file.write_text(json.dumps({"format": "slipstream-conversations", "version": 1, "conversations": [chat]}))
    person.with_file(lambda: person.choose("Import chats…"), file)
    person.until(lambda: "Wide table" in person.titles, "the chat is there")
    person.window.resize(900, 700)
    person.open_chat("Wide table")
    person.until(lambda: wide_tables(person), "the table is shown as one that scrolls")
    bar = wide_tables(person)[0].horizontalScrollBar()
    assert bar.maximum() > 0, "the table does not scroll: its words are broken"
    assert bar.isVisible()
    person.window.resize(1100, 700)


def wide_tables(person: Person) -> list[WideTable]:
    views = [view for _, view in person.window.transcript.column.built_rows() if isinstance(view, ReplyView)]
    return [each for view in views for each in view.block_views if isinstance(each, WideTable)]


def the_cross_of_a_row_deletes_the_chat(person: Person) -> None:
    view = person.window.conversations.view
    row = person.titles.index("Wide table")
    area = view.visualRect(view.model().index(row, 0))
    QTest.mouseMove(view.viewport(), area.center())
    person.click(view.viewport(), QPoint(area.right() - 16, area.bottom() - 16))
    person.until(lambda: "Wide table" not in person.titles, "the chat is gone")
