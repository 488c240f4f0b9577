"""Whatever fails is shown once, where the user looks: all controllers together, on a bridge without an engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app.main_window import MainWindow
from app.settings.app_settings import SettingsFile
from app.startup.first_paint import OpenedWindow
from app.theme import ThemeKeeper
from app.wiring import WiredWindow
from engine import AUTOMATIC, STARTER, LearningSettings, OwnSampling
from engine.values.config import SpeculationSettings
from engine.values.conversations import Conversation, ConversationSummary, Message, Role
from engine.values.errors import TargetSuspect
from engine.values.events import (
    ConversationOpened,
    ConversationsDeleted,
    ConversationsListed,
    OwnWorkFailed,
    TargetInfo,
    TargetReady,
    TargetsListed,
)
from tests.fakes.bridge import Asked, FakeBridge
from tests.unit.app.library_samples import QWEN, TARGETS

CHATS = tuple(ConversationSummary(number, f"Chat {number}", datetime.now(UTC)) for number in (1, 7))
TARGET = TargetInfo("Tiny", "/models/tiny.gguf", "llama", 1000, 10, 2)
PROMPT = Message(70, 7, None, Role.USER, "Hi", datetime.now(UTC))


class Desk:
    def __init__(self, qtbot: QtBot, keeper: ThemeKeeper, folder: Path) -> None:
        self.qtbot = qtbot
        self.folder = folder
        self.bridge = FakeBridge()
        self.window = MainWindow(keeper)
        qtbot.addWidget(self.window)
        self.window.show()
        opened = OpenedWindow(self.window, keeper)
        self.app = WiredWindow(opened, folder, SpeculationSettings(), make_bridge=lambda _config: self.bridge)
        qtbot.waitUntil(lambda: self.app.library is not None)

    def last(self, name: str) -> Asked:
        """The last request for the method of this name."""
        return next(each for each in reversed(self.bridge.all_asked) if each.method.name == name)

    def fail(self, asked: Asked) -> list[str]:
        """The toasts that say so."""
        self.window.toasts.clear()
        self.bridge.take()
        asked.fail("No.")
        return [toast.words.text() for toast in self.window.toasts.shown]

    def open(self, number: int) -> None:
        self.window.conversations.chosen.emit(number)
        self.bridge.tell(ConversationOpened(Conversation(CHATS[1], "", (PROMPT,))))

    # What the user may do

    def restore(self) -> None:
        self.bridge.tell(ConversationsDeleted((CHATS[0],)))
        self.window.restore_action.trigger()

    def change(self) -> None:
        self.open(7)
        self.window.conversation_action.trigger()
        self.last("open").answer(Conversation(CHATS[1], "", (PROMPT,)))
        self.app.chat_settings.dialog.saved.emit("Rhyme.", OwnSampling())

    def show_branch(self) -> None:
        self.open(7)
        self.window.transcript.message_actions.branch_chosen.emit(71)

    def export(self) -> None:
        self.window.export_all_action.trigger()
        dialog = self.window.findChild(QFileDialog)
        assert isinstance(dialog, QFileDialog)
        dialog.fileSelected.emit(str(self.folder / "all.json"))
        dialog.close()

    def send(self) -> None:
        self.window.prompt_box.set_text("Hi")
        self.window.prompt_box.submit()

    def begin_a_prompt_and_leave(self) -> None:
        self.open(7)
        self.window.prompt_box.set_text("begun")
        self.open(1)


@pytest.fixture
def desk(qtbot: QtBot, keeper: ThemeKeeper, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(qtbot, keeper, tmp_path)
    yield desk
    desk.window.close()


@pytest.mark.parametrize(("saved", "identity"), [({}, ""), ({"target_identity": "file:1"}, "file:1")])
def test_the_choice_of_the_last_start_is_a_path_and_what_was_there(
    qtbot: QtBot, keeper: ThemeKeeper, tmp_path: Path, saved: dict[str, str], identity: str
) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"version": 1, "target": "/models/tiny.gguf", **saved}))
    desk = Desk(qtbot, keeper, tmp_path)
    (load,) = desk.bridge.loads
    assert (load.target, load.identity) == ("/models/tiny.gguf", identity)
    desk.bridge.tell(TargetReady(replace(TARGET, identity="file:2"), load))
    desk.window.close()
    assert json.loads(path.read_text())["target_identity"] == "file:2", "as it is now"


def test_a_choice_whose_file_moved_stays_what_it_was(qtbot: QtBot, keeper: ThemeKeeper, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    chosen = {"target": "/old/tiny.gguf", "target_identity": "file:1"}
    path.write_text(json.dumps({"version": 1, **chosen}))
    desk = Desk(qtbot, keeper, tmp_path)
    desk.bridge.tell(TargetReady(replace(TARGET, identity="file:1"), desk.bridge.loads[-1]))
    desk.window.starter_action.trigger()
    desk.bridge.refuse("The starter is gone.")
    desk.window.close()
    assert chosen.items() <= json.loads(path.read_text()).items()


@pytest.fixture
def ready(desk: Desk) -> Desk:
    desk.bridge.tell(ConversationsListed(CHATS), TargetReady(TARGET, desk.bridge.loads[-1]), TargetsListed(TARGETS))
    return desk


Outcome = tuple[list[str], list[Any]]  # toasts, and what is asked of the engine afterwards
SAID: Outcome = (["No."], [])
SAID_AND_LISTED: Outcome = (["No."], [("list_all",)])
SILENT: Outcome = ([], [])
CASES: tuple[tuple[str, Callable[[Desk], object], Outcome], ...] = (
    ("rename", lambda desk: desk.window.conversations.renamed.emit(1, "Better"), SAID_AND_LISTED),
    ("delete", lambda desk: desk.window.conversations.deleted.emit((1,)), SAID_AND_LISTED),
    ("restore", Desk.restore, SAID_AND_LISTED),
    ("list_all", lambda _desk: None, SAID),
    ("change", Desk.change, SAID),
    ("show_branch", Desk.show_branch, SAID),
    ("search", lambda desk: desk.window.conversations.search.searched.emit("zebra"), SAID),
    ("export_conversations", Desk.export, SAID),
    ("read", lambda desk: desk.window.texts_dropped.emit(["/notes.txt"]), SILENT),
    ("use_drafter", lambda desk: desk.app.drafters.dialog.chosen.emit(AUTOMATIC, False), SAID),
    ("answer", Desk.send, SAID),
    ("save_draft", Desk.begin_a_prompt_and_leave, SILENT),
    ("read_learned", lambda desk: desk.window.personal_action.trigger(), SILENT),
)


@pytest.mark.parametrize(("kind", "do", "expected"), CASES, ids=[kind for kind, _, _ in CASES])
def test_a_failure_is_shown_once(ready: Desk, kind: str, do: Callable[[Desk], object], expected: Outcome) -> None:
    do(ready)
    assert (ready.fail(ready.last(kind)), ready.bridge.take()) == expected


def test_a_failure_to_list_the_library_or_to_fetch_a_drafter_is_shown_once(ready: Desk) -> None:
    ready.app.drafters.dialog.chosen.emit("owner/name", False)
    engine = ready.bridge.engine
    for method in (engine.library.report, engine.drafters.fetch):
        ready.window.toasts.clear()
        ready.bridge.asked(method)[-1].fail("No.")
        assert [toast.words.text() for toast in ready.window.toasts.shown] == ["No."]


def test_learning_that_cannot_be_changed_is_told(ready: Desk) -> None:
    ready.app.personal.dialog.learning.changed.emit(LearningSettings(enabled=False))
    ready.window.meter.learning_paused.emit(True)
    learning = ready.bridge.engine.learning
    cases = (learning.change, LearningSettings(enabled=False), "No."), (learning.hold, True, "Neither.")
    for method, wanted, words in cases:
        (asked,) = ready.bridge.asked(method)
        assert asked.args == (wanted,)
        asked.fail(words)
    assert [each.words.text() for each in ready.window.toasts.shown] == ["No.", "Neither."]


def test_a_failure_on_a_page_is_shown_there_alone(ready: Desk) -> None:
    assert ready.app.library is not None
    ready.window.target_bar.picker.estimate_wanted.emit(QWEN.reference)
    ready.bridge.asked(ready.bridge.engine.library.estimate)[-1].fail("No.")
    hub = ready.app.library.dialog.hub
    hub.search_requested.emit("tiny")
    ready.bridge.asked(ready.bridge.engine.hub.search)[-1].fail("No.")
    assert ready.window.toasts.shown == ()
    assert hub.models.words.text() == "No."


def test_tokens_that_cannot_be_counted_are_not_told(ready: Desk) -> None:
    ready.window.prompt_box.set_text("begun")
    counting = ready.bridge.engine.counting.count
    ready.qtbot.waitUntil(lambda: ready.bridge.asked(counting) != [])
    ready.bridge.asked(counting)[-1].fail("No.")
    assert ready.window.toasts.shown == ()


def test_a_chat_that_cannot_be_opened_gives_way_to_a_new_one(ready: Desk) -> None:
    ready.open(7)
    assert ready.fail(ready.last("open")) == ["No."]
    assert ready.window.conversations.chosen_id is None
    assert ready.window.transcript.messages == ()
    assert ready.bridge.take() == [("list_all",)]


def test_one_that_was_left_meanwhile_changes_nothing(ready: Desk) -> None:
    ready.window.conversations.chosen.emit(1)
    command = ready.last("open")
    ready.open(7)
    assert ready.fail(command) == ["No."]
    assert ready.window.conversations.chosen_id == 7
    assert ready.bridge.take() == []


def test_a_store_that_cannot_be_opened_is_shown_in_one_place(desk: Desk) -> None:
    desk.bridge.refuse("No.")
    assert [toast.words.text() for toast in desk.window.toasts.shown] == ["No."]
    assert desk.fail(desk.last("list_all")) == []
    desk.bridge.asked(desk.bridge.engine.library.report)[-1].fail("No.")
    assert desk.window.toasts.shown == (), "it needs the store as well"


def test_what_the_engine_asked_of_itself_is_shown_too(ready: Desk) -> None:
    ready.bridge.tell(OwnWorkFailed("No."))
    assert [toast.words.text() for toast in ready.window.toasts.shown] == ["No."]


def test_what_the_window_shows_is_on_the_disk_when_it_is_closed(desk: Desk) -> None:
    desk.window.resize(900, 700)
    desk.window.origins_action.setChecked(True)
    desk.window.close()
    settings, complaint = SettingsFile(desk.folder).load()
    assert (settings.window, settings.colour_origins, complaint) == (desk.window.state(), True, "")


def test_a_model_that_the_program_did_not_survive_waits_until_the_user_asks_for_it(desk: Desk) -> None:
    at_start = desk.bridge.loads[-1]
    assert at_start.by_itself
    command = replace(at_start, target="/models/tiny.gguf")
    desk.app.target.load(command.target, by_itself=True)
    desk.bridge.refuse(TargetSuspect("No."))
    instead = desk.bridge.loads[-1]
    assert (instead.target, instead.by_itself) == (STARTER, True)
    (notice,) = desk.window.notices.shown.values()
    assert "while tiny was loading or writing its first reply" in notice.words.text()
    assert not desk.window.toasts.shown, "the notice says it"
    notice.buttons[0].click()
    again = desk.bridge.loads[-1]
    assert (again.target, again.by_itself) == (command.target, False)
    desk.bridge.tell(TargetReady(TARGET, again))
    assert not desk.window.notices.shown
