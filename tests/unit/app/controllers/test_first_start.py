from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.controllers.first_start import FirstStart
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings, SettingsFile
from app.settings.keeper import SettingsKeeper
from app.theme import ThemeKeeper
from engine import LoadTarget
from engine.messages.conversations import ConversationSummary
from engine.messages.events import ConversationsListed, Event, PromptKept, TargetInfo, TargetReady
from tests.fakes.bridge import FakeBridge
from tests.unit.app.widgets.messages import prompt

CHATS = tuple(ConversationSummary(number, f"Chat {number}", datetime.now(UTC)) for number in (7, 3))


class Desk:
    def __init__(self, window: MainWindow, folder: Path, settings: AppSettings) -> None:
        self.window = window
        self.bridge = FakeBridge()
        self.keeper = SettingsKeeper(SettingsFile(folder), settings)
        FirstStart(window, cast(EngineBridge, self.bridge), self.keeper)
        window.show()

    def tell(self, *events: Event) -> None:
        for event in events:
            self.bridge.happened.emit(event)
        QCoreApplication.processEvents()

    @property
    def is_introduced(self) -> bool:
        return self.window.transcript.welcome.introduction.isVisible()


@pytest.fixture
def sit_down(qtbot: QtBot, keeper: ThemeKeeper, tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    desks: list[Desk] = []

    def sit(settings: AppSettings | None = None) -> Desk:
        window = MainWindow(keeper)
        qtbot.addWidget(window)
        desks.append(Desk(window, tmp_path, settings or AppSettings()))
        return desks[-1]

    yield sit
    for desk in desks:
        desk.keeper.close()


def test_the_app_says_what_it_is_until_the_first_chat(sit_down: Callable[..., Desk]) -> None:
    desk = sit_down()
    desk.tell(ConversationsListed(()))
    assert desk.is_introduced
    assert len(desk.window.transcript.welcome.example_buttons) == 4
    desk.tell(PromptKept(prompt(1)))
    assert not desk.is_introduced
    assert desk.keeper.settings.has_chatted
    assert not sit_down(desk.keeper.settings).is_introduced


def test_who_has_chats_is_not_introduced(sit_down: Callable[..., Desk]) -> None:
    desk = sit_down()
    desk.tell(ConversationsListed(CHATS))
    assert not desk.is_introduced


def test_the_ways_to_a_model(qtbot: QtBot, sit_down: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch) -> None:
    desk = sit_down()
    welcome, window = desk.window.transcript.welcome, desk.window
    with qtbot.waitSignal(window.starter_action.triggered):
        welcome.starter_button.click()
    desk.tell(TargetReady(TargetInfo("S", "/s.gguf", "llama", 1000, 10, 2), LoadTarget("starter")))
    with qtbot.assertNotEmitted(window.starter_action.triggered):
        QTest.mouseClick(welcome.starter_button, Qt.MouseButton.LeftButton)
    assert window.focusWidget() is window.prompt_box.editor, "it is there: one can write"
    with qtbot.waitSignal(welcome.file_requested), monkeypatch.context() as context:
        context.setattr("app.widgets.target_bar.QFileDialog.getOpenFileName", lambda *_: ("", ""))
        welcome.file_button.click()
    with qtbot.waitSignal(welcome.models_requested), monkeypatch.context() as context:
        context.setattr("app.widgets.target_bar.QFileDialog.getOpenFileName", lambda *_: ("", ""))
        welcome.models_button.click()


def test_the_last_chat_is_opened_only_if_that_is_wanted(qtbot: QtBot, sit_down: Callable[..., Desk]) -> None:
    with qtbot.assertNotEmitted(sit_down().window.conversations.chosen) as _:
        pass
    usual = sit_down()
    with qtbot.assertNotEmitted(usual.window.conversations.chosen):
        usual.tell(ConversationsListed(CHATS))
    wanting = sit_down(AppSettings(open_last_chat=True))
    with qtbot.waitSignal(wanting.window.conversations.chosen) as chosen:
        wanting.tell(ConversationsListed(CHATS))
    assert chosen.args == [7]
    with qtbot.assertNotEmitted(wanting.window.conversations.chosen):
        wanting.tell(ConversationsListed(CHATS))


def test_who_writes_already_is_left_alone(qtbot: QtBot, sit_down: Callable[..., Desk]) -> None:
    desk = sit_down(AppSettings(open_last_chat=True))
    desk.window.prompt_box.set_text("Wait, I")
    with qtbot.assertNotEmitted(desk.window.conversations.chosen):
        desk.tell(ConversationsListed(CHATS))
