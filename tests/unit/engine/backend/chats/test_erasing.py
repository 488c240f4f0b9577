"""Erasing goes on by itself, and the rest of the engine does not wait for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import Engine, EngineConfig
from engine.backend.chats import erasing
from engine.backend.chats.erasing import ErasingService
from engine.backend.storage import Repository
from engine.backend.storage.connections import back_up
from engine.speculation.model.files.prompt_cache import PromptCache
from engine.values.config import PromptCacheSettings
from engine.values.events import ConversationsListed, DeletedErased, Event
from engine.values.places import STORE
from tests.fakes.listener import EventQueue


def test_chats_open_though_what_was_deleted_cannot_be_erased(tmp_path: Path) -> None:
    repository = Repository.open(tmp_path)
    kept, hidden, gone = (repository.create_conversation(title, "").id for title in ("kept", "hidden", "gone"))
    repository.delete_conversations([hidden])
    repository.close()
    damaged = back_up(tmp_path / STORE, "0001")
    damaged.write_bytes(b"no database")
    events = EventQueue()
    engine = Engine(EngineConfig(tmp_path), events)
    try:
        engine.ask(engine.chats.list_all).result()
        assert {each.id for each in events.wait_for(ConversationsListed).conversations} == {kept, gone}
        (sentence,) = events.wait_for(DeletedErased).left
        assert str(damaged) in sentence
        damaged.unlink()
        engine.ask(engine.editor.forget, gone)  # erasing, which waits for better times, begins anew
        assert events.wait_for(DeletedErased).left == ()
    finally:
        assert engine.close()


def test_it_is_tried_again_until_it_is_done_and_told_when_there_is_news(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "_FIRST_PAUSE_S", 0.0)
    monkeypatch.setattr(erasing, "_LONGEST_PAUSE_S", 0.0)
    answers = iter([None, ("full",), ("full",), None, ()])
    monkeypatch.setattr(Repository, "finish_erasure", lambda *_arguments: next(answers))
    told: list[Event] = []
    ErasingService(repository, PromptCache(repository.data_dir, PromptCacheSettings()), told.append).erase()
    assert told == [DeletedErased(("full",)), DeletedErased(())]
