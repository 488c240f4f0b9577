"""Which thread carries out a command, and what else the engine does with it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from engine import Engine, EngineConfig, ExportConversations, ForgetEverything, ImportConversations, ReadTextFile
from engine.config import OwnSampling, ReplySettings
from engine.errors import TargetUnusable
from engine.factory import Services, row_of
from engine.messages.commands import (
    ChangeConversation,
    ChatCommand,
    Command,
    LoadTarget,
    OpenConversation,
    OwedCommand,
    Send,
)
from engine.messages.conversations import ExportFormat, Role
from engine.messages.events import ConversationsExported, EverythingForgotten, Failed, Finished, TextFileRead
from engine.stop_signal import StopSignal
from engine.storage import Repository
from engine.target.interface import Target
from engine.threads import _THREADS
from tests.fakes.commands import ALL_COMMANDS
from tests.fakes.listener import EventQueue


def test_every_command_has_a_thread() -> None:
    for command in ALL_COMMANDS:
        assert row_of(_THREADS, command)


def test_everything_is_forgotten_on_the_thread_that_replies() -> None:
    on_chat = {kind for kind in ALL_COMMANDS if row_of(_THREADS, kind) == "chat"}
    assert on_chat == {*(kind for kind in ALL_COMMANDS if issubclass(kind, ChatCommand)), ForgetEverything}


def test_only_what_the_store_writes_is_owed() -> None:
    assert {row_of(_THREADS, kind) for kind in ALL_COMMANDS if issubclass(kind, OwedCommand)} == {"writing"}


def test_a_reply_waits_for_what_was_changed_before_and_whoever_reads_only_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_free = threading.Event()  # the store, for those who write
    carried_out: list[type[Command]] = []

    def handle(_services: Services, command: Command, _stop: StopSignal) -> None:
        if isinstance(command, ChangeConversation):
            assert is_free.wait(60)
        carried_out.append(type(command))
        if isinstance(command, OpenConversation):
            is_free.set()

    monkeypatch.setattr(Services, "handle", handle)
    events = EventQueue()
    engine = Engine(EngineConfig(tmp_path / "data"), events)
    try:
        engine.post(ChangeConversation(1, "Be brief.", OwnSampling()))
        engine.post(Send("Hi", 1, ReplySettings()))
        engine.post(OpenConversation(1))
        for _ in range(3):
            events.wait_for(Finished)
    finally:
        assert engine.close()
    assert carried_out == [OpenConversation, ChangeConversation, Send]


def test_a_reply_that_waits_for_what_was_changed_before_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_free = threading.Event()

    def handle(_services: Services, command: Command, _stop: StopSignal) -> None:
        if isinstance(command, ChangeConversation):
            assert is_free.wait(60)

    monkeypatch.setattr(Services, "handle", handle)
    events = EventQueue()
    engine = Engine(EngineConfig(tmp_path / "data"), events)
    try:
        engine.post(ChangeConversation(1, "Be brief.", OwnSampling()))
        engine.post(Send("Hi", 1, ReplySettings())).set()
        assert isinstance(events.wait_for(Finished).command, Send)
    finally:
        is_free.set()
        assert engine.close()


def test_what_is_being_imported_when_everything_is_forgotten_is_not_added(tmp_path: Path) -> None:
    repository = Repository.open(tmp_path / "data")
    for number in range(50):
        chat = repository.create_conversation(f"chat {number}", "")
        repository.add_message(chat.id, None, Role.USER, "Hi")
    repository.close()
    events = EventQueue()
    engine = Engine(EngineConfig(tmp_path / "data"), events)
    try:
        file = tmp_path / "chats.json"
        engine.post(ExportConversations(file, None, ExportFormat.JSON))
        events.wait_for(ConversationsExported)
        imports = [engine.post(ImportConversations(file)) for _ in range(3)]
        engine.post(ForgetEverything())
        assert imports[-1].is_set(), "which waits for the others"
        events.wait_for(EverythingForgotten)
        engine.post(ReadTextFile(file))
        events.wait_for(TextFileRead)  # after all that was asked of files before
    finally:
        assert engine.close()
    repository = Repository.open(tmp_path / "data")
    assert repository.list_conversations() == ()
    repository.close()


def test_a_model_that_is_being_loaded_when_the_app_closes_is_not_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, is_over = threading.Event(), threading.Event()

    def load(*_arguments: object) -> Target:
        began.set()
        assert is_over.wait(60)
        raise TargetUnusable("It took too long.")

    monkeypatch.setattr("engine.loading.load_target", load)
    monkeypatch.setattr("engine.threads._CLOSING_PATIENCE_S", 0.1)
    (tmp_path / "slow.gguf").write_bytes(b"GGUF")
    events = EventQueue()
    engine = Engine(EngineConfig(tmp_path / "data"), events)
    try:
        engine.post(LoadTarget(str(tmp_path / "slow.gguf")))
        assert began.wait(60)
        assert list((tmp_path / "data" / "suspects").iterdir())
        assert not engine.close()
        assert not list((tmp_path / "data" / "suspects").iterdir())
    finally:
        is_over.set()
        events.wait_for(Failed)
