"""Chats are read, changed and forgotten in a real store, with a memory over it."""

from __future__ import annotations

import numpy as np
import pytest

from engine.backend.chats.chat_editor import ChatEditor
from engine.backend.chats.message_keeper import MessageKeeper
from engine.backend.storage import Repository
from engine.backend.teaching.learning_service import LearningService
from engine.backend.teaching.recall import Recall
from engine.speculation.model.files.prompt_cache import PromptCache
from engine.values.config import LearningSettings, OwnSampling, PromptCacheSettings
from engine.values.conversations import Role
from engine.values.errors import ConversationMissing, StoreUnusable
from engine.values.events import (
    ConversationChanged,
    ConversationOpened,
    ConversationsChanged,
    ConversationsDeleted,
    Event,
    Listener,
    MessageDeleted,
)
from engine.values.learned import VerifiedReply
from tests.fakes.target import FakeTarget


def resting(repository: Repository) -> LearningService:
    """It has no drafter."""
    return LearningService(lambda: repository, LearningSettings(), lambda _event: None)


def chat_editor(
    repository: Repository, emit: Listener = lambda _event: None, recall: Recall | None = None
) -> ChatEditor:
    keeper = MessageKeeper(repository, emit, lambda: None)
    cache = PromptCache(repository.data_dir, PromptCacheSettings())
    return ChatEditor(repository, recall or Recall(repository), resting(repository), keeper, cache, emit, lambda: None)


def test_what_is_held_stays_in_sight_when_something_is_deleted_and_put_back(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[Event] = []
    editor = chat_editor(repository, events.append)
    chat = repository.create_conversation("chat", "").id
    asked = repository.add_message(chat, None, Role.USER, "Hi")
    said = [repository.add_message(chat, asked.id, Role.ASSISTANT, text).id for text in ("One", "Two")]

    def refuse(*_arguments: object) -> None:
        raise StoreUnusable("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(repository, "add_message", refuse)
        held = editor._keeper.add_prompt(chat, asked.id, "And?")
    for change in (editor.delete_message, editor.restore_message):
        change(chat, said[1])
        opened = events[-1]
        assert isinstance(opened, ConversationOpened)
        assert held in opened.conversation.messages


def test_a_deleted_conversation_is_forgotten_and_comes_back_restored(repository: Repository) -> None:
    events: list[Event] = []
    recall = Recall(repository)
    recall.open(FakeTarget())
    editor = chat_editor(repository, events.append, recall)
    summary = repository.create_conversation("chat", "")
    recall.add(repository.add_message(summary.id, None, Role.USER, "one two three"))

    def num_found() -> int:
        return sum(len(index.find(list(b"one"), 8)) for index in recall.indexes())

    assert num_found() == 1
    editor.delete((summary.id,))
    assert num_found() == 0
    editor.restore((summary.id,))
    assert num_found() == 1
    assert [type(event) for event in events] == [ConversationsDeleted, ConversationsChanged]


def test_a_deleted_message_is_neither_recalled_nor_learned_from(repository: Repository) -> None:
    events: list[Event] = []
    recall = Recall(repository)
    recall.open(FakeTarget())
    editor = chat_editor(repository, events.append, recall)
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
    editor.delete_message(number, said.id)
    assert (found("one"), found("four"), len(repository.load_lessons("target"))) == (1, 0, 0)
    editor.restore_message(number, said.id)
    changed = [ConversationChanged, ConversationOpened]
    assert [type(event) for event in events] == [MessageDeleted, *changed, *changed]
    editor.delete_message(number, asked.id)
    assert isinstance(events[-1], ConversationsDeleted), "nothing would be left"
    assert repository.list_conversations() == ()


def test_a_conversation_that_is_missing_is_neither_forgotten_nor_restored(repository: Repository) -> None:
    recall = Recall(repository)
    recall.open(FakeTarget())
    editor = chat_editor(repository, recall=recall)
    before = recall.indexes()
    for change in (editor.delete, editor.restore):
        with pytest.raises(ConversationMissing):
            change((7,))
    assert recall.indexes() is before


def test_branch_settings_and_draft_of_a_conversation_are_changed(repository: Repository) -> None:
    events: list[Event] = []
    editor = chat_editor(repository, events.append)
    summary = repository.create_conversation("chat", "")
    first = repository.add_message(summary.id, None, Role.USER, "first")
    second = repository.add_message(summary.id, None, Role.USER, "second")
    assert editor.change(summary.id, "Be brief.", OwnSampling(seed=1)) == "Be brief."
    editor.save_draft(summary.id, "begun")
    changed = repository.find_conversation(summary.id)
    assert events == [
        ConversationChanged(changed),
    ]
    editor.show_branch(summary.id, first.id)
    opened = repository.open_conversation(summary.id)
    assert events[1:] == [ConversationOpened(opened)]
    assert opened.messages == (first,)
    assert opened.siblings == {first.id: (first.id, second.id)}
    assert (opened.system_prompt, opened.sampling, opened.draft) == ("Be brief.", OwnSampling(seed=1), "begun")
