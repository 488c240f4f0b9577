"""Import, export, attached files and forgetting: on a bridge without an engine."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from app.features.chat.prompt import PromptController
from app.features.chats.exchange import ExchangeController, words_of_import
from app.main_window import MainWindow
from app.theme import ThemeKeeper
from app.widgets.toast import ToastKind
from engine.values.conversations import (
    Conversation,
    ConversationSummary,
    ExportFormat,
    ImportedConversations,
    LeftOut,
    Message,
    Missing,
    Role,
    TextFile,
)
from engine.values.events import (
    ConversationForgotten,
    ConversationOpened,
    ConversationsImported,
    ConversationsListed,
    Event,
    PromptStored,
    ReplyFinished,
    TargetInfo,
    TargetReady,
)
from engine.values.orders import Send
from engine.values.prompts import Attachment, join_prompt
from tests.fakes.answers import Broke
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import Chats

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
KEPT = ConversationSummary(1, "What: is a/b?", NOW)
SECRET = ConversationSummary(2**30, "Secret", NOW, incognito=True)


@pytest.fixture
def window(qtbot: QtBot, keeper: ThemeKeeper, bridge: FakeBridge) -> MainWindow:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    chats = Chats(window, bridge)
    ExchangeController(window, bridge, PromptController(window, bridge).attach)
    with qtbot.waitExposed(window):
        window.show()
    chats.target.load("starter")
    target = TargetInfo("Tiny", "/t.gguf", "llama", 1000, 10, 2)
    tell(bridge, ConversationsListed((KEPT, SECRET)), TargetReady(target, bridge.loads[-1]))
    bridge.take()
    bridge.all_asked.clear()
    return window


def tell(bridge: FakeBridge, *events: Event) -> None:
    bridge.tell(*events)


def toasts(window: MainWindow) -> list[str]:
    return [toast.words.text() for toast in window.toasts.shown]


def press(window: MainWindow) -> None:
    """The button of the only toast."""
    (toast,) = window.toasts.shown
    assert toast.action_button is not None
    toast.action_button.click()


def read_paths(bridge: FakeBridge) -> list[Path]:
    return [each.args[0] for each in bridge.asked(bridge.engine.files.read)]


def finish_reading(bridge: FakeBridge) -> None:
    for each in bridge.asked(bridge.engine.files.read):
        if not each.request.future.done():
            (path,) = each.args
            each.answer(TextFile(path, f"text of {path.name}", 17))


def dialog(window: MainWindow) -> QFileDialog:
    found = window.findChild(QFileDialog)
    assert isinstance(found, QFileDialog)
    return found


# Export


@pytest.mark.parametrize(
    ("name", "filter_place", "written", "form", "overwrite"),
    [
        ("talk.json", 0, "talk.json", ExportFormat.JSON, True),
        ("talk.md", 0, "talk.md", ExportFormat.MARKDOWN, True),
        ("talk", 1, "talk.md", ExportFormat.MARKDOWN, False),
        ("talk v1.2", 0, "talk v1.2.json", ExportFormat.JSON, False),
    ],
)
def test_one_is_exported_under_the_name_that_was_chosen(
    window: MainWindow,
    bridge: FakeBridge,
    tmp_path: Path,
    name: str,
    filter_place: int,
    written: str,
    form: ExportFormat,
    overwrite: bool,
) -> None:
    window.conversations.export_requested.emit((1,))
    chooser = dialog(window)
    assert Path(chooser.selectedFiles()[0]).name == "What is a b.json"
    chooser.selectNameFilter(chooser.nameFilters()[filter_place])
    chooser.fileSelected.emit(str(tmp_path / name))
    (export,) = bridge.asked(bridge.engine.files.export_conversations)
    assert export.args == (tmp_path / written, (1,), form, overwrite)
    export.answer(1)
    assert toasts(window) == [f"1 chat exported to {written}."]
    chooser.close()


def test_all_are_exported(window: MainWindow, bridge: FakeBridge, tmp_path: Path) -> None:
    window.export_all_action.trigger()
    chooser = dialog(window)
    chooser.fileSelected.emit(str(tmp_path / "all.json"))
    (export,) = bridge.asked(bridge.engine.files.export_conversations)
    assert export.args == (tmp_path / "all.json", None, ExportFormat.JSON, True)
    chooser.close()
    export.fail("The disk is full; free some space.")
    assert toasts(window) == ["The disk is full; free some space."]


# Import


def test_chats_are_imported_and_what_came_of_it_is_told(window: MainWindow, bridge: FakeBridge) -> None:
    path = Path("/export/conversations.json")
    window.chats_dropped.emit(str(path))
    window.chats_dropped.emit(str(path))
    (imported,) = bridge.asked(bridge.engine.files.import_conversations)
    assert imported.args == (path,), "once"
    assert toasts(window) == ["Importing chats from conversations.json…"]
    tell(bridge, ConversationsImported())
    assert bridge.calls[-1] == ("list_all",)
    imported.answer(ImportedConversations(12, ((LeftOut.KNOWN, "Old"),)))
    assert toasts(window) == ["Imported 12 chats; 1 was skipped because it is already here (“Old”)."]


@pytest.mark.parametrize(
    ("num_imported", "left_out", "words"),
    [
        (1, (), "Imported 1 chat."),
        (
            1,
            ((LeftOut.TOO_LARGE, "War and Peace"),),
            "Imported 1 chat; 1 was skipped because it is too large (“War and Peace”).",
        ),
        (0, ((LeftOut.EMPTY, ""),), "Nothing was imported; 1 was skipped because it has no messages."),
        (
            2,
            tuple((LeftOut.KNOWN, name) for name in "ABCDE"),
            "Imported 2 chats; 5 were skipped because they are already here (“A”, “B”, “C” and 2 more).",
        ),
        (
            0,
            ((LeftOut.KNOWN, "A"), (LeftOut.UNREADABLE, "")),
            (
                "Nothing was imported; 1 was skipped because it is already here (“A”); 1 was skipped because it "
                "is damaged."
            ),
        ),
    ],
)
def test_words_of_import(num_imported: int, left_out: tuple[tuple[LeftOut, str], ...], words: str) -> None:
    assert words_of_import(num_imported, left_out) == words


def test_what_is_missing_in_the_chats_is_counted() -> None:
    missing = [(each, 1) for each in Missing]
    words = "without 1 picture; without 1 attached file; without 1 recording; without 1 step of tools; "
    assert words_of_import(2, (), missing) == f"Imported 2 chats; {words}without 1 message that is damaged."
    assert words_of_import(1, (), [(Missing.STEP, 5)]) == "Imported 1 chat; without 5 steps of tools."


def test_an_import_can_be_cancelled(window: MainWindow, bridge: FakeBridge) -> None:
    window.chats_dropped.emit("/chats.zip")
    press(window)
    (imported,) = bridge.asked(bridge.engine.files.import_conversations)
    assert imported.request.signal.is_set()
    imported.fail("The import was cancelled; nothing was added.")
    assert window.toasts.shown[-1].kind == ToastKind.INFO
    assert toasts(window) == ["The import was cancelled; nothing was added."]


def test_json_that_holds_no_chats_may_be_attached(window: MainWindow, bridge: FakeBridge) -> None:
    window.chats_dropped.emit("/data.json")
    bridge.asked(bridge.engine.files.import_conversations)[-1].fail("It holds no conversations; choose another.")
    press(window)
    assert read_paths(bridge) == [Path("/data.json")]


# Attached files


def test_dropped_files_become_chips_and_go_along(window: MainWindow, bridge: FakeBridge) -> None:
    window.texts_dropped.emit(["/notes.txt", "/more.txt"])
    assert read_paths(bridge) == [Path("/notes.txt"), Path("/more.txt")]
    box = window.prompt_box
    assert box.chips.is_reading
    finish_reading(bridge)
    window.texts_dropped.emit(["/notes.txt"])
    finish_reading(bridge)
    assert [attached.name for attached in box.chips.attachments] == ["more.txt", "notes.txt"], "none twice"
    box.chips.close_buttons[0].click()
    QTest.keyClicks(box.editor, "What is this?")
    QTest.keyClick(box.editor, Qt.Key.Key_Return)
    sent = bridge.orders[-1]
    assert isinstance(sent, Send)
    assert sent.prompt == "```notes.txt\ntext of notes.txt\n```\n\nWhat is this?"
    assert not box.chips.attachments
    tell(bridge, Broke.because("Too long."))
    assert box.text == sent.prompt, "nothing is lost"
    assert [attached.name for attached in box.chips.attachments] == ["notes.txt"]


def test_a_file_alone_can_be_sent(window: MainWindow, bridge: FakeBridge) -> None:
    box = window.prompt_box
    assert not box.button.isEnabled()
    window.texts_dropped.emit(["/notes.txt"])
    finish_reading(bridge)
    assert box.button.isEnabled()
    box.submit()
    assert cast(Send, bridge.orders[-1]).prompt == "```notes.txt\ntext of notes.txt\n```"


def test_no_more_than_ten_files_go_along(window: MainWindow, bridge: FakeBridge) -> None:
    window.texts_dropped.emit([f"/{number}.txt" for number in range(12)])
    assert len(read_paths(bridge)) == 10
    assert toasts(window) == ["At most 10 files can be attached to a message."]


def test_files_are_chosen_by_the_button(window: MainWindow, bridge: FakeBridge) -> None:
    window.attach_action.trigger()
    chooser = dialog(window)
    chooser.filesSelected.emit(["/a.txt"])
    assert read_paths(bridge) == [Path("/a.txt")]
    chooser.close()


def test_the_transcript_shows_files_closed(window: MainWindow, bridge: FakeBridge) -> None:
    text = join_prompt([Attachment("notes.txt", "secret text\n" * 50)], "Sum it up.")
    window.conversations.chosen.emit(1)
    tell(bridge, ConversationOpened(Conversation(KEPT, "", (Message(3, 1, None, Role.USER, text, NOW),))))
    ((row, _),) = window.transcript.column.visible_rows()
    view = window.transcript.column.view_of(row)
    assert view is not None
    low = view.height()
    (button,) = [each for each in view.findChildren(QPushButton) if each.isVisible()]
    assert button.accessibleName() == "notes.txt, 599 bytes"
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert view.height() > low + 100
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert view.height() == low


# Incognito


def test_an_incognito_chat_is_begun_and_said_to_be_one(window: MainWindow, bridge: FakeBridge) -> None:
    assert not window.incognito_banner.isVisible()
    window.incognito_action.trigger()
    assert window.incognito_banner.isVisible()
    window.prompt_box.set_text("Psst")
    window.prompt_box.submit()
    sent = bridge.orders[-1]
    assert isinstance(sent, Send)
    assert sent.incognito
    prompt = Message(5, SECRET.id, None, Role.USER, "Psst", NOW)
    tell(bridge, PromptStored(prompt), ReplyFinished(Message(6, SECRET.id, 5, Role.ASSISTANT, "Yes?", NOW)))
    assert window.incognito_banner.isVisible()
    window.prompt_box.set_text("More")
    window.prompt_box.submit()
    assert not cast(Send, bridge.orders[-1]).incognito, "the conversation knows"
    tell(bridge, Broke.because("No."))
    window.new_action.trigger()
    assert not window.incognito_banner.isVisible()


def test_the_banner_follows_what_is_open(window: MainWindow, bridge: FakeBridge) -> None:
    window.conversations.chosen.emit(SECRET.id)
    tell(bridge, ConversationOpened(Conversation(SECRET, "", ())))
    assert window.incognito_banner.isVisible()
    tell(bridge, ConversationOpened(Conversation(KEPT, "", ())))
    assert window.incognito_banner.isVisible(), "another one, which is not shown"
    window.conversations.chosen.emit(KEPT.id)
    tell(bridge, ConversationOpened(Conversation(KEPT, "", ())))
    assert not window.incognito_banner.isVisible()
    window.conversations.chosen.emit(SECRET.id)
    tell(bridge, ConversationOpened(Conversation(SECRET, "", ())), ConversationForgotten(SECRET))
    assert not window.incognito_banner.isVisible()


def test_a_new_title_leaves_a_chat_incognito(window: MainWindow) -> None:
    model = window.conversations.model
    row = model.row_of(SECRET.id)
    assert row is not None
    assert model.setData(model.index(row), "Other")
    assert model.summary(row).incognito


# Forgetting


def answer(window: MainWindow, words: str) -> None:
    box = window.findChild(QMessageBox)
    assert isinstance(box, QMessageBox)
    next(button for button in box.buttons() if button.text().replace("&", "") == words).click()
    QCoreApplication.processEvents()


def test_forgetting_asks_first(window: MainWindow, bridge: FakeBridge) -> None:
    window.conversations.set_chosen(1)
    QTest.keyClick(window.conversations.view, Qt.Key.Key_Delete, Qt.KeyboardModifier.ShiftModifier)
    answer(window, "Cancel")
    assert bridge.calls == []
    window.conversations.forget_requested.emit((1,))
    answer(window, "Delete permanently")
    assert bridge.calls == [("forget", 1)]
    tell(bridge, ConversationForgotten(KEPT))
    assert window.conversations.model.row_of(1) is None
    assert toasts(window) == ["“What: is a/b?” was deleted permanently."]
    assert not window.restore_action.isEnabled()


def test_a_reply_under_way_goes_with_its_chat(window: MainWindow, bridge: FakeBridge) -> None:
    window.prompt_box.set_text("Hi")
    window.prompt_box.submit()
    stop = bridge.answers[-1].request.signal
    tell(bridge, PromptStored(Message(5, 1, None, Role.USER, "Hi", NOW)))
    window.conversations.forget_requested.emit((1,))
    answer(window, "Delete permanently")
    assert bridge.calls[-1] == ("forget", 1)
    tell(bridge, ConversationForgotten(KEPT))
    assert stop.is_set()
    tell(bridge, Broke.because("This chat no longer exists."))
    assert toasts(window) == ["“What: is a/b?” was deleted permanently."]
