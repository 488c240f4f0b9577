"""The service with a real store, and a memory over it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.config import LearningSettings, OwnSampling
from engine.errors import ConversationMissing, StoreUnusable
from engine.messages.commands import (
    ChangeConversation,
    DeleteConversations,
    DeleteMessage,
    ListConversations,
    RestoreConversations,
    RestoreMessage,
    SaveDraft,
    SaveNgrams,
    ShowBranch,
)
from engine.messages.conversations import Role
from engine.messages.events import (
    ConversationChanged,
    ConversationOpened,
    ConversationsChanged,
    ConversationsDeleted,
    ConversationSet,
    ConversationsListed,
    Event,
    Listener,
    MessageDeleted,
)
from engine.messages.learned import NgramRecord, VerifiedReply
from engine.services.learning_service import LearningService
from engine.services.message_keeper import MessageKeeper
from engine.services.recall import Recall
from engine.services.store_service import StoreService
from engine.storage import Repository
from engine.target.readings import Readings
from tests.fakes.target import FakeTarget


def resting(repository: Repository) -> LearningService:
    """It has no drafter."""
    return LearningService(lambda: repository, LearningSettings(), lambda _event: None)


def store_service(
    repository: Repository,
    emit: Listener = lambda _event: None,
    recall: Recall | None = None,
    learning: LearningService | None = None,
) -> StoreService:
    keeper = MessageKeeper(repository, emit, lambda _command: None)
    learning = learning or resting(repository)
    shared = repository, recall or Recall(repository), learning
    return StoreService(*shared, keeper, Readings(repository.data_dir), emit, lambda _command: None)


def test_ngrams_are_kept_without_an_event(repository: Repository) -> None:
    events: list[Event] = []
    service = store_service(repository, events.append)
    kept, gone = (NgramRecord((token,), token, count=1, doubts=0, last_use=0) for token in (1, 2))
    service.handle(SaveNgrams("target", "drafter", (kept, gone)))
    service.handle(SaveNgrams("target", "drafter", (replace(gone, count=0),)))
    assert repository.load_ngrams("target", "drafter") == (kept,)
    assert events == []

    service.handle(ListConversations())
    assert events == [ConversationsListed(())]


def test_what_is_held_stays_in_sight_when_something_is_deleted_and_put_back(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[Event] = []
    service = store_service(repository, events.append)
    chat = repository.create_conversation("chat", "").id
    asked = repository.add_message(chat, None, Role.USER, "Hi")
    said = [repository.add_message(chat, asked.id, Role.ASSISTANT, text).id for text in ("One", "Two")]

    def refuse(*_arguments: object) -> None:
        raise StoreUnusable("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(repository, "add_message", refuse)
        held = service._keeper.add_prompt(chat, asked.id, "And?")
    for command in (DeleteMessage(chat, said[1]), RestoreMessage(chat, said[1])):
        service.handle(command)
        opened = events[-1]
        assert isinstance(opened, ConversationOpened)
        assert held in opened.conversation.messages


def test_ngrams_of_an_era_that_has_ended_are_not_kept(repository: Repository) -> None:
    learning = resting(repository)
    service = store_service(repository, learning=learning)
    ngram = NgramRecord((1,), 1, count=1, doubts=0, last_use=0)
    with learning.exchanging():
        service.handle(SaveNgrams("target", "drafter", (ngram,), learning.era.number))  # and waits for nobody
    service.handle(SaveNgrams("target", "drafter", (ngram,), learning.era.number - 1))
    assert repository.load_ngrams("target", "drafter") == ()
    service.handle(SaveNgrams("target", "drafter", (ngram,), learning.era.number))
    assert repository.load_ngrams("target", "drafter") == (ngram,)


def test_a_deleted_conversation_is_forgotten_and_comes_back_restored(repository: Repository) -> None:
    events: list[Event] = []
    recall = Recall(repository)
    recall.open(FakeTarget())
    service = store_service(repository, events.append, recall)
    summary = repository.create_conversation("chat", "")
    recall.add(repository.add_message(summary.id, None, Role.USER, "one two three"))

    def num_found() -> int:
        return sum(len(index.find(list(b"one"), 8)) for index in recall.indexes())

    assert num_found() == 1
    service.handle(DeleteConversations((summary.id,)))
    assert num_found() == 0
    service.handle(RestoreConversations((summary.id,)))
    assert num_found() == 1
    assert [type(event) for event in events] == [ConversationsDeleted, ConversationsChanged]


def test_a_deleted_message_is_neither_recalled_nor_learned_from(repository: Repository) -> None:
    events: list[Event] = []
    recall = Recall(repository)
    recall.open(FakeTarget())
    service = store_service(repository, events.append, recall)
    number = repository.create_conversation("chat", "").id
    asked = repository.add_message(number, None, Role.USER, "one two three")
    said = repository.add_message(number, asked.id, Role.ASSISTANT, "four five six")
    for message in (asked, said):
        recall.add(message)
    numbers, probabilities = np.zeros((1, 1), np.int32), np.zeros((1, 1), np.float16)
    repository.save_lesson("target", said.id, VerifiedReply(numbers[0], numbers, probabilities), 10)

    def found(words: str) -> int:
        return sum(len(index.find(list(words.encode()), 8)) for index in recall.indexes())

    assert (found("one"), found("four"), len(repository.load_lessons("target"))) == (1, 1, 1)
    service.handle(DeleteMessage(number, said.id))
    assert (found("one"), found("four"), len(repository.load_lessons("target"))) == (1, 0, 0)
    service.handle(RestoreMessage(number, said.id))
    changed = [ConversationChanged, ConversationOpened]
    assert [type(event) for event in events] == [MessageDeleted, *changed, *changed]
    service.handle(DeleteMessage(number, asked.id))
    assert isinstance(events[-1], ConversationsDeleted), "nothing would be left"
    assert repository.list_conversations() == ()


def test_a_conversation_that_is_missing_is_neither_forgotten_nor_restored(repository: Repository) -> None:
    recall = Recall(repository)
    recall.open(FakeTarget())
    service = store_service(repository, recall=recall)
    before = recall.indexes()
    for command in (DeleteConversations((7,)), RestoreConversations((7,))):
        with pytest.raises(ConversationMissing):
            service.handle(command)
    assert recall.indexes() is before


def test_branch_settings_and_draft_of_a_conversation_are_changed(repository: Repository) -> None:
    events: list[Event] = []
    service = store_service(repository, events.append)
    summary = repository.create_conversation("chat", "")
    first = repository.add_message(summary.id, None, Role.USER, "first")
    second = repository.add_message(summary.id, None, Role.USER, "second")
    service.handle(ChangeConversation(summary.id, "Be brief.", OwnSampling(seed=1)))
    service.handle(SaveDraft(summary.id, "begun"))
    changed = repository.find_conversation(summary.id)
    assert events == [
        ConversationChanged(changed),
        ConversationSet(summary.id, "Be brief.", OwnSampling(seed=1)),
    ]
    service.handle(ShowBranch(summary.id, first.id))
    opened = repository.open_conversation(summary.id)
    assert events[2:] == [ConversationOpened(opened)]
    assert opened.messages == (first,)
    assert opened.siblings == {first.id: (first.id, second.id)}
    assert (opened.system_prompt, opened.sampling, opened.draft) == ("Be brief.", OwnSampling(seed=1), "begun")
