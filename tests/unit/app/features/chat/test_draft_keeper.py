"""Prompts that were begun: on a bridge without an engine, and with the real one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.engine_bridge import EngineBridge
from app.features.chat.draft_keeper import DraftKeeper
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings, SettingsFile
from app.settings.keeper import SettingsKeeper
from app.theme import ThemeKeeper
from engine import EngineConfig
from engine.backend.storage import Repository
from engine.values.conversations import Conversation, ConversationSummary, Message, Role
from engine.values.events import ConversationOpened, Event, EverythingForgotten, PromptStored, TargetInfo, TargetReady
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import Chats, unsaved

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


class _Noting(SettingsKeeper):
    """`drafts` are those of the new chat, one after the other. Nothing is on a disk."""

    def __init__(self, file: SettingsFile, settings: AppSettings) -> None:
        super().__init__(file, settings)
        self.drafts: list[str] = []

    def note(self, **values: Any) -> None:
        if self.settings.draft != values["draft"]:
            self.settings = self.settings.model_copy(update=values)
            self.drafts.append(self.settings.draft)

    def forget_words(self) -> None:
        self.note(draft="")


class Desk:
    def __init__(self, window: MainWindow, new_draft: str = "") -> None:
        self.window = window
        self.box = window.prompt_box
        self.bridge = FakeBridge()
        chats = Chats(window, self.bridge)
        settings = _Noting(SettingsFile(Path()), AppSettings(draft=new_draft))
        self.kept_new = settings.drafts
        self.keeper = DraftKeeper(window, self.bridge, chats.conversations, settings)
        chats.start("starter")
        target = TargetInfo("Tiny", "/models/tiny.gguf", "llama 1B Q4", 1000, 10, 2)
        self.tell(TargetReady(target, self.bridge.loads[-1]))

    def tell(self, *events: Event) -> None:
        self.bridge.tell(*events)

    def go_to(self, number: int | None, draft: str | None = None) -> None:
        if number is None:
            self.window.conversations.new_requested.emit()
            return
        self.window.conversations.chosen.emit(number)
        if draft is not None:
            summary = ConversationSummary(number, "Chat", NOW)
            self.tell(ConversationOpened(Conversation(summary, "", (), draft=draft)))

    @property
    def kept(self) -> list[tuple[Any, ...]]:
        return [each.args[:2] for each in self.bridge.asked(self.bridge.engine.editor.save_draft)]


@pytest.fixture
def window(qtbot: QtBot, keeper: ThemeKeeper) -> MainWindow:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    return window


def test_every_conversation_has_its_own(window: MainWindow) -> None:
    desk = Desk(window, "begun before")
    assert desk.box.text == "begun before"
    desk.go_to(1, "in one")
    assert desk.box.text == "in one"
    desk.box.set_text("in one, more")
    desk.go_to(2, "")
    assert desk.box.text == ""
    assert desk.kept == [(1, "in one, more")]
    desk.go_to(1, "in one")  # what the store says may be older than what is known
    assert desk.box.text == "in one, more"
    desk.go_to(None)
    assert desk.box.text == "begun before"
    assert desk.kept_new == []


def test_it_is_kept_after_a_pause_in_typing(window: MainWindow, qtbot: QtBot) -> None:
    desk = Desk(window)
    desk.keeper._pause.setInterval(1)
    desk.go_to(1, "")
    desk.box.set_text("begun")
    qtbot.waitUntil(lambda: desk.kept == [(1, "begun")])
    desk.go_to(None)
    desk.box.set_text("another")
    qtbot.waitUntil(lambda: desk.kept_new == ["another"])
    desk.keeper.save()
    assert desk.kept_new == ["another"], "it is kept already"


def test_what_was_written_before_the_store_answered_counts(window: MainWindow) -> None:
    desk = Desk(window)
    desk.go_to(1)
    desk.box.set_text("quick")
    desk.go_to(1, "old")
    desk.tell(ConversationOpened(Conversation(ConversationSummary(1, "Chat", NOW), "", (), draft="old")))
    assert desk.box.text == "quick"
    desk.keeper.save()
    assert desk.kept == [(1, "quick")]


def test_what_was_sent_is_no_draft_any_more(window: MainWindow) -> None:
    desk = Desk(window)
    desk.go_to(1, "And?")
    desk.box.submit()
    desk.keeper.save()
    assert desk.kept == [(1, "")]


def test_what_follows_the_first_prompt_belongs_to_its_conversation(window: MainWindow) -> None:
    desk = Desk(window, "Hi")
    desk.box.submit()
    desk.box.set_text("and then")
    desk.tell(PromptStored(Message(3, 7, None, Role.USER, "Hi", NOW)))
    desk.keeper.save()
    assert desk.kept == [(7, "and then")]
    assert desk.kept_new == [""]
    desk.go_to(None)
    assert desk.box.text == ""


def test_the_draft_of_an_incognito_chat_to_come_is_not_kept(window: MainWindow) -> None:
    desk = Desk(window)
    desk.box.set_text("harmless")
    window.conversations.incognito_requested.emit()
    assert desk.box.text == ""
    desk.box.set_text("secret")
    desk.keeper.save()
    assert desk.kept_new == ["harmless"]
    desk.go_to(None)
    assert desk.box.text == "harmless"
    window.conversations.incognito_requested.emit()
    assert desk.box.text == "secret", "in this window"


def test_what_is_written_last_of_all_is_there_after_a_restart(window: MainWindow, tmp_path: Path) -> None:
    repository = Repository.open(tmp_path)
    number = repository.create_conversation("Chat", "").id
    repository.close()
    bridge = EngineBridge(EngineConfig(tmp_path))
    keeper = DraftKeeper(window, bridge, Chats(window, bridge).conversations, unsaved(AppSettings()))
    window.conversations.chosen.emit(number)
    window.prompt_box.set_text("unsent")
    keeper.save()
    assert bridge.close()
    repository = Repository.open(tmp_path)
    assert repository.open_conversation(number).draft == "unsent"
    repository.close()


def test_what_was_begun_is_forgotten_with_everything_also_on_the_disk(window: MainWindow) -> None:
    desk = Desk(window, "secret")
    desk.go_to(1, "another")
    desk.tell(EverythingForgotten())
    assert desk.box.text == ""
    assert desk.kept_new == [""]
    desk.go_to(2, "")
    desk.go_to(None)
    assert desk.box.text == ""
