"""The question before the first message goes to a new place."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from app.features.chat.branch import BranchController
from app.main_window import MainWindow
from engine.values.conversations import Conversation, ConversationSummary
from engine.values.errors import ServerNotAgreed
from engine.values.events import (
    ConversationOpened,
    ConversationsListed,
    Event,
    ReplyFinished,
    ServersListed,
    TargetReady,
)
from engine.values.orders import ContinueReply, EditPrompt, Regenerate, Send
from engine.values.remote import RemoteServer
from engine.values.targets import LoadOrder
from tests.fakes.answers import Answered, Broke
from tests.fakes.bridge import Asked, FakeBridge
from tests.fakes.chats import Chats
from tests.unit.app.server_samples import AGREED, DESK, here, on_server
from tests.unit.app.widgets.messages import prompt, reply

SUMMARY = ConversationSummary(1, "Chat", datetime.now(UTC))


class Desk:
    def __init__(self, window: MainWindow) -> None:
        self.window, self.bridge = window, FakeBridge()
        self.chats = Chats(window, self.bridge)
        BranchController(window, self.bridge, self.chats.conversations, self.chats.chat, self.chats.consent)
        self.chats.start("starter")
        self.tell(ConversationsListed((SUMMARY,)), ServersListed((DESK,)))

    def tell(self, *events: Event) -> None:
        self.bridge.tell(*events)

    def use(self, server: RemoteServer = DESK) -> None:
        self.tell(TargetReady(on_server(server), self.bridge.loads[-1]))

    def open(self, *servers: str) -> None:
        self.window.conversations.chosen.emit(1)
        shown = (prompt(1), replace(reply(2, "It is."), parent_id=1))
        self.tell(ConversationOpened(Conversation(SUMMARY, "", shown, servers=servers)))

    def say(self, text: str = "Hi") -> None:
        self.window.prompt_box.set_text(text)
        self.window.prompt_box.submit()

    def posted(self, *kinds: type) -> list[object]:
        return [each for each in self.bridge.orders if isinstance(each, kinds)]

    @property
    def agreements(self) -> list[Asked]:
        return self.bridge.asked(self.bridge.engine.remote.agree)

    @property
    def boxes(self) -> list[QMessageBox]:
        return [each for each in self.window.findChildren(QMessageBox) if each.isVisible()]

    @property
    def question(self) -> QMessageBox:
        (box,) = self.boxes
        return box

    @property
    def words(self) -> str:
        return f"{self.question.text()} {self.question.informativeText()}"

    def press(self, words: str) -> None:
        (button,) = [each for each in self.question.findChildren(QPushButton) if each.text() == words]
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)

    def agree(self) -> None:
        self.press("Send")
        self.agreements[-1].answer()


@pytest.fixture
def desk(window: MainWindow) -> Desk:
    return Desk(window)


def test_nothing_is_sent_or_taken_from_the_box_before_the_user_agrees(desk: Desk) -> None:
    desk.use()
    desk.say("My diary")
    assert desk.posted(Send) == desk.agreements == []
    assert desk.window.prompt_box.text == "My diary"
    desk.press("Cancel")
    assert desk.posted(Send) == desk.agreements == []
    assert desk.window.prompt_box.text == "My diary"


def test_what_is_agreed_to_is_sent_and_not_asked_again(desk: Desk) -> None:
    desk.use()
    desk.say("My diary")
    desk.press("Send")
    (agreement,) = desk.agreements
    assert agreement.args == (DESK.address,)
    assert desk.posted(Send) == [], "the engine does not know yet"
    agreement.answer()
    (sent,) = desk.posted(Send)
    assert isinstance(sent, Send)
    assert sent.prompt == "My diary"
    assert desk.window.prompt_box.text == ""
    desk.tell(ReplyFinished(replace(reply(2, "Hm."), parent_id=1)), Answered())
    desk.say("And more")
    assert len(desk.posted(Send)) == 2
    assert desk.boxes == []


def test_it_says_what_goes_where_and_how(desk: Desk) -> None:
    desk.use()
    desk.say()
    assert "Send this chat to Workstation (192.168.1.5:8080)?" in desk.words
    assert "sends the whole chat there: its system prompt" in desk.words
    assert "NOT encrypted" in desk.words
    assert "So far" not in desk.words, "nothing was said yet"
    button = desk.question.defaultButton()
    assert isinstance(button, QPushButton)
    assert button.text() == "Cancel", "Enter alone sends nothing"


def test_a_chat_that_was_never_elsewhere_is_told_of_and_so_is_an_incognito_one(desk: Desk) -> None:
    desk.use()
    desk.open()
    desk.say()
    assert "So far, this chat has never left this computer." in desk.words
    desk.press("Cancel")
    desk.tell(ReplyFinished(replace(reply(4, "Yes."), parent_id=3, server=AGREED.address)))
    desk.say()
    assert "never left" not in desk.words
    desk.press("Cancel")
    desk.window.incognito_action.trigger()
    desk.say()
    assert "incognito" in desk.words


def test_old_chats_are_asked_for_as_well(desk: Desk) -> None:
    desk.use()
    desk.open()
    desk.window.regenerate_action.trigger()
    desk.press("Cancel")
    desk.window.transcript.message_actions.continue_requested.emit()
    desk.press("Cancel")
    desk.window.transcript.message_actions.revise(1, "Another question")
    desk.window.transcript.message_actions.revision_submitted.emit(1, "Another question")
    desk.press("Cancel")
    assert desk.posted(Regenerate, ContinueReply, EditPrompt) == desk.agreements == []
    assert [each.id for each in desk.window.transcript.messages] == [1, 2], "all is as it was"
    desk.window.regenerate_action.trigger()
    desk.agree()
    assert len(desk.posted(Regenerate)) == 1


def test_where_the_user_has_agreed_before_nothing_is_asked(desk: Desk) -> None:
    desk.tell(ServersListed((AGREED,)))
    desk.use(AGREED)
    desk.say()
    assert len(desk.posted(Send)) == 1


def test_a_model_of_this_computer_asks_nothing(desk: Desk) -> None:
    desk.use()
    desk.tell(TargetReady(here(), LoadOrder("starter")))
    desk.say()
    assert len(desk.posted(Send)) == 1


def test_what_the_engine_refuses_comes_back_to_the_box_and_is_asked_for(desk: Desk) -> None:
    """The certificate of the server has changed since the user agreed, for instance."""
    desk.tell(ServersListed((AGREED,)))
    desk.use(AGREED)
    desk.say("My diary")
    (sent,) = desk.posted(Send)
    assert isinstance(sent, Send)
    desk.tell(Broke(ServerNotAgreed("No chat has been sent there yet.")))
    assert desk.window.prompt_box.text == "My diary"
    desk.window.prompt_box.submit()
    assert desk.question.text().startswith("Send this chat to")
    assert desk.posted(Send) == [sent]


def test_an_agreement_that_is_not_kept_sends_nothing(qtbot: QtBot, desk: Desk) -> None:
    desk.use()
    desk.say("My diary")
    desk.press("Send")
    desk.agreements[-1].fail("The store is full.")
    assert desk.posted(Send) == []
    assert desk.window.prompt_box.text == "My diary"
    qtbot.waitUntil(lambda: bool(desk.window.toasts.shown))
    assert desk.window.toasts.shown[0].words.text() == "The store is full."
