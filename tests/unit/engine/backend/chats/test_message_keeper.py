"""The keeper with a real store, which another program locks."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from engine.backend.chats import message_keeper
from engine.backend.chats.message_keeper import MessageKeeper, ReplyToKeep
from engine.backend.storage import Repository, transactions
from engine.backend.storage.repository import FILE_NAME
from engine.values import growing_reply
from engine.values.conversations import Message, Role
from engine.values.errors import ConversationMissing, StoreUnusable
from engine.values.events import MessageStored, PromptStored, StoreBehind
from engine.values.orders import ContinueReply, Send
from engine.values.pictures import Picture
from engine.values.prompts import AttachedPicture, join_prompt
from engine.values.replies import ReplyStatistics, StopReason
from engine.values.stop_signal import StopSignal
from engine.values.targets import LoadOrder
from tests.fakes.target import FakeTarget, says
from tests.unit.engine.backend.chats.test_chat_service import GREEDY, Desk, finished

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
    monkeypatch.setattr(growing_reply, "_PART_S", 0.0)
    desk.load(LoadOrder(desk.add("fake", FakeTarget(says("Hello.")))))
    return desk


def texts(repository: Repository, conversation_id: int) -> list[str]:
    return [message.text for message in repository.open_conversation(conversation_id).messages]


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_reply_is_kept_as_it_grows_and_stands_there_cut_off_after_a_crash(talking: Desk) -> None:
    target = talking.targets[str(talking._folder / "fake.gguf")]
    assert isinstance(target, FakeTarget)
    seen: list[tuple[str, StopReason]] = []

    def keep() -> None:
        """As the thread of the store does."""
        for part in talking.parts:
            talking.keeper.keep(part)
            *_, last = talking.repository.open_conversation(part.conversation_id).messages
            assert last.statistics is not None
            seen.append((last.text, last.statistics.stop_reason))
        talking.parts.clear()

    target.on_evaluate = keep
    talking.do(Send("Hi", None, GREEDY))
    assert seen == [("Hello."[:length], StopReason.CUT_OFF) for length in range(1, 7)]
    message = finished(talking).message
    (summary,) = talking.repository.list_conversations()
    asked, said = talking.repository.open_conversation(summary.id).messages
    assert (asked.text, said.text, said) == ("Hi", "Hello.", message)

    late = ReplyToKeep(1, summary.id, asked.id, "He", (), STATISTICS, "fake", None)
    talking.keeper.keep(late)
    assert texts(talking.repository, summary.id) == ["Hi", "Hello."], "a part that comes late changes nothing"

    target.next_token = says("Hello. And more.")
    talking.do(ContinueReply(summary.id, GREEDY))
    assert texts(talking.repository, summary.id) == ["Hi", "Hello. And more."]
    assert seen[-1][0] == "Hello. And more."


def test_of_a_forgotten_chat_and_of_an_incognito_one_no_part_is_kept(talking: Desk) -> None:
    talking.do(Send("Hi", None, GREEDY, incognito=True))
    assert talking.parts == []
    chat = talking.repository.create_conversation("chat", "")
    asked = talking.repository.add_message(chat.id, None, Role.USER, "Hi")
    part = ReplyToKeep(talking.keeper.begin_reply(), chat.id, asked.id, "He", (), STATISTICS, "fake", None)
    talking.keeper.keep(part)
    assert texts(talking.repository, chat.id) == ["Hi", "He"]
    talking.repository.forget_conversation(chat.id)
    talking.keeper.keep(replace(part, text="Hello"))
    with pytest.raises(ConversationMissing):
        talking.keeper.finish(replace(part, text="Hello."))
    assert [summary.incognito for summary in talking.repository.list_conversations()] == [True]


def test_a_chat_goes_on_while_the_store_is_locked_and_is_stored_afterwards(
    talking: Desk, locked: AbstractContextManager[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    talking.do(Send("Hi", None, GREEDY))
    conversation_id = finished(talking).message.conversation_id
    monkeypatch.setattr(message_keeper, "_PAUSE_S", 0.0)
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
        for _ in range(2):
            until(lambda: talking.retries != [])  # the pause lies on no thread that others wait for
            talking.retries.clear()
            talking.keeper.store_held(False)  # and it is asked again
        with pytest.raises(StoreUnusable, match="locked"):
            talking.keeper.store_held(True)
    talking.events.clear()
    talking.keeper.store_held(False)
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
    part = ReplyToKeep(talking.keeper.begin_reply(), chat.id, asked.id, "He", (), STATISTICS, "fake", None)
    talking.keeper.keep(part)
    with locked:
        talking.keeper.finish(replace(part, text="Hello."))
        opened = talking.keeper.over(talking.repository.open_conversation(chat.id))
        assert [message.text for message in opened.messages] == ["Hi", "Hello."]
    talking.keeper.store_held(True)
    assert texts(talking.repository, chat.id) == ["Hi", "Hello."]


def test_pictures_are_held_with_their_prompt(talking: Desk, locked: AbstractContextManager[None]) -> None:
    chat = talking.repository.create_conversation("chat", "").id
    data = b"\x89PNG\r\n\x1a\n"
    picture = Picture(sha256(data).hexdigest(), data, 1, 1)
    prompt = join_prompt([AttachedPicture("a.png", picture.digest)], "Hi")
    with locked:
        talking.keeper.add_prompt(chat, None, prompt, [picture])
        assert talking.keeper.find_pictures(chat, [picture.digest]) == {picture.digest: picture}
        assert talking.keeper.find_pictures(chat + 1, [picture.digest]) == {}
    talking.keeper.store_held(True)
    assert talking.repository.find_pictures(chat, [picture.digest])[picture.digest].data == data


def test_what_is_held_of_a_chat_that_is_forgotten_is_not_stored(
    talking: Desk, locked: AbstractContextManager[None]
) -> None:
    chats = [talking.repository.create_conversation(title, "") for title in ("one", "two")]
    with locked:
        for chat in chats:
            talking.do(Send("Hi", chat.id, GREEDY))
    talking.repository.forget_conversation(chats[0].id)
    talking.keeper.store_held(True)
    assert [summary.title for summary in talking.repository.list_conversations()] == ["two"]
    assert texts(talking.repository, chats[1].id) == ["Hi", "Hello."]
    assert talking.events[-1] == StoreBehind("")


def test_what_is_behind_is_told_until_all_is_stored_and_nobody_waits(
    talking: Desk, locked: AbstractContextManager[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    tell: list[Callable[[bool], None]] = []
    monkeypatch.setattr(talking.repository, "tell_waiting", tell.append)
    keeper = MessageKeeper(talking.repository, talking.events.append, lambda: None)
    chat = talking.repository.create_conversation("chat", "")
    with locked:
        held = keeper.add_prompt(chat.id, None, "Hi")
    refused = talking.events[-1]
    assert isinstance(refused, StoreBehind)
    for is_waiting in (True, True, False, False):  # of two threads
        tell[0](is_waiting)
    assert talking.events[-1] == refused, "the wait is over, the message is still here alone"
    tell[0](True)
    keeper.store_held(False)
    waits = talking.events[-1]
    assert isinstance(waits, StoreBehind)
    assert waits.sentence.startswith("Another program has locked your chats")
    tell[0](False)
    assert talking.events[-1] == StoreBehind("")
    assert keeper.id_of(held.id) > 0


def test_a_message_with_an_error_of_its_own_holds_up_no_other_and_is_tried_again(
    talking: Desk,
    locked: AbstractContextManager[None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    keeper, repository = talking.keeper, talking.repository
    chats = [repository.create_conversation(title, "") for title in ("one", "two")]
    with locked:
        bad = keeper.add_prompt(chats[0].id, None, "secret")
        good = keeper.add_prompt(chats[1].id, None, "Hi")
    add_message = repository.add_message

    def failing(*arguments: Any) -> Message:
        if "secret" in arguments:
            raise RuntimeError("secret")
        return add_message(*arguments)

    def unreadable(_message: Message) -> tuple[int, ...]:
        raise StoreUnusable("locked")

    monkeypatch.setattr(repository, "find_siblings", unreadable)
    with monkeypatch.context() as patch:
        patch.setattr(repository, "add_message", failing)
        after = keeper.add_prompt(chats[0].id, bad.id, "after it")
        keeper.store_held(True)
        assert keeper.id_of(good.id) > 0
        behind = talking.events[-1]
        assert isinstance(behind, StoreBehind)
        assert (behind.unstored, "RuntimeError" in behind.sentence) == ((bad, after), True)
        with pytest.raises(StoreUnusable, match="RuntimeError"):
            keeper.id_of(after.id)
    assert "secret" not in caplog.text
    monkeypatch.setattr(message_keeper, "_PAUSE_S", 0.0)
    keeper.store_held(False)
    assert texts(repository, chats[0].id) == ["secret", "after it"]
    stored = [event.held_id for event in talking.events if isinstance(event, MessageStored)]
    assert stored == [good.id, bad.id, after.id], "also those whose siblings cannot be read"


def test_what_is_held_is_tried_once_more_when_the_app_is_closed(
    talking: Desk, locked: AbstractContextManager[None]
) -> None:
    chat = talking.repository.create_conversation("chat", "")
    with locked:
        talking.keeper.add_prompt(chat.id, None, "Hi")
    talking.retries.clear()
    talking.keeper.close()
    assert len(talking.retries) == 1


def test_a_new_chat_that_waits_for_a_locked_store_can_be_stopped(
    talking: Desk, locked: AbstractContextManager[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "PATIENCE_S", 120.0)
    stop = StopSignal()
    began = time.monotonic()
    threading.Timer(0.2, stop.set).start()
    with locked:
        with pytest.raises(StoreUnusable, match="locked by another program"):
            talking.service.answer(Send("Hi", None, GREEDY), stop)
        talking.repository.end_waiting()  # the app is being closed
        with pytest.raises(StoreUnusable, match="locked by another program"):
            talking.repository.rename_conversation(1, "title")
    assert time.monotonic() - began < 60
