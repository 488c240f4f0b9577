"""What the engine does with commands, beyond handing them to their threads."""

from __future__ import annotations

from pathlib import Path

from engine import Engine, EngineConfig, ExportConversations, ForgetEverything, ImportConversations, ReadTextFile
from engine.messages.conversations import ExportFormat, Role
from engine.messages.events import ConversationsExported, EverythingForgotten, TextFileRead
from engine.storage import Repository
from tests.fakes.listener import EventQueue


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
