"""Walking the tree of a conversation, on a bridge without an engine."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from app.features.chat.branch import BranchController
from app.main_window import MainWindow
from app.theme import ThemeKeeper
from app.widgets.prompt.prompt_editor import PromptRevision
from app.widgets.transcript.prompt_view import PromptView
from app.widgets.transcript.reply_view import ReplyView
from app.widgets.words.prose import Prose
from engine import ReplySettings
from engine.values.conversations import Conversation, ConversationSummary, Message, Role
from engine.values.events import (
    ConversationOpened,
    Event,
    MessageDeleted,
    PromptStored,
    ReplyFinished,
    TargetInfo,
    TargetReady,
)
from engine.values.orders import ContinueReply, EditPrompt, Regenerate, Send
from engine.values.replies import ReplyStatistics, StopReason
from engine.values.speed import LiveFigures
from tests.fakes.answers import Began, Broke, Read, Wrote
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import Chats

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
TARGET = TargetInfo("Tiny", "/models/tiny.gguf", "llama 1B Q4", 1000, 10, 2)
CUT = ReplyStatistics(10, 10, 3, 0.1, 0.5, StopReason.STOPPED, 13, 1000)
WHOLE = replace(CUT, stop_reason=StopReason.END)
CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
SUMMARY = ConversationSummary(7, "Chat", NOW)


def prompt(number: int, parent: int | None, text: str) -> Message:
    return Message(number, 7, parent, Role.USER, text, NOW)


def reply(number: int, parent: int, text: str, statistics: ReplyStatistics = WHOLE) -> Message:
    return Message(number, 7, parent, Role.ASSISTANT, text, NOW, "Tiny", statistics)


ONE, FIRST, TWO, SECOND = prompt(1, None, "One"), reply(2, 1, "First"), prompt(3, 2, "Two"), reply(4, 3, "Sec", CUT)
ALL = (ONE, FIRST, TWO, SECOND)


class Desk:
    def __init__(self, window: MainWindow) -> None:
        self.window = window
        self.transcript = window.transcript
        self.bridge = FakeBridge()
        self.settings = ReplySettings()
        chats = Chats(window, self.bridge, self.settings)
        BranchController(window, self.bridge, chats.conversations, chats.chat, chats.consent)
        chats.start("starter")
        self.tell(TargetReady(TARGET, self.bridge.loads[-1]))
        window.conversations.chosen.emit(7)
        self.show(ALL)
        self.take()

    def tell(self, *events: Event) -> None:
        self.bridge.tell(*events)

    def show(self, messages: tuple[Message, ...], siblings: dict[int, tuple[int, ...]] | None = None) -> None:
        self.tell(ConversationOpened(Conversation(SUMMARY, "", messages, siblings=siblings or {})))

    def take(self) -> list[Any]:
        return self.bridge.take()

    @property
    def shown(self) -> list[str]:
        return [message.text for message in self.transcript.messages]

    def view(self, message: Message) -> PromptView | ReplyView:
        for row, view in self.transcript.column.built_rows():
            if getattr(row, "message", None) == message:
                assert isinstance(view, PromptView | ReplyView)
                return view
        raise AssertionError(message)

    def revision(self, message: Message) -> PromptRevision | None:
        view = self.view(message)
        assert isinstance(view, PromptView)
        return view.revision

    def growing(self) -> str:
        (view,) = [view for row, view in self.transcript.column.built_rows() if not hasattr(row, "message")]
        assert isinstance(view, ReplyView)
        return "".join(part.toPlainText() for part in view.block_views if hasattr(part, "toPlainText"))


@pytest.fixture
def desk(qtbot: QtBot, keeper: ThemeKeeper) -> Desk:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    window.resize(1000, 800)
    with qtbot.waitExposed(window):
        window.show()
    return Desk(window)


def test_an_earlier_prompt_is_asked_in_other_words(desk: Desk) -> None:
    view = desk.view(ONE)
    assert isinstance(view, PromptView)
    QTest.mouseClick(view.footer.edit_button, Qt.MouseButton.LeftButton)
    revision = desk.revision(ONE)
    assert revision is not None
    assert revision.text == "One"
    QTest.keyClicks(revision.editor, " more")
    QTest.keyClick(revision.editor, Qt.Key.Key_Return)
    assert desk.take() == [EditPrompt(7, 1, "One more", desk.settings)]
    assert desk.shown == ["One", "First", "Two", "Sec"], "until the engine has kept it"
    assert desk.revision(ONE) is None
    new = prompt(5, None, "One more")
    answer = reply(6, 5, "Anew")
    told = Wrote(7, "Anew", LiveFigures(2, 5.0, context_used=10))
    desk.tell(PromptStored(new, (1, 5)), Began(7, 5, 9, 0), told)
    assert desk.shown == ["One more"]
    flipper = desk.view(new).flipper
    assert flipper is not None
    assert flipper.words.text() == "2 / 2"
    assert not flipper.earlier_button.isEnabled(), "not while it is being answered"
    desk.tell(ReplyFinished(answer))
    assert desk.shown == ["One more", "Anew"]
    assert flipper.earlier_button.isEnabled()


def test_what_could_not_be_asked_is_still_there_to_be_changed(desk: Desk) -> None:
    desk.transcript.message_actions.revision_submitted.emit(3, "x" * 50)
    (_command,) = desk.take()
    desk.tell(Broke.because("This message takes too many tokens; shorten it."))
    assert desk.take() == [("open", 7)]
    desk.show(ALL)
    revision = desk.revision(TWO)
    assert revision is not None
    assert revision.text == "x" * 50
    assert len(desk.window.toasts.shown) == 1


def test_an_unchanged_prompt_is_left_alone(desk: Desk) -> None:
    desk.transcript.message_actions.revise(3)
    revision = desk.revision(TWO)
    assert revision is not None
    QTest.keyClick(revision.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert desk.take() == []
    assert desk.revision(TWO) is None


def test_up_in_an_empty_box_edits_the_last_prompt_and_escape_leaves_it(desk: Desk) -> None:
    box = desk.window.prompt_box
    box.set_text("something")
    QTest.keyClick(box.editor, Qt.Key.Key_Up)
    assert desk.revision(TWO) is None
    box.set_text("")
    QTest.keyClick(box.editor, Qt.Key.Key_Up)
    revision = desk.revision(TWO)
    assert revision is not None
    QTest.keyClicks(revision.editor, "!")
    QTest.keyClick(revision.editor, Qt.Key.Key_Escape)
    assert desk.revision(TWO) is None
    assert desk.take() == []


def test_a_reply_in_the_middle_is_written_again(desk: Desk) -> None:
    view = desk.view(FIRST)
    assert isinstance(view, ReplyView)
    assert view.footer is not None
    QTest.mouseClick(view.footer.regenerate_button, Qt.MouseButton.LeftButton)
    assert desk.take() == [Regenerate(7, desk.settings, 2)]
    assert desk.shown == ["One"]
    again = reply(5, 1, "Again")
    desk.tell(
        Began(7, 1, 9, 0),
        Wrote(7, "Again", LiveFigures(2, 5.0, context_used=10)),
        ReplyFinished(again, (2, 5)),
    )
    assert desk.shown == ["One", "Again"]
    flipper = desk.view(again).flipper
    assert flipper is not None
    assert flipper.words.text() == "2 / 2"


def test_a_reply_that_was_stopped_goes_on(desk: Desk) -> None:
    view = desk.view(SECOND)
    assert isinstance(view, ReplyView)
    assert view.footer is not None
    QTest.mouseClick(view.footer.continue_button, Qt.MouseButton.LeftButton)
    assert desk.take() == [ContinueReply(7, desk.settings)]
    assert desk.shown == ["One", "First", "Two"]
    assert desk.growing() == "Sec"
    desk.tell(Began(7, 3, 9, 0), Wrote(7, "ond", LiveFigures(1, 0.0, context_used=10)))
    desk.window.conversations.chosen.emit(9)  # and back
    desk.window.conversations.chosen.emit(7)
    desk.show(ALL)
    assert desk.growing() == "Second"
    desk.tell(ReplyFinished(reply(5, 3, "Second"), (4, 5)))
    assert desk.shown == ["One", "First", "Two", "Second"]


def test_a_reply_that_cannot_go_on_is_shown_as_it_was(desk: Desk) -> None:
    desk.window.continue_action.trigger()
    (_command,) = desk.take()
    desk.tell(Broke.because("The model has nothing to add to this reply; ask for more in a message."))
    assert desk.take() == [("open", 7)]
    desk.show(ALL)
    assert desk.shown == ["One", "First", "Two", "Sec"]
    assert len(desk.window.toasts.shown) == 1, "nothing was lost that could be copied"


def test_only_a_last_reply_that_was_cut_short_offers_to_go_on(desk: Desk) -> None:
    def offers() -> list[bool]:
        views = [view for _, view in desk.transcript.column.built_rows() if isinstance(view, ReplyView)]
        return [view.footer is not None and not view.footer.continue_button.isHidden() for view in views]

    assert offers() == [False, True]
    desk.show((ONE, replace(FIRST, statistics=CUT), TWO))
    assert offers() == [False]
    desk.show((ONE, FIRST))
    assert offers() == [False]
    desk.window.continue_action.trigger()
    assert desk.take() == [ContinueReply(7, desk.settings)], "the menu offers it for any"


def test_flipping_shows_another_branch(desk: Desk) -> None:
    desk.show(ALL, {2: (2, 5), 3: (3, 8)})
    flipper = desk.view(FIRST).flipper
    assert flipper is not None
    assert flipper.words.text() == "1 / 2"
    assert not flipper.earlier_button.isEnabled()
    flipper.later_button.setFocus()
    QTest.keyClick(flipper.later_button, Qt.Key.Key_Space)
    assert desk.take() == [("show_branch", 7, 5)]
    other = reply(5, 1, "Other")
    desk.show((ONE, other), {5: (2, 5)})
    assert desk.shown == ["One", "Other"]
    flipper = desk.view(other).flipper
    assert flipper is not None
    assert flipper.words.text() == "2 / 2"
    assert flipper.earlier_button.hasFocus(), "the way back, as there is no further one"


def test_a_message_is_deleted_from_its_row_or_by_keys_and_brought_back(desk: Desk) -> None:
    def entries(message: Message) -> list[QAction]:
        view = desk.view(message)
        prose = view.findChildren(Prose)[0].viewport()
        event = QContextMenuEvent(
            QContextMenuEvent.Reason.Mouse, prose.rect().center(), prose.mapToGlobal(QPoint(5, 5))
        )
        QApplication.sendEvent(prose, event)
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        return menu.actions()

    assert [each.text() for each in entries(ONE)][-1] == "Delete message and reply"
    assert [each.text() for each in entries(FIRST)][-1] == "Delete message and reply"
    assert "Copy" in [each.text().replace("&", "").split("\t")[0] for each in entries(SECOND)]
    *_, last = entries(SECOND)
    assert last.text() == "Delete reply"
    last.trigger()
    while popup := QApplication.activePopupWidget():
        popup.close()
    view = desk.view(FIRST)
    assert isinstance(view, ReplyView)
    assert view.footer is not None
    QTest.keyClick(view.footer.copy_button, Qt.Key.Key_Delete)
    QTest.keyClick(desk.window, Qt.Key.Key_Delete, CTRL_SHIFT)
    assert desk.take() == [("delete_message", 7, 4), ("delete_message", 7, 2), ("delete_message", 7, 4)]
    desk.tell(ReplyFinished(SECOND), MessageDeleted(7, 4))
    desk.show(ALL[:3])
    assert desk.shown == ["One", "First", "Two"]
    desk.tell(MessageDeleted(7, 2))
    (toast,) = desk.window.toasts.shown
    assert toast.action_button is not None
    toast.action_button.click()
    desk.take()
    desk.bridge.last(desk.bridge.engine.editor.restore_message).fail("The disk is full.")
    (toast,) = desk.window.toasts.shown
    assert toast.words.text() == "The disk is full.", "and it is offered again"
    for number in (2, 4):  # the last deletion first, then the one before
        (toast,) = desk.window.toasts.shown
        assert toast.action_button is not None
        toast.action_button.click()
        assert desk.take() == [("restore_message", 7, number)]
        desk.bridge.last(desk.bridge.engine.editor.restore_message).answer()
    assert desk.window.toasts.shown == ()
    desk.window.set_busy(True)
    QTest.keyClick(view.footer.copy_button, Qt.Key.Key_Delete)
    assert desk.take() == [], "a reply is on its way"


def test_what_applies_to_the_last_message_needs_one(desk: Desk) -> None:
    window = desk.window
    acting = (window.regenerate_action, window.continue_action, window.delete_message_action)

    def possible() -> list[bool]:
        return [action.isEnabled() for action in acting]

    assert possible() == [True, True, True]
    desk.show(ALL[:3])
    assert possible() == [True, False, True]
    window.new_action.trigger()
    assert possible() == [False, False, False]
    QTest.keyClick(window, Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    assert desk.take() == []
    desk.window.conversations.chosen.emit(7)
    desk.show(ALL)
    window.set_busy(True)
    assert possible() == [False, False, False]


def test_a_reply_that_goes_on_says_at_once_that_it_reads(desk: Desk) -> None:
    desk.window.continue_action.trigger()
    view = desk.transcript.column.built_rows()[-1][1]
    assert isinstance(view, ReplyView)
    assert view.waiting is not None
    assert (desk.growing(), view.waiting.words) == ("Sec", "Reading the chat…")
    figures = LiveFigures(1, 0.0, 0.0, 0, 0, 0)
    desk.tell(Read(7, 1, 2))
    assert "50" in view.waiting.words
    desk.tell(Wrote(7, "ond", figures))
    desk.transcript.finish_reply(reply(9, 3, "Second"))
    assert view.waiting is None


def test_the_conversation_that_is_being_answered_stays_on_its_branch(desk: Desk) -> None:
    desk.show(ALL, {2: (2, 5)})
    desk.window.prompt_box.set_text("And?")
    desk.window.prompt_box.submit()
    assert [type(command) for command in desk.take()] == [Send]
    desk.transcript.message_actions.branch_chosen.emit(5)
    desk.transcript.message_actions.regenerate_requested.emit(2)
    desk.transcript.message_actions.continue_requested.emit()
    desk.transcript.message_actions.revision_submitted.emit(1, "Uno")
    assert desk.take() == []
    assert desk.shown == ["One", "First", "Two", "Sec"]


def test_another_branch_can_be_read_while_another_conversation_is_answered(desk: Desk) -> None:
    desk.window.prompt_box.set_text("And?")
    desk.window.prompt_box.submit()
    desk.tell(PromptStored(prompt(5, 4, "And?")))
    desk.window.conversations.chosen.emit(9)
    there = replace(ONE, conversation_id=9)
    siblings = {1: (1, 2)}
    desk.tell(ConversationOpened(Conversation(replace(SUMMARY, id=9), "", (there,), siblings=siblings)))
    desk.take()
    flipper = desk.view(there).flipper
    assert flipper is not None
    assert flipper.later_button.isEnabled()
    QTest.mouseClick(flipper.later_button, Qt.MouseButton.LeftButton)
    assert desk.take() == [("show_branch", 9, 2)]


def test_a_branch_that_arrives_late_does_not_mix_with_a_reply(desk: Desk) -> None:
    desk.window.prompt_box.set_text("And?")
    desk.window.prompt_box.submit()
    desk.take()
    desk.show((prompt(8, None, "Elsewhere"),))  # asked for before
    asked = prompt(5, 4, "And?")
    desk.tell(PromptStored(asked))
    assert desk.take() == [("open", 7)]
    desk.show((*ALL, asked))
    desk.tell(Wrote(7, "Well", LiveFigures(1, 0.0, context_used=10)), ReplyFinished(reply(6, 5, "Well.")))
    assert desk.shown == ["One", "First", "Two", "Sec", "And?", "Well."]


def test_a_prompt_is_copied_whole(desk: Desk) -> None:
    view = desk.view(ONE)
    assert isinstance(view, PromptView)
    copied: list[str] = []
    desk.transcript.message_actions.copied.connect(copied.append)
    QTest.mouseClick(view.footer.copy_button, Qt.MouseButton.LeftButton)
    assert copied == ["One"]
