"""The keeper with a real store, which another program locks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import ConversationMissing, StoreUnusable
from engine.messages.commands import ContinueReply, KeepReply, LoadTarget, Send, StoreHeld
from engine.messages.conversations import Role
from engine.messages.events import MessageStored, PromptStored, StoreBehind
from engine.messages.replies import ReplyStatistics, StopReason
from engine.replies import reply
from engine.stop_signal import StopSignal
from engine.storage import Repository, transactions
from engine.storage.repository import FILE_NAME
from tests.fakes.target import FakeTarget, says
from tests.unit.engine.services.test_chat_service import GREEDY, Desk, finished

STATISTICS = ReplyStatistics(9, 9, 3, 0.1, 0.2, StopReason.CUT_OFF, 12, 512)


@pytest.fixture
def locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AbstractContextManager[None]:
    """Another program holds the store's lock inside."""
    for patience in ("PATIENCE_S", "SHORT_PATIENCE_S"):
        monkeypatch.setattr(transactions, patience, 0.02)

    @contextmanager
    def block() -> Iterator[None]:
        with closing(sqlite3.connect(tmp_path / "store" / FILE_NAME, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield

    return block()


@pytest.fixture
def talking(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Parts of replies are told after every round."""
    monkeypatch.setattr(reply, "_PART_S", 0.0)
    desk.do(LoadTarget(desk.add("fake", FakeTarget(says("Hello.")))))
    return desk


def texts(repository: Repository, conversation_id: int) -> list[str]:
    return [message.text for message in repository.open_conversation(conversation_id).messages]


def parts(desk: Desk) -> list[KeepReply]:
    return [command for command in desk.posted if isinstance(command, KeepReply)]


def test_a_reply_is_kept_as_it_grows_and_stands_there_cut_off_after_a_crash(talking: Desk) -> None:
    target = talking.targets[str(talking._folder / "fake.gguf")]
    assert isinstance(target, FakeTarget)
    seen: list[tuple[str, StopReason]] = []

    def keep() -> None:
        """As the thread of the store does."""
        for part in parts(talking):
            talking.keeper.keep(part)
            *_, last = talking.repository.open_conversation(part.conversation_id).messages
            assert last.statistics is not None
            seen.append((last.text, last.statistics.stop_reason))
        talking.posted.clear()

    target.on_evaluate = keep
    talking.do(Send("Hi", None, GREEDY))
    assert seen == [("Hello."[:length], StopReason.CUT_OFF) for length in range(2, 7)]
    message = finished(talking).message
    (summary,) = talking.repository.list_conversations()
    asked, said = talking.repository.open_conversation(summary.id).messages
    assert (asked.text, said.text, said) == ("Hi", "Hello.", message)

    late = KeepReply(1, summary.id, asked.id, "He", STATISTICS, "fake", None)
    talking.keeper.keep(late)
    assert texts(talking.repository, summary.id) == ["Hi", "Hello."], "a part that comes late changes nothing"

    target.next_token = says("Hello. And more.")
    talking.do(ContinueReply(summary.id, GREEDY))
    assert texts(talking.repository, summary.id) == ["Hi", "Hello. And more."]
    assert seen[-1][0] == "Hello. And more."


def test_of_a_forgotten_chat_and_of_an_incognito_one_no_part_is_kept(talking: Desk) -> None:
    talking.do(Send("Hi", None, GREEDY, incognito=True))
    assert parts(talking) == []
    chat = talking.repository.create_conversation("chat", "")
    asked = talking.repository.add_message(chat.id, None, Role.USER, "Hi")
    part = KeepReply(talking.keeper.begin_reply(), chat.id, asked.id, "He", STATISTICS, "fake", None)
    talking.keeper.keep(part)
    assert texts(talking.repository, chat.id) == ["Hi", "He"]
    talking.repository.forget_conversation(chat.id)
    talking.keeper.keep(replace(part, text="Hello"))
    with pytest.raises(ConversationMissing):
        talking.keeper.finish(replace(part, text="Hello."))
    assert [summary.incognito for summary in talking.repository.list_conversations()] == [True]


def test_a_chat_goes_on_while_the_store_is_locked_and_is_stored_afterwards(
    talking: Desk, locked: AbstractContextManager[None]
) -> None:
    talking.do(Send("Hi", None, GREEDY))
    conversation_id = finished(talking).message.conversation_id
    stop = StopSignal()
    stop.set()
    with locked:
        talking.do(Send("And?", conversation_id, GREEDY))
        (told,) = [event for event in talking.events if isinstance(event, PromptStored)]
        answer = finished(talking).message
        assert (told.message.id, answer.id, answer.parent_id) == (-3, -4, -3)
        *_, behind = [event for event in talking.events if isinstance(event, StoreBehind)]
        assert "is locked by another program" in behind.sentence
        assert behind.unstored == (told.message, answer)
        talking.do(Send("More?", conversation_id, GREEDY))
        opened = talking.keeper.over(talking.repository.open_conversation(conversation_id))
        assert [message.text for message in opened.messages] == ["Hi", "Hello.", "And?", "Hello.", "More?", "Hello."]
        assert texts(talking.repository, conversation_id) == ["Hi", "Hello."]
        assert talking.posted.count(StoreHeld()) == 1
        talking.posted.clear()
        talking.keeper.store_held(False, stop)
        assert talking.posted == [StoreHeld()], "it is asked again"
        with pytest.raises(StoreUnusable, match="locked"):
            talking.keeper.store_held(True, stop)
    talking.events.clear()
    talking.keeper.store_held(False, stop)
    stored = [event for event in talking.events if isinstance(event, MessageStored)]
    assert [event.held_id for event in stored] == [-3, -4, -5, -6]
    assert talking.events[-1] == StoreBehind("")
    messages = talking.repository.open_conversation(conversation_id).messages
    assert messages[2:] == tuple(event.message for event in stored)
    assert [message.text for message in messages] == ["Hi", "Hello.", "And?", "Hello.", "More?", "Hello."]
    assert talking.keeper.id_of(-4) == messages[3].id


def test_a_reply_whose_end_is_refused_is_not_stored_twice(talking: Desk, locked: AbstractContextManager[None]) -> None:
    chat = talking.repository.create_conversation("chat", "")
    asked = talking.repository.add_message(chat.id, None, Role.USER, "Hi")
    part = KeepReply(talking.keeper.begin_reply(), chat.id, asked.id, "He", STATISTICS, "fake", None)
    talking.keeper.keep(part)
    with locked:
        talking.keeper.finish(replace(part, text="Hello."))
        opened = talking.keeper.over(talking.repository.open_conversation(chat.id))
        assert [message.text for message in opened.messages] == ["Hi", "Hello."]
    talking.keeper.store_held(True, StopSignal())
    assert texts(talking.repository, chat.id) == ["Hi", "Hello."]


def test_what_is_held_of_a_chat_that_is_forgotten_is_not_stored(
    talking: Desk, locked: AbstractContextManager[None]
) -> None:
    chats = [talking.repository.create_conversation(title, "") for title in ("one", "two")]
    with locked:
        for chat in chats:
            talking.do(Send("Hi", chat.id, GREEDY))
    talking.repository.forget_conversation(chats[0].id)
    talking.keeper.store_held(True, StopSignal())
    assert [summary.title for summary in talking.repository.list_conversations()] == ["two"]
    assert texts(talking.repository, chats[1].id) == ["Hi", "Hello."]
    assert talking.events[-1] == StoreBehind("")
