from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from app.main_window import MainWindow
from app.settings.app_settings import SettingsFile
from app.startup.first_paint import OpenedWindow
from app.theme import ThemeKeeper
from app.wiring import WiredWindow
from engine import OwnSampling
from engine.values.config import SpeculationSettings
from engine.values.conversations import ConversationSummary
from engine.values.events import (
    ConversationsDeleted,
    ConversationsListed,
    EverythingForgotten,
    FoldersListed,
    PresetsListed,
    TargetInfo,
    TargetReady,
    TargetsListed,
)
from engine.values.order import Folder, Preset, TargetChoice
from engine.values.orders import Send
from tests.fakes.bridge import FakeBridge
from tests.unit.app.library_samples import QWEN, TARGETS

NOW = datetime.now(UTC)
CHATS = tuple(ConversationSummary(number, f"Chat {number}", NOW) for number in (1, 2, 3))
SECRET = ConversationSummary(2**30, "Secret", NOW, incognito=True)
BRIEF = Preset(4, "Brief", "Be brief.", OwnSampling(temperature=0.1), target=TargetChoice(QWEN.name, QWEN.identity))
WORK = Folder(8, "Work", "Be kind.", 4)
PLAIN = Folder(9, "Plain")


class Desk:
    def __init__(self, qtbot: QtBot, keeper: ThemeKeeper, folder: Path) -> None:
        self.folder = folder
        self.bridge = FakeBridge()
        self.window = MainWindow(keeper)
        qtbot.addWidget(self.window)
        self.window.show()
        opened = OpenedWindow(self.window, keeper)
        self.app = WiredWindow(opened, folder, SpeculationSettings(), make_bridge=lambda _config: self.bridge)
        qtbot.waitUntil(lambda: self.app.library is not None)
        ready = TargetReady(TargetInfo("Tiny", "/models/tiny.gguf", "llama", 1000, 10, 2), self.bridge.loads[-1])
        self.bridge.tell(ready, FoldersListed((PLAIN, WORK)), ConversationsListed((*CHATS, SECRET)))
        self.bridge.tell(PresetsListed((BRIEF,), ()), TargetsListed(TARGETS))
        self.sidebar = self.window.conversations
        self.editor = self.bridge.engine.editor
        self.take()

    def take(self) -> list[Any]:
        return self.bridge.take()

    @property
    def toasts(self) -> list[str]:
        return [toast.words.text() for toast in self.window.toasts.shown]

    def send(self) -> Send:
        self.window.prompt_box.set_text("Hi")
        self.window.prompt_box.submit()
        (sent,) = [command for command in self.bridge.orders if isinstance(command, Send)]
        return sent


@pytest.fixture
def desk(qtbot: QtBot, keeper: ThemeKeeper, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(qtbot, keeper, tmp_path)
    yield desk
    desk.window.close()


def test_a_chat_begins_with_what_its_folder_and_its_preset_say(desk: Desk) -> None:
    desk.sidebar.new_in_folder_requested.emit(8)
    (asked,) = desk.bridge.asked(desk.bridge.engine.library.estimate)
    assert asked.args[0] == QWEN.path, "as if it had been chosen in the library"
    words = desk.window.folder_banner.words.text()
    assert words == "New chat in the folder “Work”, with its system prompt and the preset “Brief”."
    sent = desk.send()
    assert (sent.folder_id, sent.system_prompt, sent.sampling) == (8, "Be kind.", BRIEF.sampling)
    assert sent.has_own_system_prompt


def test_the_next_chat_elsewhere_begins_without(desk: Desk) -> None:
    desk.sidebar.new_in_folder_requested.emit(8)
    desk.window.new_action.trigger()
    assert desk.window.folder_banner.isHidden()
    assert desk.app.chat.next_chat is None
    desk.sidebar.new_in_folder_requested.emit(9)
    assert desk.window.folder_banner.words.text() == "New chat in the folder “Plain”."
    desk.bridge.tell(FoldersListed((WORK,)))
    assert desk.window.folder_banner.isHidden(), "it is gone"
    assert desk.send().folder_id is None


def test_only_what_moves_is_moved_and_brought_back(desk: Desk) -> None:
    desk.bridge.tell(ConversationsListed((replace(CHATS[0], folder_id=8), *CHATS[1:], SECRET)))
    desk.sidebar.moved.emit((1, 2, 3, SECRET.id), 8)
    assert desk.take() == [("move", (2, 3), 8)]
    assert "so they cannot be moved or archived" in desk.toasts[0]
    desk.bridge.last(desk.editor.move).answer()
    assert desk.toasts[-1] == "2 chats were moved to “Work”."
    button = desk.window.toasts.shown[-1].action_button
    assert button is not None
    button.click()
    assert desk.take() == [("put_back", CHATS[1:])]
    desk.sidebar.moved.emit((1,), 8)
    assert desk.take() == [], "it is there"


def test_pins_and_the_archive(desk: Desk) -> None:
    desk.sidebar.pinned.emit((1, SECRET.id), True)
    desk.sidebar.archived.emit((1, SECRET.id), True)
    assert desk.take() == [("pin", (1, SECRET.id), True), ("archive", (1,), True)]
    desk.bridge.last(desk.editor.archive).answer()
    assert desk.toasts[-1] == "“Chat 1” was archived."


def test_what_cannot_be_stored_is_said_and_shown_as_it_is(desk: Desk) -> None:
    desk.sidebar.moved.emit((1,), 8)
    desk.take()
    desk.bridge.last(desk.editor.move).fail("No.")
    assert desk.toasts == ["No."]
    assert desk.take() == [("list_folders",), ("list_all",)]


def test_a_folder_that_is_refused_stays_in_its_dialog(desk: Desk) -> None:
    desk.sidebar.folder_requested.emit((1, 2), "Work")
    dialog = desk.app.order.dialog
    assert (dialog.windowTitle(), dialog.about.text()) == ("New folder", "2 chats will be moved into it.")
    dialog.save_button.click()
    assert desk.take() == [("create_folder", Folder(0, "Work"), (1, 2))]
    desk.bridge.last(desk.editor.create_folder).fail("Choose another name.")
    assert dialog.isVisible()
    assert dialog.problem.text() == "Choose another name."
    assert desk.toasts == []
    desk.bridge.tell(EverythingForgotten())
    assert not dialog.isVisible()


def test_a_folder_is_deleted_without_its_chats_by_default(desk: Desk) -> None:
    desk.bridge.tell(ConversationsListed(tuple(replace(each, folder_id=8) for each in CHATS)))
    desk.sidebar.folder_deleted.emit(8)
    box = desk.window.findChild(QMessageBox)
    assert isinstance(box, QMessageBox)
    tick = box.checkBox()
    assert not tick.isChecked()
    tick.click()
    next(each for each in box.findChildren(QPushButton) if each.text() == "Delete this folder").click()
    desk.bridge.tell(ConversationsDeleted(CHATS, WORK))
    assert desk.toasts[-1] == "The folder “Work” was deleted with its 3 chats."
    desk.take()
    desk.window.restore_action.trigger()
    assert desk.take() == [("restore_folder", WORK, (1, 2, 3))]


def test_open_folders_are_open_again_after_a_start(qtbot: QtBot, keeper: ThemeKeeper, desk: Desk) -> None:
    desk.sidebar.view.set_open(8, True)
    desk.window.close()
    assert SettingsFile(desk.folder).load()[0].open_folders == (8,)
    again = Desk(qtbot, keeper, desk.folder)
    assert again.sidebar.model.opened == {8}
    again.bridge.tell(FoldersListed((PLAIN,)))
    again.window.close()
    assert SettingsFile(desk.folder).load()[0].open_folders == ()
