"""Calls of a reply, event by event, on a real window and a bridge without an engine."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

from app.features.chat.branch import BranchController
from app.features.tools.tool_calls import ToolCallsController
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings
from app.widgets.transcript.call_view import CallQuestion
from app.widgets.transcript.reply_view import ReplyView
from app.widgets.words.prose import Prose
from engine import write_tool_servers
from engine.values.conversations import Conversation, ConversationSummary, Message
from engine.values.events import (
    ConversationForgotten,
    ConversationOpened,
    ConversationsListed,
    Event,
    EverythingForgotten,
    PromptStored,
    ReplyFinished,
    TargetInfo,
    TargetReady,
    ToolAsked,
    ToolFinished,
    ToolServerChanged,
    ToolStarted,
)
from engine.values.orders import ContinueReply, Regenerate, Send
from engine.values.speed import LiveFigures
from engine.values.tools import Outcome, Permission, ServerState, ToolServer
from tests.fakes.answers import Answered, Began, Broke, Calls, Wrote
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import Chats, unsaved
from tests.unit.app.widgets.calls import FORECAST, call, calling, conversation, last, result
from tests.unit.app.widgets.messages import prompt

NOW = datetime.now(UTC)
TARGET = TargetInfo("Tiny", "/models/tiny.gguf", "llama", 1000, 10, 2, calls_tools=True)
SERVERS = (ToolServer("weather", "weather-server"), ToolServer("files", "files-server"))
FIGURES = LiveFigures(3, 10.0)


class Desk:
    def __init__(self, qtbot: QtBot, window: MainWindow) -> None:
        self._qtbot = qtbot
        self.window = window
        self.bridge = FakeBridge()
        self.keeper = unsaved(AppSettings(tool_servers=write_tool_servers(SERVERS), tools_last=("weather",)))
        self.chats = Chats(window, self.bridge, keeper=self.keeper)
        ToolCallsController(window, self.bridge, self.chats.conversations, self.chats.chat)
        BranchController(window, self.bridge, self.chats.conversations, self.chats.chat, self.chats.consent)
        self.chats.start("starter")
        summaries = tuple(ConversationSummary(number, f"Chat {number}", NOW) for number in (1, 2))
        self.tell(TargetReady(TARGET, self.bridge.loads[-1]), ConversationsListed(summaries))
        self.activate()

    def activate(self) -> None:
        with self._qtbot.waitActive(self.window):
            self.window.activateWindow()
        self.window.prompt_box.setFocus()

    def tell(self, *events: Event) -> None:
        self.bridge.tell(*events)

    def posted(self, kind: type) -> list:  # type: ignore[type-arg]
        return [command for command in self.bridge.orders if isinstance(command, kind)]

    def send(self) -> Send:
        self.window.prompt_box.set_text("Will it rain?")
        self.window.prompt_box.submit()
        command = self.posted(Send)[-1]
        assert isinstance(command, Send)
        self.tell(PromptStored(prompt(1)), Began(1, 1, 10, 0))
        return command

    def ask(self) -> Send:
        command = self.send()
        self.tell(Wrote(1, "Let me look.", FIGURES), Calls(1, FIGURES))
        self.tell(ReplyFinished(calling(2, 1, call(1))), ToolAsked(1, 2, call(1), FORECAST))
        return command

    def answer(self, text: str = "Take an umbrella.", number: int = 4) -> None:
        self.tell(Began(1, number - 1, 10, 0), ReplyFinished(last(number, number - 1, text)))

    def open(self, number: int, messages: tuple[Message, ...] = ()) -> None:
        self.window.conversations.chosen.emit(number)
        summary = ConversationSummary(number, f"Chat {number}", NOW)
        self.tell(ConversationOpened(Conversation(summary, "", messages)))

    @property
    def view(self) -> ReplyView:
        view = self.window.transcript.column.built_rows()[-1][1]
        assert isinstance(view, ReplyView)
        return view

    @property
    def lines(self) -> list[str]:
        return [spoken(view.button) for view in self.view.call_views]


def prose_of(view: ReplyView) -> list[str]:
    return [part.toPlainText() for part in view.block_views if isinstance(part, Prose)]


def spoken(widget: QWidget) -> str:
    return str(QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name))


@pytest.fixture
def desk(qtbot: QtBot, window: MainWindow) -> Desk:
    return Desk(qtbot, window)


def test_from_the_question_to_the_answer(desk: Desk) -> None:
    command = desk.ask()
    assert command.settings.tools == ("weather",)
    assert isinstance(QApplication.focusWidget(), CallQuestion)
    assert desk.window.is_busy
    question = desk.window.transcript.question
    assert question is not None
    question.buttons[0].click()
    (answer,) = desk.bridge.asked(desk.bridge.engine.asking.answer)
    assert answer.args == (call(1).id, Permission.ONCE)
    assert desk.window.transcript.question is None
    assert desk.lines == ["Next: weather: forecast"]
    desk.tell(ToolStarted(1, 2, call(1)))
    assert desk.lines == ["Calling weather: forecast…"]
    desk.tell(ToolFinished(result(3, 2, call(1))))
    assert desk.lines == ["Called weather: forecast · 0.8 s"]
    assert desk.view.waiting is not None, "the next reply is being prepared"
    desk.answer()
    assert not desk.window.is_busy
    assert prose_of(desk.view) == ["Let me look.", "Take an umbrella."]
    desk.tell(Answered())
    assert len(desk.window.transcript.messages) == 4


def test_what_is_being_typed_is_not_disturbed(desk: Desk) -> None:
    desk.send()
    QTest.keyClicks(desk.window.prompt_box.editor, "And tom")
    desk.tell(ReplyFinished(calling(2, 1, call(1))), ToolAsked(1, 2, call(1), FORECAST))
    assert QApplication.focusWidget() is desk.window.prompt_box.editor
    desk.window.call_action.trigger()
    assert isinstance(QApplication.focusWidget(), CallQuestion)


def test_a_key_that_is_typed_in_the_question_goes_to_the_message_box(desk: Desk) -> None:
    desk.ask()
    QTest.keyClick(desk.window.windowHandle(), Qt.Key.Key_H)
    assert desk.window.prompt_box.text == "h"
    assert not desk.bridge.asked(desk.bridge.engine.asking.answer)


def test_a_question_in_another_chat_is_told_and_can_be_shown(desk: Desk) -> None:
    desk.send()
    desk.open(2)
    desk.tell(ReplyFinished(calling(2, 1, call(1))), ToolAsked(1, 2, call(1), FORECAST))
    (toast,) = desk.window.toasts.shown
    assert toast.words.text() == "May the model use “forecast” of weather?"
    assert desk.window.transcript.question is None
    desk.window.call_action.trigger()
    assert desk.bridge.calls[-1] == ("open", 1)
    summary = ConversationSummary(1, "Chat 1", NOW)
    desk.tell(ConversationOpened(Conversation(summary, "", (prompt(1),))))  # read before the reply was stored
    assert isinstance(QApplication.focusWidget(), CallQuestion)
    assert desk.window.toasts.shown == ()
    assert desk.view.footer is None
    question = desk.window.transcript.question
    assert question is not None
    question.buttons[3].click()
    desk.tell(ToolFinished(result(3, 2, call(1), "No.", Outcome.REFUSED)))
    desk.answer("Then I cannot tell.")
    assert desk.lines == ["You declined weather: forecast"]


def test_an_answer_that_goes_on_while_another_chat_is_shown(desk: Desk) -> None:
    desk.ask()
    desk.open(2)
    desk.tell(ToolStarted(1, 2, call(1)), ToolFinished(result(3, 2, call(1))), Began(1, 3, 10, 0))
    desk.tell(Wrote(1, "Take an", FIGURES))
    desk.open(1, (prompt(1), calling(2, 1, call(1)), result(3, 2, call(1))))
    assert prose_of(desk.view) == ["Let me look.", "Take an"]
    assert desk.lines == ["Called weather: forecast · 0.8 s"]
    desk.answer()
    assert prose_of(desk.view) == ["Let me look.", "Take an umbrella."]


def test_it_ends_with_the_command_where_no_reply_follows(desk: Desk) -> None:
    desk.ask()
    desk.tell(ToolFinished(result(3, 2, call(1), "Stopped.", Outcome.STOPPED)))
    assert desk.window.is_busy
    desk.tell(Answered())
    assert not desk.window.is_busy
    assert desk.view.footer is not None
    assert not desk.view.footer.continue_button.isHidden()


def test_a_failure_in_the_middle_leaves_what_is_stored(desk: Desk) -> None:
    desk.ask()
    desk.tell(Broke.because("The model broke; load it again."))
    assert not desk.window.is_busy
    assert not desk.window.call_action.isEnabled()
    assert desk.lines == ["Not run: weather: forecast"]
    assert desk.view.footer is not None


def test_an_answer_goes_on_where_it_was_stopped(desk: Desk) -> None:
    desk.open(1, conversation()[:4])
    desk.window.continue_action.trigger()
    assert len(desk.posted(ContinueReply)) == 1
    assert desk.view.waiting is not None
    assert desk.view.footer is None
    desk.answer(number=5)
    assert [message.id for message in desk.window.transcript.messages] == [1, 2, 3, 4, 5]
    assert len(desk.window.transcript.column.built_rows()) == 2


def test_calls_that_nobody_carried_out_are_asked_for_again(desk: Desk) -> None:
    desk.open(1, conversation()[:3])
    desk.window.continue_action.trigger()
    assert desk.lines[1] == "Next: weather: forecast"
    assert desk.view.waiting is None
    desk.tell(ToolAsked(1, 2, call(2), FORECAST))
    assert desk.window.transcript.question is not None
    desk.tell(ToolFinished(result(4, 3, call(2))))
    desk.answer(number=5)
    assert [message.id for message in desk.window.transcript.messages] == [1, 2, 3, 4, 5]


def test_an_answer_is_written_again_from_its_beginning(desk: Desk) -> None:
    desk.open(1, conversation())
    desk.window.regenerate_action.trigger()
    assert desk.posted(Regenerate)[-1].message_id == 5
    assert [message.id for message in desk.window.transcript.messages] == [1]


def test_a_server_that_starts_is_told_while_the_user_waits(desk: Desk) -> None:
    hint = desk.window.prompt_box.hint
    desk.tell(ToolServerChanged("weather", ServerState.STARTING))
    assert hint.isHidden(), "nobody waits"
    desk.window.prompt_box.set_text("Will it rain?")
    desk.window.prompt_box.submit()
    desk.tell(ToolServerChanged("weather", ServerState.STARTING))
    assert hint.text() == "Starting the tool server weather…"
    assert not hint.isHidden()
    desk.tell(ToolServerChanged("weather", ServerState.READY))
    assert hint.isHidden()


# Which servers a chat may use


def ticks(desk: Desk) -> dict[str, bool]:
    desk.window.chat_tools_action.trigger()
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    found = {action.text(): action.isChecked() for action in menu.actions() if action.isCheckable()}
    menu.close()
    return found


def test_each_chat_keeps_its_servers(desk: Desk) -> None:
    tools = desk.window.prompt_box.tools
    assert [*desk.chats.tools.chosen] == ["weather"], "as last used"
    tools.switched.emit("files", True)
    desk.send()
    assert desk.posted(Send)[-1].settings.tools == ("weather", "files")
    desk.open(2)
    assert [*desk.chats.tools.chosen] == []
    tools.switched.emit("files", True)
    desk.open(1)
    assert [*desk.chats.tools.chosen] == ["weather", "files"]
    assert ticks(desk) == {"weather": True, "files": True}
    assert desk.keeper.settings.tools_of_chats == {"1": ("weather", "files"), "2": ("files",)}
    desk.tell(ConversationForgotten(ConversationSummary(2, "Chat 2", NOW)))
    assert desk.keeper.settings.tools_of_chats == {"1": ("weather", "files")}


def test_an_incognito_chat_leaves_nothing_of_its_servers(desk: Desk) -> None:
    before = desk.keeper.settings
    desk.window.incognito_action.trigger()
    assert [*desk.chats.tools.chosen] == []
    desk.window.prompt_box.tools.switched.emit("files", True)
    desk.send()
    assert desk.posted(Send)[-1].settings.tools == ("files",)
    assert [*desk.chats.tools.chosen] == ["files"]
    assert desk.keeper.settings.tools_of_chats == before.tools_of_chats
    assert desk.keeper.settings.tools_last == before.tools_last


def test_a_model_that_knows_no_tools_is_asked_for_none(desk: Desk) -> None:
    desk.tell(TargetReady(replace(TARGET, calls_tools=False), desk.bridge.loads[-1]))
    assert [*desk.chats.tools.chosen] == []
    assert desk.window.prompt_box.tools.accessibleDescription() == "Tiny cannot use tools."
    desk.window.chat_tools_action.trigger()
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    words = {action.text(): action.isEnabled() for action in menu.actions() if action.text()}
    assert words == {
        "Tiny cannot use tools: choose another model": False,
        "weather": False,
        "files": False,
        "Set up tools…": True,
    }
    menu.close()


def test_servers_that_are_off_or_gone_are_not_used(desk: Desk) -> None:
    off = (replace(SERVERS[0], is_on=False), SERVERS[1])
    desk.keeper.change("tool_servers", write_tool_servers(off))
    assert [*desk.chats.tools.chosen] == []
    assert ticks(desk) == {"files": False}
    desk.keeper.change("tool_servers", "")
    assert ticks(desk) == {}
    desk.tell(EverythingForgotten())
    assert ticks(desk) == {}
