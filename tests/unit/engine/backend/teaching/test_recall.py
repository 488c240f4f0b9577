"""The memory of what was said, over a real store: from chat to chat, from start to start, from target to target."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from engine.backend.storage import Repository
from engine.backend.storage.repository import FILE_NAME
from engine.backend.teaching.recall import Recall
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.recall import RecallProposer
from engine.speculation.replies.reply import ReplyWriter
from engine.speculation.replies.writing import Reply
from engine.values.config import ReplySettings, SamplingSettings
from engine.values.conversations import ChatTurn, Message, Role
from engine.values.errors import ConversationMissing, StoreUnusable
from engine.values.learned import RecallText
from engine.values.prompts import AttachedPicture, join_prompt
from engine.values.stop_signal import StopSignal
from tests.fakes.listener import RecordingReply
from tests.fakes.proposers import FREE
from tests.fakes.target import END, PIECES, FakeTarget, says

ALL = 10**9
MORE = (b"hello", b"world")  # pieces of another target's vocabulary
HELLO, WORLD = len(PIECES), len(PIECES) + 1


class FallibleRepository(Repository):
    """One whose recall fails while `is_broken`, and to which some messages seem to be gone."""

    is_broken = False
    is_full = False  # what is kept can be read, and nothing be added
    gone: frozenset[int] = frozenset()
    num_loaded = 0  # times

    def load_recall(
        self, fingerprint: str, most_tokens: int, conversation_id: int | None = None
    ) -> tuple[RecallText, ...]:
        self._check()
        self.num_loaded += 1
        return super().load_recall(fingerprint, most_tokens, conversation_id)

    def save_recall(self, fingerprint: str, tokens: Mapping[int, Sequence[int]]) -> None:
        self._check()
        if self.is_full:
            raise StoreUnusable("The disk that holds the store is full; free some space and try again.")
        if self.gone & tokens.keys():
            raise ConversationMissing("This message no longer exists.")
        super().save_recall(fingerprint, tokens)

    def messages_without_recall(self, fingerprint: str, before_id: int, limit: int) -> tuple[tuple[int, int, str], ...]:
        self._check()
        return super().messages_without_recall(fingerprint, before_id, limit)

    def _check(self) -> None:
        if self.is_broken:
            raise StoreUnusable("The disk that holds the store is full; free some space and try again.")


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[Callable[[], FallibleRepository]]:
    opened: list[FallibleRepository] = []

    def open_one() -> FallibleRepository:
        opened.append(FallibleRepository.open(tmp_path))  # type: ignore[arg-type]
        return opened[-1]

    yield open_one
    for repository in opened:
        repository.close()


@pytest.fixture
def repository(open_store: Callable[[], FallibleRepository]) -> FallibleRepository:
    return open_store()


def opened(repository: Repository, target: FakeTarget | None = None) -> Recall:
    recall = Recall(repository)
    recall.open(target or FakeTarget())
    return recall


def say(repository: Repository, text: str, conversation_id: int | None = None) -> Message:
    """A message that is kept, of a new conversation unless one is given."""
    if conversation_id is None:
        conversation_id = repository.create_conversation("chat", "").id
    return repository.add_message(conversation_id, None, Role.USER, text)


def found(recall: Recall, text: str) -> list[str]:
    """What followed these bytes wherever they were said, latest last."""
    places = [place for index in recall.indexes() for place in index.find(list(text.encode()), 100)]
    return [b"".join(PIECES[token] for token in place.continuation(100)).decode() for place in places]


def kept(repository: Repository, target: FakeTarget) -> dict[int, list[int]]:
    texts = repository.load_recall(target.vocabulary.fingerprint, ALL)
    return {text.message_id: text.tokens.tolist() for text in texts}


def caught_up(recall: Recall) -> int:
    """How many slices it took, the last of which had nothing to do."""
    num_slices = 1
    while recall.catch_up():
        num_slices += 1
        assert num_slices < 1000
    return num_slices


def write(recall: Recall, target: FakeTarget, prompt: str) -> Reply:
    target.roll_back(0)
    writer = ReplyWriter(target, Speculation(DraftPolicy(FREE, [RecallProposer(recall.indexes)])))
    settings = ReplySettings(SamplingSettings(temperature=0))
    prepared = writer.prepare([ChatTurn(Role.USER, prompt)])
    return writer.write(prepared, settings, StopSignal(), RecordingReply())


def test_what_was_said_is_found_at_once_and_after_the_next_start(
    open_store: Callable[[], FallibleRepository],
) -> None:
    repository = open_store()
    recall = opened(repository)
    recall.add(say(repository, "one two three"))
    assert found(recall, "one t") == ["wo three"]
    repository.close()
    assert found(opened(open_store()), "one t") == ["wo three"]


def test_what_is_forgotten_in_the_store_is_found_no_more_and_read_again(repository: FallibleRepository) -> None:
    recall = opened(repository)
    recall.add(say(repository, "one two three"))
    gone = say(repository, "one too many")
    recall.add(gone)
    recall.forget(gone.conversation_id)
    recall.reload()
    assert found(recall, "one t") == ["wo three"]
    repository.forget_learned()
    recall.reload()
    assert found(recall, "one t") == []
    repository.delete_conversations([gone.conversation_id])
    caught_up(recall)
    assert found(recall, "one t") == ["wo three"]
    repository.is_broken = True
    recall.reload()
    assert found(recall, "one t") == []


def test_nothing_is_remembered_before_a_target_is_there(repository: FallibleRepository) -> None:
    recall = Recall(repository)
    recall.restore(say(repository, "one two three").conversation_id)
    assert found(recall, "one t") == []


def test_a_reply_of_one_chat_is_drafted_in_the_next(repository: FallibleRepository) -> None:
    target = FakeTarget(says("0123456789ABCDEFGHIJKL"))  # nothing in it repeats
    recall = opened(repository, target)
    first = write(recall, target, "What is first?")
    assert first.statistics.num_accepted == 0
    conversation_id = repository.create_conversation("chat", "").id
    message = repository.add_message(conversation_id, None, Role.ASSISTANT, first.text)
    recall.add(message, first.tokens)
    again = write(recall, target, "And again?")
    assert again.text == first.text
    assert again.statistics.num_accepted > len(first.text) / 2
    recall.forget(conversation_id)
    assert write(recall, target, "And now?").statistics.num_accepted == 0


def test_tokens_that_the_target_wrote_are_kept_as_they_are(repository: FallibleRepository) -> None:
    target = FakeTarget()
    recall = opened(repository, target)
    spelled = list(b"the thing")
    assert len(target.tokenize("the thing")) < len(spelled)
    message = say(repository, "the thing")
    recall.add(message, spelled)
    assert kept(repository, target) == {message.id: spelled}
    assert found(recall, "the") == [" thing"]
    assert caught_up(recall) == 1  # it is known
    assert kept(repository, target) == {message.id: spelled}


def test_a_reply_that_failed_before_its_first_token_is_known(repository: FallibleRepository) -> None:
    recall = opened(repository)
    recall.add(say(repository, ""), ())
    assert caught_up(recall) == 1


def test_what_was_said_to_another_target_is_found_in_the_tokens_of_this_one(repository: FallibleRepository) -> None:
    old, new = FakeTarget(), FakeTarget(more_pieces=MORE)
    message = say(repository, "say hello world")
    opened(repository, old).add(message)
    recall = opened(repository, new)
    assert list(recall.indexes()[0].find([ord("y"), ord(" ")], 8)) == []
    caught_up(recall)
    assert kept(repository, new) == {message.id: [*b"say ", HELLO, ord(" "), WORLD]}
    (place,) = recall.indexes()[-1].find([ord("y"), ord(" ")], 8)
    assert place.continuation(8) == [HELLO, ord(" "), WORLD]
    assert kept(repository, old) == {message.id: list(b"say hello world")}


def test_the_same_vocabulary_under_another_target_is_the_same_memory(repository: FallibleRepository) -> None:
    recall = opened(repository)
    recall.add(say(repository, "one two three"))
    before = recall.indexes()
    recall.open(FakeTarget(context_size=64))
    assert recall.indexes() is before
    assert found(recall, "one t") == ["wo three"]


def test_each_target_finds_its_own_memory_again(repository: FallibleRepository) -> None:
    old, new = FakeTarget(), FakeTarget(more_pieces=MORE)
    recall = opened(repository, old)
    recall.add(say(repository, "to the moon"), [*b"to the moon"])
    recall.open(new)
    assert found(recall, "to") == []
    recall.open(old)
    assert found(recall, "to") == [" the moon"]


def test_catching_up_goes_in_slices_from_the_latest_message_on(
    repository: FallibleRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.backend.teaching.recall._SLICE_S", 3600.0)
    target = FakeTarget()
    ids = [say(repository, f"message {number}").id for number in range(20)]
    recall = opened(repository, target)
    seen: list[list[int]] = []
    while recall.catch_up():
        seen.append(sorted(kept(repository, target)))
    assert seen == [ids[-8:], ids[-16:], ids]
    assert found(recall, "message 1")[-1] == "9"
    assert not recall.catch_up()


def test_a_slice_ends_when_its_time_is_over(repository: FallibleRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.backend.teaching.recall._SLICE_S", -1.0)
    target = FakeTarget()
    ids = [say(repository, f"message {number}").id for number in range(3)]
    recall = opened(repository, target)
    assert recall.catch_up()
    assert sorted(kept(repository, target)) == ids[2:]
    assert recall.catch_up()
    assert sorted(kept(repository, target)) == ids[1:]
    assert caught_up(recall) == 2
    assert sorted(kept(repository, target)) == ids


def test_a_long_message_is_tokenized_in_pieces_between_which_others_have_the_thread(
    repository: FallibleRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.backend.teaching.recall._SLICE_S", 0.0)
    monkeypatch.setattr("engine.backend.teaching.recall._MOST_TOKENS", 60_000)
    chat = repository.create_conversation("chat", "").id
    recall = opened(repository)
    sizes: list[int] = []
    tokenize = recall._tokenize

    def counted(text: str) -> list[int]:
        sizes.append(len(text))
        return tokenize(text)

    monkeypatch.setattr(recall, "_tokenize", counted)
    message = repository.add_message(chat, None, Role.USER, "abc " * 2**21)
    recall.add(message)
    assert not sizes, "a prompt would have to wait for it"
    num_slices = 0
    while recall.catch_up():
        num_slices += 1
    assert max(sizes) <= 8_000
    assert sum(sizes) < 80_000, "there is room for others"
    assert num_slices >= len(sizes) - 1
    assert recall.indexes()[0].num_tokens > 30_000


def test_catching_up_goes_on_after_the_next_start(
    open_store: Callable[[], FallibleRepository], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.backend.teaching.recall._SLICE_S", -1.0)
    repository = open_store()
    for number in range(3):
        say(repository, f"message {number}")
    opened(repository).catch_up()
    repository.close()
    recall = opened(open_store())
    assert found(recall, "message ") == ["2"]
    assert caught_up(recall) == 3  # the two that are left, and nothing
    assert sorted(found(recall, "message ")) == ["0", "1", "2"]


def test_catching_up_ends_when_as_much_is_remembered_as_may_be(
    repository: FallibleRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.backend.teaching.recall._SLICE_S", -1.0)
    monkeypatch.setattr("engine.backend.teaching.recall.MOST_TOKENS", 20)
    target = FakeTarget()
    ids = [say(repository, f"message {number}").id for number in range(5)]  # 9 tokens each
    recall = opened(repository, target)
    assert caught_up(recall) == 3
    assert sorted(kept(repository, target)) == ids[2:]


def test_messages_that_come_while_it_catches_up_are_remembered_once(
    repository: FallibleRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.backend.teaching.recall._SLICE_S", -1.0)
    for number in range(3):
        say(repository, f"message {number}")
    recall = opened(repository)
    recall.catch_up()
    recall.add(say(repository, "message 3"))
    caught_up(recall)
    assert found(recall, "message ") == ["0", "1", "2", "3"]


def test_a_deleted_conversation_is_not_found_until_it_is_restored(repository: FallibleRepository) -> None:
    recall = opened(repository)
    gone, other = say(repository, "one two three"), say(repository, "one two four")
    recall.add(gone)
    recall.add(other)
    repository.delete_conversations([gone.conversation_id])
    recall.forget(gone.conversation_id)
    assert found(recall, "two ") == ["four"]
    assert found(opened(repository), "two ") == ["four"]
    repository.restore_conversations([gone.conversation_id])
    recall.restore(gone.conversation_id)
    assert sorted(found(recall, "two ")) == ["four", "three"]


def test_a_reply_to_a_conversation_that_was_deleted_meanwhile_is_not_found_until_it_is_restored(
    repository: FallibleRepository,
) -> None:
    recall = opened(repository)
    prompt = say(repository, "one two three")
    repository.delete_conversations([prompt.conversation_id])
    recall.forget(prompt.conversation_id)
    reply = repository.add_message(prompt.conversation_id, prompt.id, Role.ASSISTANT, "four five six")
    recall.add(prompt)
    recall.add(reply, list(b"four five six"))
    assert found(recall, "one ") == found(recall, "four ") == []
    recall.add(say(repository, "four fives"))
    assert found(recall, "four ") == ["fives"]

    repository.restore_conversations([prompt.conversation_id])
    recall.restore(prompt.conversation_id)
    assert found(recall, "one ") == ["two three"]
    assert sorted(found(recall, "four ")) == ["five six", "fives"]


def test_a_restored_conversation_takes_further_replies(repository: FallibleRepository) -> None:
    recall = opened(repository)
    prompt = say(repository, "one two three")
    repository.delete_conversations([prompt.conversation_id])
    recall.forget(prompt.conversation_id)
    repository.restore_conversations([prompt.conversation_id])
    recall.restore(prompt.conversation_id)
    recall.add(say(repository, "four five six", prompt.conversation_id))
    assert found(recall, "four ") == ["five six"]


def test_deleted_conversations_are_not_caught_up_with(repository: FallibleRepository) -> None:
    message = say(repository, "one two three")
    repository.delete_conversations([message.conversation_id])
    target = FakeTarget()
    recall = opened(repository, target)
    assert caught_up(recall) == 1
    repository.restore_conversations([message.conversation_id])
    assert kept(repository, target) == {}


def test_a_message_that_was_purged_meanwhile_is_left_out(repository: FallibleRepository) -> None:
    recall = opened(repository)
    message = say(repository, "one two three")
    repository.delete_conversations([message.conversation_id])
    repository.purge_deleted()
    recall.add(message)
    assert found(recall, "one ") == []


def test_a_chat_that_is_deleted_while_the_memory_is_loaded_stays_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Racing(FallibleRepository):
        def after_loading(self) -> None: ...

        def load_recall(
            self, fingerprint: str, most_tokens: int, conversation_id: int | None = None
        ) -> tuple[RecallText, ...]:
            texts = super().load_recall(fingerprint, most_tokens, conversation_id)
            self.after_loading()
            return texts

    repository = Racing.open(tmp_path)
    assert isinstance(repository, Racing)
    recall = opened(repository)
    message = say(repository, "one two three")
    recall.add(message)
    recall.open(FakeTarget(more_pieces=MORE))

    def delete() -> None:
        repository.delete_conversations([message.conversation_id])
        recall.forget(message.conversation_id)

    monkeypatch.setattr(repository, "after_loading", delete)
    recall.open(FakeTarget())
    assert found(recall, "one ") == []
    repository.close()


def test_however_many_chats_are_not_recalled_for_a_while_the_memory_is_read_once(
    repository: FallibleRepository,
) -> None:
    recall = opened(repository)
    messages = [say(repository, f"see what {place}") for place in range(5)]
    for message in messages:
        recall.add(message)
    *aside, last = [message.conversation_id for message in messages]
    before = repository.num_loaded
    with recall.without(aside):
        assert found(recall, "what ") == ["4"]
        repository.delete_conversations([aside[0]])
        recall.forget(aside[0])
    assert found(recall, "what ") == ["4", "1", "2", "3"]
    assert repository.num_loaded == before + 1
    with recall.without([]):
        pass
    assert repository.num_loaded == before + 1
    recall.forget(last)
    assert found(recall, "what ") == ["1", "2", "3"]


def test_catching_up_ends_when_the_store_cannot_be_written(repository: FallibleRepository) -> None:
    for number in range(30):
        say(repository, f"message {number}")
    recall = opened(repository)
    repository.is_full = True
    assert not recall.catch_up()


def test_a_message_that_is_no_text_is_passed_over(repository: FallibleRepository, tmp_path: Path) -> None:
    say(repository, "one two three")
    damaged = say(repository, "damaged")
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection, connection:
        connection.execute("UPDATE messages SET text = x'6162' WHERE id = ?", (damaged.id,))
    recall = opened(repository)
    caught_up(recall)
    assert found(recall, "one ") == ["two three"]


def test_what_was_hidden_while_the_memory_caught_up_is_caught_up_with_after_its_return(
    repository: FallibleRepository,
) -> None:
    message = say(repository, "one two three")
    recall = opened(repository)
    repository.delete_conversations([message.conversation_id])
    recall.forget(message.conversation_id)
    caught_up(recall)
    repository.restore_conversations([message.conversation_id])
    recall.restore(message.conversation_id)
    caught_up(recall)
    assert found(recall, "one ") == ["two three"]


def test_a_memory_that_could_not_be_loaded_is_loaded_with_the_target_the_next_time(
    repository: FallibleRepository,
) -> None:
    opened(repository).add(say(repository, "one two three"))
    repository.is_broken = True
    recall = opened(repository)
    repository.is_broken = False
    recall.open(FakeTarget())
    assert found(recall, "one ") == ["two three"]


def test_nothing_of_another_vocabulary_is_found_when_loading_fails_unexpectedly(
    repository: FallibleRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    recall = opened(repository, FakeTarget(more_pieces=MORE))
    recall.add(say(repository, "one two three"))

    def fail(*_arguments: object) -> tuple[RecallText, ...]:
        raise ZeroDivisionError

    monkeypatch.setattr(repository, "load_recall", fail)
    with pytest.raises(ZeroDivisionError):
        recall.open(FakeTarget())
    assert not any(index.num_tokens for index in recall.indexes())


def test_of_a_picture_nothing_is_recalled(repository: FallibleRepository) -> None:
    prompt = join_prompt([AttachedPicture("a.png", "0" * 64)], "one two three")
    recall = opened(repository)
    recall.add(say(repository, prompt))
    say(repository, prompt)
    recall.catch_up()
    assert found(recall, "one two ") == ["three", "three"]
    assert found(recall, "picture:") == []


def test_a_message_that_cannot_be_kept_does_not_hold_up_the_others(
    repository: FallibleRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.backend.teaching.recall._SLICE_S", -1.0)
    ids = [say(repository, f"message {number}").id for number in range(3)]
    recall = opened(repository)
    repository.gone = frozenset({ids[1]})
    for _ in range(4):
        recall.catch_up()
    assert sorted(found(recall, "message ")) == ["0", "2"]


def test_a_store_that_fails_is_a_word_in_the_log_and_nothing_else(
    repository: FallibleRepository, caplog: pytest.LogCaptureFixture
) -> None:
    recall = opened(repository)
    first, second = say(repository, "one two three"), say(repository, "four five six")
    recall.add(first)
    repository.is_broken = True
    with caplog.at_level(logging.WARNING, "slipstream.recall"):
        recall.add(second)
        assert not recall.catch_up()
        recall.forget(first.conversation_id)
        recall.restore(first.conversation_id)
        assert found(recall, "one ") == found(recall, "four ") == []
        recall.open(FakeTarget(more_pieces=MORE))
    reason = "The disk that holds the store is full; free some space and try again."
    assert [record.message for record in caplog.records] == [
        f"recall was not stored: {reason}",
        f"recall was not brought up to date: {reason}",
        f"recall was not loaded: {reason}",
        f"recall was not loaded: {reason}",
    ]
    repository.is_broken = False
    recall.open(FakeTarget())
    assert found(recall, "one ") == ["two three"]
    assert caught_up(recall) == 2
    assert found(recall, "four ") == ["five six"]


@pytest.mark.parametrize("wrong", [-1, len(PIECES), 2**31 - 1, -(2**31)])
def test_what_is_no_token_is_never_looked_in(repository: FallibleRepository, tmp_path: Path, wrong: int) -> None:
    recall = opened(repository)
    damaged, sound = say(repository, "one two three"), say(repository, "one two four")
    recall.add(damaged)
    recall.add(sound)
    blob = np.array([*b"one two ", wrong, ord("x")], "<i4").tobytes()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection, connection:
        connection.execute("UPDATE recall SET tokens = ? WHERE message_id = ?", (blob, damaged.id))
    again = opened(repository)
    assert found(again, "one two ") == ["four"]
    again.restore(damaged.conversation_id)
    assert found(again, "one two ") == ["four"]


def test_the_highest_token_of_the_vocabulary_is_one(repository: FallibleRepository) -> None:
    recall = opened(repository)
    recall.add(say(repository, "one"), [1, 2, END])
    (place,) = opened(repository).indexes()[0].find([1, 2], 8)
    assert place.continuation(8) == [END]
