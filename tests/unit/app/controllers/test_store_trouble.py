"""A store that cannot be opened is no dead end: on a bridge without an engine, and with the real one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from PySide6.QtCore import QCoreApplication
from pytestqt.qtbot import QtBot

from app.controllers.store_trouble import StoreTrouble
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.theme import ThemeKeeper
from engine import EngineConfig, ListConversations
from engine.messages.events import ConversationsListed, Event, Failed
from tests.fakes.bridge import FakeBridge
from tests.fakes.ear import Ear


@pytest.fixture
def window(qtbot: QtBot, keeper: ThemeKeeper) -> MainWindow:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    window.show()
    return window


class Desk:
    def __init__(self, window: MainWindow) -> None:
        self.bridge = FakeBridge()
        self.num_begun = 0
        self.trouble = StoreTrouble(window, cast(EngineBridge, self.bridge), Path("/nowhere"), self.begin)

    def begin(self) -> None:
        self.num_begun += 1

    def tell(self, event: Event) -> None:
        self.bridge.happened.emit(event)
        QCoreApplication.processEvents()


def test_the_sentence_stays_until_it_works(window: MainWindow) -> None:
    desk = Desk(window)
    desk.tell(Failed("The store is locked.", ListConversations()))
    dialog = desk.trouble.dialog
    assert dialog is not None
    assert dialog.isVisible()
    assert dialog.sentence.text() == "The store is locked."
    dialog.retry_button.click()
    dialog.retry_button.click()
    assert desk.num_begun == 1, "not before there is an answer"
    desk.tell(Failed("The store is still locked.", ListConversations()))
    assert dialog.sentence.text() == "The store is still locked."
    dialog.retry_button.click()
    desk.tell(ConversationsListed(()))
    assert desk.num_begun == 2
    assert desk.trouble.dialog is None


def test_later_failures_are_told_elsewhere(window: MainWindow) -> None:
    desk = Desk(window)
    desk.tell(ConversationsListed(()))
    desk.tell(Failed("The disk is full.", ListConversations()))
    assert desk.trouble.dialog is None


def test_one_can_quit(qtbot: QtBot, window: MainWindow) -> None:
    desk = Desk(window)
    desk.tell(Failed("The store is locked.", ListConversations()))
    assert desk.trouble.dialog is not None
    with qtbot.waitSignal(window.closing):
        desk.trouble.dialog.quit_button.click()


@pytest.fixture
def real(tmp_path: Path) -> Iterator[EngineBridge]:
    (tmp_path / "store").write_text("no folder")
    bridge = EngineBridge(EngineConfig(tmp_path / "store"))
    yield bridge
    assert bridge.close()


def test_what_the_user_mends_is_tried_again(
    qtbot: QtBot, window: MainWindow, real: EngineBridge, tmp_path: Path
) -> None:
    def begin() -> None:
        real.post(ListConversations())

    trouble = StoreTrouble(window, real, tmp_path / "store", begin)
    ear = Ear(real)
    with qtbot.waitSignal(ear.heard, timeout=30_000):
        real.post(ListConversations())
    qtbot.waitUntil(lambda: trouble.dialog is not None)
    assert trouble.dialog is not None
    assert str(tmp_path / "store") in trouble.dialog.sentence.text()
    (tmp_path / "store").unlink()
    with qtbot.waitSignal(ear.heard, timeout=30_000):
        trouble.dialog.retry_button.click()
    qtbot.waitUntil(lambda: trouble.dialog is None)
