from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.commands import KeepNgrams, ListConversations
from engine.events import ConversationsListed, Event
from engine.records import NgramRecord
from engine.storage import Repository
from engine.store_service import StoreService


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    repository = Repository.open(tmp_path)
    yield repository
    repository.close()


def test_ngrams_are_kept_without_an_event(repository: Repository) -> None:
    events: list[Event] = []
    service = StoreService(repository, events.append)
    kept, gone = (NgramRecord((token,), token, count=1, doubts=0, last_use=0) for token in (1, 2))
    service.handle(KeepNgrams("target", "drafter", (kept, gone)))
    service.handle(KeepNgrams("target", "drafter", (replace(gone, count=0),)))
    assert repository.load_ngrams("target", "drafter") == (kept,)
    assert events == []

    service.handle(ListConversations())
    assert events == [ConversationsListed(())]
