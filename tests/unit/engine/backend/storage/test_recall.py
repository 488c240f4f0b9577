"""The tokens of messages: they come back as they were, go with their conversations, and leave the files when purged."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.backend.storage import Repository
from engine.backend.storage.connections import back_up
from engine.values.conversations import Role
from engine.values.errors import ConversationMissing, StoreUnusable

from .conftest import OnEveryConnection

VOCABULARY, OTHER = "7a" * 32, "d0" * 32
ALL = 10**9  # tokens: more than any test keeps
LATEST = 2**62  # later than any message
SECRET = [0x41524544, 0x45534E55]  # b"DERAUNSE" in the file


def conversation_with(repository: Repository, *texts: str) -> tuple[int, list[int]]:
    """The ids of a new conversation and of its messages."""
    summary = repository.create_conversation("chat", "")
    ids: list[int] = []
    for text in texts:
        parent_id = ids[-1] if ids else None
        ids.append(repository.add_message(summary.id, parent_id, Role.USER, text).id)
    return summary.id, ids


def load(
    repository: Repository, fingerprint: str = VOCABULARY, most_tokens: int = ALL, conversation_id: int | None = None
) -> list[tuple[int, list[int]]]:
    texts = repository.load_recall(fingerprint, most_tokens, conversation_id)
    return [(text.message_id, text.tokens.tolist()) for text in texts]


def missing(repository: Repository, fingerprint: str = VOCABULARY, before_id: int = LATEST) -> list[int]:
    return [message_id for message_id, _, _ in repository.messages_without_recall(fingerprint, before_id, 100)]


def written(data_dir: Path) -> bytes:
    return b"".join(file.read_bytes() for file in data_dir.iterdir())


def test_tokens_come_back_as_they_were_saved(open_repository: Callable[[], Repository]) -> None:
    repository = open_repository()
    conversation_id, (first, second) = conversation_with(repository, "one", "two")
    repository.save_recall(VOCABULARY, {first: [0, 5, 2**31 - 1], second: (7,)})
    texts = open_repository().load_recall(VOCABULARY, ALL)
    assert [(text.message_id, text.conversation_id, text.tokens.tolist()) for text in texts] == [
        (first, conversation_id, [0, 5, 2**31 - 1]),
        (second, conversation_id, [7]),
    ]
    assert {text.tokens.dtype for text in texts} == {np.dtype(np.int32)}


def test_a_message_without_tokens_is_known_too(repository: Repository) -> None:
    _, (message_id,) = conversation_with(repository, "")
    repository.save_recall(VOCABULARY, {message_id: []})
    assert load(repository) == [(message_id, [])]
    assert missing(repository) == []


def test_saving_again_replaces_and_leaves_the_others(repository: Repository) -> None:
    _, (first, second) = conversation_with(repository, "one", "two")
    repository.save_recall(VOCABULARY, {first: [1, 2], second: [3]})
    repository.save_recall(VOCABULARY, {first: [4, 5, 6]})
    assert load(repository) == [(first, [4, 5, 6]), (second, [3])]


def test_each_vocabulary_has_its_own(repository: Repository) -> None:
    _, (first, second) = conversation_with(repository, "one", "two")
    repository.save_recall(VOCABULARY, {first: [1], second: [2]})
    repository.save_recall(OTHER, {first: [100, 101]})
    assert load(repository, VOCABULARY) == [(first, [1]), (second, [2])]
    assert load(repository, OTHER) == [(first, [100, 101])]
    assert missing(repository, VOCABULARY) == []
    assert missing(repository, OTHER) == [second]


def test_unknown_vocabulary_has_none_and_asking_leaves_no_trace(repository: Repository, store: Path) -> None:
    assert repository.load_recall(VOCABULARY, ALL) == ()
    assert repository.messages_without_recall(VOCABULARY, LATEST, 8) == ()
    repository.save_recall(VOCABULARY, {})
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT count(*) FROM vocabularies").fetchone() == (0,)


def test_oldest_come_first_whatever_was_saved_first(repository: Repository) -> None:
    _, (first, second) = conversation_with(repository, "one", "two")
    _, (third,) = conversation_with(repository, "three")
    for message_id in (second, third, first):
        repository.save_recall(VOCABULARY, {message_id: [message_id]})
    assert [message_id for message_id, _ in load(repository)] == [first, second, third]


@pytest.mark.parametrize(("most_tokens", "num_kept"), [(9, 3), (8, 2), (5, 2), (4, 1), (2, 1), (1, 0), (0, 0)])
def test_of_too_many_tokens_the_latest_whole_messages_are_loaded(
    repository: Repository, most_tokens: int, num_kept: int
) -> None:
    _, ids = conversation_with(repository, "one", "two", "three")
    repository.save_recall(VOCABULARY, dict(zip(ids, ([1, 1, 1, 1], [2, 2, 2], [3, 3]), strict=True)))
    assert [message_id for message_id, _ in load(repository, most_tokens=most_tokens)] == ids[3 - num_kept :]


def test_one_conversation_can_be_loaded_alone(repository: Repository) -> None:
    conversation_id, (first, second) = conversation_with(repository, "one", "two")
    _, (third,) = conversation_with(repository, "three")
    repository.save_recall(VOCABULARY, {first: [1], second: [2], third: [3]})
    assert load(repository, conversation_id=conversation_id) == [(first, [1]), (second, [2])]
    assert load(repository, OTHER, conversation_id=conversation_id) == []


def test_deleted_conversations_are_left_out_until_they_are_restored(repository: Repository) -> None:
    hidden, (known, unknown) = conversation_with(repository, "known", "unknown")
    _, (other,) = conversation_with(repository, "other")
    repository.save_recall(VOCABULARY, {known: [1, 2], other: [3]})
    repository.delete_conversations([hidden])
    assert load(repository) == [(other, [3])]
    assert load(repository, conversation_id=hidden) == []
    assert load(repository, most_tokens=1) == [(other, [3])]
    assert missing(repository) == []

    repository.restore_conversations([hidden])
    assert load(repository) == [(known, [1, 2]), (other, [3])]
    assert missing(repository) == [unknown]


def test_a_reply_to_a_deleted_conversation_can_be_saved_and_comes_back_with_it(repository: Repository) -> None:
    conversation_id, (message_id,) = conversation_with(repository, "late")
    repository.delete_conversations([conversation_id])
    repository.save_recall(VOCABULARY, {message_id: [1]})
    assert load(repository) == []
    repository.restore_conversations([conversation_id])
    assert load(repository) == [(message_id, [1])]


def test_purge_removes_the_tokens_of_the_deleted_alone(repository: Repository, store: Path) -> None:
    gone, (first, second) = conversation_with(repository, "one", "two")
    _, (third,) = conversation_with(repository, "three")
    for fingerprint in (VOCABULARY, OTHER):
        repository.save_recall(fingerprint, {first: [1], second: [2], third: [3]})
    repository.delete_conversations([gone])
    assert repository.purge_deleted() == 1
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT message_id FROM recall").fetchall() == [(third,), (third,)]
    assert load(repository, VOCABULARY) == load(repository, OTHER) == [(third, [3])]


@pytest.mark.parametrize("seed", [123, 125, 128])  # with these, secure_delete alone leaves tokens behind
def test_nothing_of_purged_tokens_remains_in_the_files(repository: Repository, data_dir: Path, seed: int) -> None:
    chance = random.Random(seed)

    def mark(number: int) -> bytes:
        return f"<{number:02}:mem>".encode()  # two tokens

    living = [repository.create_conversation("chat", "").id for _ in range(6)]
    gone: list[int] = []
    heads: dict[int, int] = {}
    for _ in range(120):
        chosen = chance.choice(living)
        heads[chosen] = repository.add_message(chosen, heads.get(chosen), Role.USER, "text").id
        blob = mark(chosen) * int(10 ** chance.uniform(0, 3.3))
        repository.save_recall(VOCABULARY, {heads[chosen]: np.frombuffer(blob, "<i4").tolist()})
        if chance.random() < 0.1:  # again, in other words
            repository.save_recall(VOCABULARY, {heads[chosen]: np.frombuffer(mark(chosen), "<i4").tolist()})
        if chance.random() < 0.04 and len(living) > 2:
            leaving = chance.choice(living)
            living.remove(leaving)
            gone.append(leaving)
            repository.delete_conversations([leaving])
            if chance.random() < 0.6:
                repository.purge_deleted()
                assert repository.finish_erasure() == ()
    repository.purge_deleted()
    assert repository.finish_erasure() == ()

    raw = written(data_dir)
    assert gone
    assert [number for number in gone if mark(number) in raw] == []
    assert [number for number in living if number in heads and mark(number) not in raw] == []


def test_purge_reaches_the_tokens_in_the_copy_that_a_migration_left(
    repository: Repository, data_dir: Path, store: Path
) -> None:
    _, (kept,) = conversation_with(repository, "kept")
    hidden, (secret,) = conversation_with(repository, "secret")
    repository.save_recall(VOCABULARY, {kept: [1, 2], secret: SECRET})
    backup = back_up(store, "9999")
    assert b"DERAUNSE" in backup.read_bytes()

    repository.delete_conversations([hidden])
    repository.purge_deleted()
    assert repository.finish_erasure() == ()
    assert b"DERAUNSE" not in written(data_dir)
    with closing(sqlite3.connect(backup)) as connection:
        assert connection.execute("SELECT message_id FROM recall").fetchall() == [(kept,)]


def test_purge_takes_a_copy_from_before_there_were_tokens(repository: Repository, store: Path) -> None:
    hidden, (secret,) = conversation_with(repository, "DERAUNSE")
    repository.save_recall(VOCABULARY, {secret: SECRET})
    backup = back_up(store, "9999")
    with closing(sqlite3.connect(backup)) as connection:
        later = ("adapters", "scores", "practice", "lessons", "imported_recall", "recall", "vocabularies")
        connection.executescript("".join(f"DROP TABLE {table};" for table in later))
    repository.delete_conversations([hidden])
    assert repository.purge_deleted() == 1
    assert repository.finish_erasure() == ()
    assert b"DERAUNSE" not in backup.read_bytes()


@pytest.mark.parametrize(
    "damage",
    [
        "tokens = x'010203'",
        "tokens = x'0100000002'",
        "tokens = 'abcd'",
        "tokens = CAST(x'01000000' AS TEXT)",
        "tokens = 7",
        "tokens = 0.5",
        "vocabulary_id = 999",
        "message_id = 999",
        "message_id = 'many'",
    ],
)
def test_damaged_row_is_left_out(repository: Repository, store: Path, damage: str) -> None:
    _, (first, second) = conversation_with(repository, "one", "two")
    repository.save_recall(VOCABULARY, {first: [1], second: [2]})
    with closing(sqlite3.connect(store)) as connection, connection:
        assert connection.execute(f"UPDATE recall SET {damage} WHERE message_id = {first}").rowcount == 1
    assert load(repository) == [(second, [2])]


def test_tokens_are_little_endian_in_the_file(repository: Repository, store: Path) -> None:
    _, (message_id,) = conversation_with(repository, "one")
    repository.save_recall(VOCABULARY, {message_id: [1, 256]})
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT tokens FROM recall").fetchall() == [(bytes([1, 0, 0, 0, 0, 1, 0, 0]),)]


def test_where_a_message_is_gone_none_is_kept(repository: Repository) -> None:
    _, (there,) = conversation_with(repository, "there")
    purged, (gone,) = conversation_with(repository, "gone")
    repository.delete_conversations([purged])
    repository.purge_deleted()
    for absent in (gone, 999, -1):
        with pytest.raises(ConversationMissing):
            repository.save_recall(VOCABULARY, {there: [1], absent: [2]})
    assert load(repository) == []
    assert missing(repository) == [there]


def test_what_is_missing_is_told_latest_first_and_page_by_page(repository: Repository) -> None:
    first, (one, two, three) = conversation_with(repository, "one", "two", "three")
    second, (four, five) = conversation_with(repository, "four", "five")
    repository.save_recall(VOCABULARY, {three: [3]})
    page = repository.messages_without_recall(VOCABULARY, LATEST, 3)
    assert page == ((five, second, "five"), (four, second, "four"), (two, first, "two"))
    assert repository.messages_without_recall(VOCABULARY, two, 3) == ((one, first, "one"),)
    assert repository.messages_without_recall(VOCABULARY, one, 3) == ()
    assert missing(repository, OTHER) == [five, four, three, two, one]


def test_tokens_of_every_branch_are_known(repository: Repository) -> None:
    conversation_id, (prompt, reply) = conversation_with(repository, "prompt", "reply")
    again = repository.add_message(conversation_id, prompt, Role.ASSISTANT, "another reply").id
    assert missing(repository) == [again, reply, prompt]
    repository.save_recall(VOCABULARY, {reply: [1], again: [2]})
    assert load(repository) == [(reply, [1]), (again, [2])]


def test_locked_store_is_told_in_words_and_keeps_what_it_had(
    open_repository: Callable[[], Repository], on_every_connection: OnEveryConnection, store: Path
) -> None:
    with on_every_connection("PRAGMA busy_timeout = 20"):
        repository = open_repository()
        _, (first, second) = conversation_with(repository, "one", "two")
        repository.save_recall(VOCABULARY, {first: [1]})
    with closing(sqlite3.connect(store, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnusable, match="locked by another program"):
            repository.save_recall(VOCABULARY, {second: [2]})
        assert load(repository) == [(first, [1])]


saves = st.lists(st.dictionaries(st.integers(0, 5), st.lists(st.integers(0, 2**31 - 1), max_size=5)), max_size=4)


@settings(
    max_examples=100 if os.environ.get("CI") else 20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # every example has a vocabulary of its own
)
@given(saves=saves, hidden=st.sets(st.integers(0, 2)), most_tokens=st.integers(0, 20))
def test_store_agrees_with_a_plain_dictionary(
    repository: Repository, saves: list[dict[int, list[int]]], hidden: set[int], most_tokens: int
) -> None:
    conversations = [conversation_with(repository, "one", "two") for _ in range(3)]
    ids = [message_id for _, pair in conversations for message_id in pair]
    vocabulary = f"vocabulary {ids[0]}"
    expected: dict[int, list[int]] = {}
    for by_place in saves:
        changed = {ids[place]: tokens for place, tokens in by_place.items()}
        repository.save_recall(vocabulary, changed)
        expected |= changed
    for place in hidden:
        conversation_id, pair = conversations[place]
        repository.delete_conversations([conversation_id])
        for message_id in pair:
            expected.pop(message_id, None)
    latest: list[tuple[int, list[int]]] = []
    for message_id in sorted(expected, reverse=True):
        if sum(len(tokens) for _, tokens in latest) + len(expected[message_id]) > most_tokens:
            break
        latest.insert(0, (message_id, expected[message_id]))
    assert load(repository, vocabulary, most_tokens) == latest
    shown = {message_id for place in {0, 1, 2} - hidden for message_id in conversations[place][1]}
    assert {number for number in missing(repository, vocabulary) if number >= ids[0]} == shown - expected.keys()
