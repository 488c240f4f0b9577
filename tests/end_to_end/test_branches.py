"""The tree of a conversation in the real window, with the real engine and the starter target."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.features.chat.chat_settings import ChatSettingsController
from app.features.chat.draft_keeper import DraftKeeper
from app.features.chat.prompt import PromptController
from app.settings.app_settings import AppSettings
from app.widgets.transcript.prompt_view import PromptView
from app.widgets.transcript.reply_view import ReplyView
from engine.values.conversations import Message
from engine.values.events import ConversationOpened, ReplyFinished
from engine.values.replies import StopReason
from tests.end_to_end.test_window import _PATIENCE_MS, Desk, last_reply, sit_down
from tests.fakes.chats import unsaved
from tests.fakes.ear import Grew

__all__ = ["sit_down"]

pytestmark = [
    pytest.mark.starter,
    pytest.mark.qt_log_ignore(r"This plugin does not support (propagateSizeHints|raise)"),
]


def view_of(desk: Desk, place: int) -> PromptView | ReplyView:
    message = desk.window.transcript.messages[place]
    for row, view in desk.window.transcript.column.built_rows():
        if getattr(row, "message", None) == message:
            assert isinstance(view, PromptView | ReplyView)
            return view
    raise AssertionError(message)


def flip(desk: Desk, place: int, later: bool) -> None:
    flipper = view_of(desk, place).flipper
    assert flipper is not None
    with desk.waiting_for(ConversationOpened):
        button = flipper.later_button if later else flipper.earlier_button
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def words(desk: Desk, place: int) -> str:
    flipper = view_of(desk, place).flipper
    assert flipper is not None
    return flipper.words.text() if not flipper.isHidden() else ""


def stop_early(desk: Desk, qtbot: QtBot, text: str, meanwhile: Callable[[], None] = lambda: None) -> Message:
    num_before = sum(isinstance(event, Grew) for event in desk.events)
    desk.say(text)
    qtbot.waitUntil(
        lambda: sum(isinstance(event, Grew) for event in desk.events) > num_before + 3, timeout=_PATIENCE_MS
    )
    meanwhile()
    with desk.waiting_for(ReplyFinished):
        QTest.keyClick(desk.window.prompt_box.editor, Qt.Key.Key_Escape)
    return last_reply(desk).message


def test_all_branches_of_a_conversation_are_there_also_after_a_restart(
    sit_down: Callable[..., Desk],
    qtbot: QtBot,
) -> None:
    desk = sit_down(max_tokens=None)
    box = desk.window.prompt_box
    PromptController(desk.window, desk.bridge)._context_size = 8192  # the target was ready before
    conversations, chat = desk.chats.conversations, desk.chats.chat
    dialog = ChatSettingsController(desk.window, desk.bridge, conversations, chat).dialog
    drafts = DraftKeeper(desk.window, desk.bridge, conversations, unsaved(AppSettings()))

    def count_beside() -> None:
        box.set_text("Hello there")
        qtbot.waitUntil(lambda: box.count.text() == "2 tokens", timeout=_PATIENCE_MS)
        assert desk.chats.chat.is_answering, "counting does not wait for a reply"
        box.set_text("")

    stopped = stop_early(desk, qtbot, "Count from one to a hundred in words.", count_beside)
    assert stopped.statistics is not None
    assert stopped.statistics.stop_reason is StopReason.STOPPED
    view = view_of(desk, 1)
    assert isinstance(view, ReplyView)
    assert view.footer is not None
    with desk.waiting_for(Grew):
        QTest.mouseClick(view.footer.continue_button, Qt.MouseButton.LeftButton)
    with desk.waiting_for(ReplyFinished):
        QTest.keyClick(desk.window.prompt_box.editor, Qt.Key.Key_Escape)
    longer = last_reply(desk).message
    assert longer.text.startswith(stopped.text)
    assert len(longer.text) > len(stopped.text)
    assert longer.statistics is not None
    assert longer.statistics.evaluated_tokens <= 4, "the reply itself was still held"
    assert words(desk, 1) == "2 / 2"

    stop_early(desk, qtbot, "Now tell me a very long story.")
    count, _, story, _ = first = desk.shown
    regenerated = view_of(desk, 1)
    assert isinstance(regenerated, ReplyView)
    assert regenerated.footer is not None
    with desk.waiting_for(Grew):
        QTest.mouseClick(regenerated.footer.regenerate_button, Qt.MouseButton.LeftButton)
    with desk.waiting_for(ReplyFinished):
        desk.window.prompt_box.stop_requested.emit()
    assert len(desk.shown) == 2
    assert words(desk, 1) == "3 / 3"

    flip(desk, 1, later=False)
    assert desk.shown == first, "down to where it was used last"
    flip(desk, 1, later=False)
    assert desk.shown == [count, stopped.text]
    flip(desk, 1, later=True)
    desk.window.prompt_box.editor.setFocus()
    edited = view_of(desk, 2)
    assert isinstance(edited, PromptView)
    QTest.mouseClick(edited.footer.edit_button, Qt.MouseButton.LeftButton)
    assert edited.revision is not None
    edited.revision.editor.setPlainText("Tell me of a dragon in one word.")
    with desk.waiting_for(Grew):
        QTest.keyClick(edited.revision.editor, Qt.Key.Key_Return)
    box.set_text("Hello there")
    desk.window.prompt_box.stop_requested.emit()  # it may be over already
    qtbot.waitUntil(lambda: not desk.chats.chat.is_answering, timeout=_PATIENCE_MS)
    second = desk.shown
    assert second[:3] == [*first[:2], "Tell me of a dragon in one word."]
    desk.window.conversation_action.trigger()
    qtbot.waitUntil(dialog.isVisible, timeout=_PATIENCE_MS)
    dialog.system_prompt.setPlainText("Be brief.")
    dialog.save_button.click()
    assert desk.shown == second
    drafts.save()
    desk.close()

    again = sit_down()
    conversations = again.chats.conversations
    dialog = ChatSettingsController(again.window, again.bridge, conversations, again.chats.chat).dialog
    DraftKeeper(again.window, again.bridge, conversations, unsaved(AppSettings()))
    again.window.conversations.chosen.emit(stopped.conversation_id)
    qtbot.waitUntil(lambda: again.shown == second, timeout=_PATIENCE_MS)
    assert [words(again, place) for place in range(4)] == ["", "2 / 3", "2 / 2", ""]
    flip(again, 2, later=False)
    assert again.shown == first
    assert again.shown[2] == story
    flip(again, 1, later=False)
    assert again.shown == [count, stopped.text]
    assert words(again, 1) == "1 / 3"
    assert again.window.prompt_box.text == "Hello there"
    again.window.conversation_action.trigger()
    qtbot.waitUntil(dialog.isVisible, timeout=_PATIENCE_MS)
    assert dialog.system_prompt.toPlainText() == "Be brief."
