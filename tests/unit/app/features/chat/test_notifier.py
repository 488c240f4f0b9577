from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication, QSystemTrayIcon
from pytestqt.qtbot import QtBot

from app.features.chat.chat import ChatController
from app.features.chat.notifier import Notifier
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings, SettingsFile
from app.settings.keeper import SettingsKeeper
from app.theme import ThemeKeeper, app_icon
from app.widgets.notice_bar import DesktopNotice
from engine.values.conversations import ConversationSummary
from engine.values.events import Event, ReplyFinished, ToolAsked
from engine.values.replies import StopReason
from engine.values.requests import Failure
from engine.values.sentences import say
from tests.fakes.bridge import FakeBridge
from tests.unit.app.widgets.calls import FORECAST, call, calling
from tests.unit.app.widgets.messages import STATISTICS, reply


class FakeNotice(QObject):
    """Has the interface of `app.widgets.desktop_notice.DesktopNotice`."""

    clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[tuple[str, str]] = []
        self.waits = False

    def show(self, title: str, text: str) -> None:
        self.shown.append((title, text))
        self.waits = True

    def hide(self) -> None:
        self.waits = False


class FakeChat(QObject):
    """Has the signals of `app.features.chat.chat.ChatController`."""

    began = Signal()
    ended = Signal(object)


class Desk:
    def __init__(self, window: MainWindow, folder: Path) -> None:
        self.window = window
        self.bridge = FakeBridge()
        self.notice = FakeNotice()
        self.keeper = SettingsKeeper(SettingsFile(folder), AppSettings())
        self.now_s = 0.0
        self.chat = FakeChat()
        chat, notice = cast(ChatController, self.chat), cast(DesktopNotice, self.notice)
        Notifier(window, self.bridge, self.keeper, chat, notice)

    def tell(self, event: Event) -> None:
        self.bridge.tell(event)


@pytest.fixture
def desk(qtbot: QtBot, keeper: ThemeKeeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    desk = Desk(window, tmp_path)
    monkeypatch.setattr("app.features.chat.notifier.monotonic", lambda: desk.now_s)
    window.conversations.set_conversations((ConversationSummary(1, "Rainbows", datetime.now(UTC)),))
    yield desk
    desk.keeper.close()


def answer(desk: Desk, seconds: float) -> None:
    desk.chat.began.emit()
    desk.now_s += seconds
    desk.tell(ReplyFinished(reply(2)))
    desk.chat.ended.emit(None)


def test_a_long_reply_is_told_to_who_is_elsewhere(qtbot: QtBot, desk: Desk) -> None:
    answer(desk, 16)
    assert desk.notice.shown == [("A reply is ready", "Rainbows")]
    with qtbot.waitSignal(desk.window.conversations.chosen) as chosen:
        desk.notice.clicked.emit()
    assert chosen.args == [1]
    assert desk.window.isVisible()
    assert not desk.notice.waits


def test_a_short_one_is_not(desk: Desk) -> None:
    answer(desk, 14)
    assert desk.notice.shown == []
    desk.keeper.change("notify_after_s", 10)
    answer(desk, 14)
    assert len(desk.notice.shown) == 1


def test_nor_is_any_where_that_is_switched_off(desk: Desk) -> None:
    desk.keeper.change("notify", False)
    answer(desk, 100)
    assert desk.notice.shown == []


def test_who_is_there_sees_it_anyway(qtbot: QtBot, desk: Desk) -> None:
    with qtbot.waitActive(desk.window):
        desk.window.show()
        desk.window.activateWindow()
    answer(desk, 100)
    assert desk.notice.shown == []


def test_what_waits_is_taken_away_when_the_user_is_back(qtbot: QtBot, desk: Desk) -> None:
    answer(desk, 100)
    assert desk.notice.waits
    with qtbot.waitActive(desk.window):
        desk.window.show()
        desk.window.activateWindow()
    qtbot.waitUntil(lambda: not desk.notice.waits)


def test_what_waits_is_taken_away_with_the_window(desk: Desk) -> None:
    answer(desk, 100)
    desk.window.close()
    assert not desk.notice.waits


def test_nothing_of_a_private_chat_is_shown(desk: Desk) -> None:
    summary = ConversationSummary(1, "Secret", datetime.now(UTC), incognito=True)
    desk.window.conversations.set_conversations((summary,))
    answer(desk, 100)
    assert desk.notice.shown == [("A reply is ready", "Slipstream has answered you.")]


def test_a_reply_that_broke_off_is_told_as_such(desk: Desk) -> None:
    desk.chat.began.emit()
    desk.now_s += 60
    desk.tell(ReplyFinished(replace(reply(2), statistics=replace(STATISTICS, stop_reason=StopReason.FAILED))))
    assert desk.notice.shown == [("A reply was interrupted", "Rainbows")]


@pytest.mark.qt_log_ignore("systemTrayWindowChanged")
def test_an_icon_is_in_the_tray_only_while_a_message_waits(
    qtbot: QtBot, keeper: ThemeKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    notice = DesktopNotice(window, app_icon())
    notice.show("A reply is ready", "Rainbows")  # no tray here: the window asks for attention
    assert window.findChildren(QSystemTrayIcon) == []
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: True)
    monkeypatch.setattr(QSystemTrayIcon, "supportsMessages", lambda: True)
    notice.show("A reply is ready", "Rainbows")
    (icon,) = notice.findChildren(QSystemTrayIcon)
    assert icon.isVisible()
    with qtbot.waitSignal(notice.clicked):
        icon.messageClicked.emit()
    notice.hide()
    assert not icon.isVisible()


def test_time_that_a_failed_reply_took_is_not_the_next_ones(desk: Desk) -> None:
    desk.chat.began.emit()
    desk.chat.ended.emit(Failure(say("It broke; try again.")))
    desk.now_s += 100
    desk.chat.began.emit()
    desk.now_s += 1
    desk.tell(ReplyFinished(reply(2)))
    assert desk.notice.shown == []


def test_a_call_that_waits_is_told_at_once(qtbot: QtBot, desk: Desk) -> None:
    desk.chat.began.emit()
    desk.tell(ReplyFinished(calling(2, 1, call(1))))
    assert desk.notice.shown == [], "the answer goes on"
    desk.tell(ToolAsked(1, 2, call(1), FORECAST))
    assert desk.notice.shown == [("The model waits for your answer", "Rainbows")]
    with qtbot.waitSignal(desk.window.conversations.chosen) as chosen:
        desk.notice.clicked.emit()
    assert chosen.args == [1]
    desk.now_s += 16
    qtbot.waitUntil(lambda: QApplication.activeWindow() is not None)
    desk.tell(ReplyFinished(reply(4)))
    assert len(desk.notice.shown) == 1, "the window was in front meanwhile"
    desk.keeper.change("notify", False)
    desk.tell(ToolAsked(1, 2, call(1), FORECAST))
    assert len(desk.notice.shown) == 1


def test_the_tool_of_a_private_chat_is_not_named(desk: Desk) -> None:
    desk.window.conversations.set_conversations((ConversationSummary(1, "Secret", datetime.now(UTC), incognito=True),))
    desk.tell(ToolAsked(1, 2, call(1), FORECAST))
    assert desk.notice.shown == [("The model waits for your answer", "It asks whether it may use a tool.")]
