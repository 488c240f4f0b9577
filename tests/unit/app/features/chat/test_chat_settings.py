"""What one conversation has of its own, on a bridge without an engine."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.features.chat.chat_settings import ChatSettingsController
from app.main_window import MainWindow
from app.theme import ThemeKeeper
from engine import OwnSampling, ReplySettings, SamplingSettings
from engine.values.conversations import Conversation, ConversationSummary, Message, Role
from engine.values.events import Event, PromptStored, TargetInfo, TargetReady
from engine.values.orders import Send
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import Chats

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
USUAL = ReplySettings(SamplingSettings(temperature=0.5))


class Desk:
    def __init__(self, window: MainWindow) -> None:
        self.window = window
        self.bridge = FakeBridge()
        chats = Chats(window, self.bridge, USUAL, system_prompt="Be kind.")
        self.chat = chats.chat
        self.dialog = ChatSettingsController(window, self.bridge, chats.conversations, chats.chat).dialog
        chats.start("starter")
        target = TargetInfo("Tiny", "/models/tiny.gguf", "llama 1B Q4", 1000, 10, 2)
        self.tell(TargetReady(target, self.bridge.loads[-1]))
        self.take()

    def tell(self, *events: Event) -> None:
        self.bridge.tell(*events)

    def take(self) -> list[Any]:
        return self.bridge.take()

    def open(self, system_prompt: str = "Be brief.", sampling: OwnSampling = OwnSampling()) -> None:  # noqa: B008
        self.window.conversations.chosen.emit(7)
        self.window.conversation_action.trigger()
        assert ("open", 7) in self.take()
        conversation = Conversation(ConversationSummary(7, "Chat", NOW), system_prompt, (), sampling)
        self.bridge.last(self.bridge.engine.chats.open).answer(conversation)

    def save(self) -> None:
        QTest.mouseClick(self.dialog.save_button, Qt.MouseButton.LeftButton)


@pytest.fixture
def desk(qtbot: QtBot, keeper: ThemeKeeper) -> Desk:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    window.show()
    return Desk(window)


def test_it_shows_what_holds_and_keeps_what_is_changed(desk: Desk) -> None:
    desk.open(sampling=OwnSampling(top_k=3, seed=2**63))
    assert desk.dialog.isVisible()
    assert desk.dialog.system_prompt.toPlainText() == "Be brief."
    rows = desk.dialog.rows
    assert [name for name, row in rows.items() if row.own.isChecked()] == ["top_k", "seed"]
    assert rows["temperature"].value.value() == 0.5
    assert rows["temperature"].usual.text() == "default"
    assert rows["max_tokens"].usual.text() == "default: no limit"
    assert rows["max_tokens"].value.isHidden()
    rows["seed"].own.setChecked(False)
    rows["temperature"].own.setChecked(True)
    rows["temperature"].value.selectAll()
    QTest.keyClicks(rows["temperature"].value, "0")
    rows["max_tokens"].own.setChecked(True)
    desk.dialog.system_prompt.setPlainText("Be long.")
    desk.save()
    wanted = OwnSampling(temperature=0.0, top_k=3, max_tokens=1024)
    assert desk.take() == [("change", 7, "Be long.", wanted)]
    assert not desk.dialog.isVisible()


def test_reset_leads_back_to_what_holds_for_all(desk: Desk) -> None:
    desk.open(sampling=OwnSampling(top_k=3))
    QTest.mouseClick(desk.dialog.reset_button, Qt.MouseButton.LeftButton)
    desk.save()
    assert desk.take() == [("change", 7, "Be kind.", OwnSampling())]


def test_cancelled_nothing_changes(desk: Desk) -> None:
    desk.open()
    desk.dialog.system_prompt.setPlainText("Never mind.")
    QTest.mouseClick(desk.dialog.cancel_button, Qt.MouseButton.LeftButton)
    assert desk.take() == []


def test_what_is_set_before_a_chat_holds_for_the_next_one_alone(desk: Desk) -> None:
    desk.window.conversation_action.trigger()
    assert desk.dialog.system_prompt.toPlainText() == "Be kind."
    desk.dialog.rows["top_k"].own.setChecked(True)
    desk.dialog.rows["top_k"].value.selectAll()
    QTest.keyClicks(desk.dialog.rows["top_k"].value, "1")
    desk.dialog.system_prompt.setPlainText("Rhyme.")
    desk.save()
    assert desk.take() == []
    for expected in (
        Send("Hi", None, USUAL, "Rhyme.", sampling=OwnSampling(top_k=1), has_own_system_prompt=True),
        Send("Hi", None, USUAL, "Be kind."),
    ):
        desk.window.conversations.new_requested.emit()
        desk.window.prompt_box.set_text("Hi")
        desk.window.prompt_box.submit()
        assert desk.take() == [expected]
        desk.tell(PromptStored(Message(1, 7, None, Role.USER, "Hi", NOW)))
        desk.chat._end_reply()


def test_it_belongs_to_the_conversation_that_is_open(desk: Desk) -> None:
    desk.open()
    desk.window.conversations.new_requested.emit()
    assert not desk.dialog.isVisible()
