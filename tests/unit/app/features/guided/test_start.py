"""What happens at a start: the welcome, files to open, and a store that cannot be opened, also with the real engine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.engine_bridge import EngineBridge
from app.features.chats.conversations import ConversationsController
from app.features.chats.store_notice import StoreTrouble
from app.features.guided.start import FileOpening, FirstStart
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings, SettingsFile
from app.settings.keeper import SettingsKeeper
from app.startup.open_request import OpenRequest
from app.theme import ThemeKeeper
from engine import EngineConfig
from engine.values.conversations import ConversationSummary
from engine.values.events import ConversationsListed, Event, PromptStored, TargetInfo, TargetReady
from engine.values.targets import LoadOrder
from tests.fakes.bridge import FakeBridge
from tests.fakes.ear import Ear
from tests.unit.app.widgets.messages import prompt

CHATS = tuple(ConversationSummary(number, f"Chat {number}", datetime.now(UTC)) for number in (7, 3))


class Desk:
    def __init__(self, window: MainWindow, folder: Path, settings: AppSettings) -> None:
        self.window = window
        self.bridge = FakeBridge()
        self.keeper = SettingsKeeper(SettingsFile(folder), settings)
        FirstStart(window, self.bridge, self.keeper)
        window.show()

    def tell(self, *events: Event) -> None:
        self.bridge.tell(*events)

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
    desk.tell(PromptStored(prompt(1)))
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
        QTest.mouseClick(welcome.starter_button, Qt.MouseButton.LeftButton)
    assert not desk.is_introduced, "a new chat took its place"
    assert welcome.isVisible()
    assert window.focusWidget() is window.prompt_box.editor
    assert not desk.keeper.settings.has_chatted, "the next start says hello again"
    welcome.show_introduction(True)
    desk.tell(TargetReady(TargetInfo("S", "/s.gguf", "llama", 1000, 10, 2), LoadOrder("starter")))
    with qtbot.assertNotEmitted(window.starter_action.triggered):
        QTest.mouseClick(welcome.starter_button, Qt.MouseButton.LeftButton)
    assert not desk.is_introduced
    assert window.focusWidget() is window.prompt_box.editor, "it is there: one can write"
    with qtbot.waitSignal(welcome.file_requested), monkeypatch.context() as context:
        context.setattr("app.widgets.target.target_bar.QFileDialog.getOpenFileName", lambda *_: ("", ""))
        welcome.file_button.click()
    with qtbot.waitSignal(welcome.models_requested), monkeypatch.context() as context:
        context.setattr("app.widgets.target.target_bar.QFileDialog.getOpenFileName", lambda *_: ("", ""))
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


# The store


class Trouble:
    def __init__(self, window: MainWindow) -> None:
        self.bridge = FakeBridge()
        self.num_begun = 0
        self.conversations = ConversationsController(window, self.bridge)
        self.controller = StoreTrouble(window, self.bridge, self.conversations, Path("/nowhere"), self.begin)
        self.conversations.list_all()

    def begin(self) -> None:
        self.num_begun += 1
        self.conversations.list_all()

    def fail(self, sentence: str) -> None:
        self.bridge.last(self.bridge.engine.chats.list_all).fail(sentence)


def test_the_sentence_stays_until_it_works(window: MainWindow) -> None:
    desk = Trouble(window)
    desk.fail("The store is locked.")
    dialog = desk.controller.dialog
    assert dialog is not None
    assert dialog.isVisible()
    assert dialog.sentence.text() == "The store is locked."
    dialog.retry_button.click()
    dialog.retry_button.click()
    assert desk.num_begun == 1, "not before there is an answer"
    desk.fail("The store is still locked.")
    assert dialog.sentence.text() == "The store is still locked."
    dialog.retry_button.click()
    desk.bridge.tell(ConversationsListed(()))
    assert desk.num_begun == 2
    assert desk.controller.dialog is None


def test_later_failures_are_told_elsewhere(window: MainWindow) -> None:
    desk = Trouble(window)
    desk.bridge.tell(ConversationsListed(()))
    desk.fail("The disk is full.")
    assert desk.controller.dialog is None


def test_one_can_quit(qtbot: QtBot, window: MainWindow) -> None:
    desk = Trouble(window)
    desk.fail("The store is locked.")
    assert desk.controller.dialog is not None
    with qtbot.waitSignal(window.closing):
        desk.controller.dialog.quit_button.click()


@pytest.fixture
def real(tmp_path: Path) -> Iterator[EngineBridge]:
    (tmp_path / "store").write_text("no folder")
    bridge = EngineBridge(EngineConfig(tmp_path / "store"))
    yield bridge
    assert bridge.close()


def test_what_the_user_mends_is_tried_again(
    qtbot: QtBot, window: MainWindow, real: EngineBridge, tmp_path: Path
) -> None:
    conversations = ConversationsController(window, real)
    controller = StoreTrouble(window, real, conversations, tmp_path / "store", conversations.list_all)
    with qtbot.waitSignal(conversations.not_listed, timeout=30_000):
        conversations.list_all()
    assert controller.dialog is not None
    assert str(tmp_path / "store") in controller.dialog.sentence.text()
    (tmp_path / "store").unlink()
    ear = Ear(real)
    with qtbot.waitSignal(ear.heard, timeout=30_000):
        controller.dialog.retry_button.click()
    qtbot.waitUntil(lambda: controller.dialog is None)


# Files


@pytest.fixture
def used() -> list[str]:
    return []


@pytest.fixture
def opening(window: MainWindow, used: list[str]) -> FileOpening:
    return FileOpening(window, used.append)


def test_a_model_is_used(opening: FileOpening, used: list[str]) -> None:
    opening.open((Path("/models/x.GGUF"),))
    assert used == ["/models/x.GGUF"]


def test_profiles_chats_and_texts_go_where_they_go_when_they_are_dropped(
    qtbot: QtBot, opening: FileOpening, window: MainWindow, used: list[str]
) -> None:
    with qtbot.waitSignal(window.profile_dropped) as profile:
        opening.open((Path("/me.slipstream"),))
    with qtbot.waitSignal(window.chats_dropped) as chats:
        opening.open((Path("/chats.json"),))
    with qtbot.waitSignal(window.texts_dropped) as texts:
        opening.open((Path("/a.md"), Path("/b.txt")))
    assert (profile.args, chats.args, texts.args) == (["/me.slipstream"], ["/chats.json"], [["/a.md", "/b.txt"]])
    assert used == []


def test_two_models_at_once_are_refused_in_a_sentence(
    opening: FileOpening, window: MainWindow, used: list[str]
) -> None:
    opening.open((Path("/a.gguf"), Path("/b.gguf")))
    assert used == []
    assert "one after the other" in window.toasts.shown[0].words.text()


def test_a_further_start_brings_the_window_forward(
    opening: FileOpening, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_ACTIVATION_TOKEN", "of this start")
    window.setWindowState(Qt.WindowState.WindowMinimized)
    opening.answer(OpenRequest((), "abc"))
    assert not window.isMinimized()
    assert window.isVisible()
    assert "XDG_ACTIVATION_TOKEN" not in os.environ, "what is started from here gets none"


_MACOS = """
from PySide6.QtCore import QUrl
from PySide6.QtGui import QFileOpenEvent
from app.startup.desktop_application import DesktopApplication
from engine.values.targets import LoadOrder
application = DesktopApplication()
application.opened.connect(lambda request: print("late", *request.files))
QApplication = type(application).__mro__[1]
QApplication.sendEvent(application, QFileOpenEvent(QUrl.fromLocalFile("/early.gguf")))
print("early", *application.take_early())
QApplication.sendEvent(application, QFileOpenEvent(QUrl.fromLocalFile("/late.gguf")))
print(application.desktopFileName(), application.applicationName())
"""


def test_files_that_macos_opens_wait_for_the_window() -> None:
    """In a process of its own: there is one application in each."""
    result = subprocess.run([sys.executable, "-c", _MACOS], capture_output=True, text=True, check=True)
    assert result.stdout == "early /early.gguf\nlate /late.gguf\nslipstream Slipstream\n"
