"""Lessons: they come back as they were with the turns they answer, thin out with age, and go with their messages."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.backend.storage import Repository, lessons
from engine.backend.storage.connections import back_up
from engine.values.config import OwnSampling
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import ConversationMissing, StoreUnusable

from .conftest import OnEveryConnection
from .made import reply_of

VOCABULARY, OTHER = "7a" * 32, "d0" * 32
ALL = 10**6  # lessons: more than any test keeps
SECRET = [0x41524544, 0x45534E55]  # b"DERAUNSE" in the file
DISTRIBUTION = [[7, 8, 9], [9, 8, 7]]  # of two tokens
LOGS = [[-0.5, -1.25, -3.0], [-0.25, -2.0, float("-inf")]]


def exchange(repository: Repository, *texts: str, system_prompt: str = "") -> tuple[int, list[int]]:
    """A conversation of prompts and replies in turn: its id and those of its messages."""
    summary = repository.create_conversation("chat", system_prompt)
    ids: list[int] = []
    for place, text in enumerate(texts):
        role = Role.ASSISTANT if place % 2 else Role.USER
        ids.append(repository.add_message(summary.id, ids[-1] if ids else None, role, text).id)
    return summary.id, ids


def save(repository: Repository, message_id: int, fingerprint: str = VOCABULARY, most: int = ALL) -> None:
    """A lesson whose first token tells which one it is."""
    repository.save_lesson(fingerprint, message_id, reply_of([message_id, 2**31 - 1], DISTRIBUTION, LOGS), most)


def kept(repository: Repository, fingerprint: str = VOCABULARY) -> list[int]:
    lessons = repository.load_lessons(fingerprint)
    assert [int(lesson.reply.tokens[0]) for lesson in lessons] == [lesson.message_id for lesson in lessons]
    return [lesson.message_id for lesson in lessons]


def written(data_dir: Path) -> bytes:
    return b"".join(file.read_bytes() for file in data_dir.iterdir())


def test_a_lesson_comes_back_with_the_turns_that_it_answers(open_repository: Callable[[], Repository]) -> None:
    repository = open_repository()
    _, (*_, reply) = exchange(repository, "Hi!", "Hello.", "Why?", "So.", system_prompt="Be kind.")
    save(repository, reply)
    (lesson,) = open_repository().load_lessons(VOCABULARY)
    assert lesson.message_id == reply
    assert lesson.turns == (
        ChatTurn(Role.SYSTEM, "Be kind."),
        ChatTurn(Role.USER, "Hi!"),
        ChatTurn(Role.ASSISTANT, "Hello."),
        ChatTurn(Role.USER, "Why?"),
    )
    assert lesson.reply.tokens.tolist() == [reply, 2**31 - 1]
    assert lesson.reply.top_tokens.tolist() == DISTRIBUTION
    assert lesson.reply.top_logs.tolist() == LOGS
    kinds = [numbers.dtype.name for numbers in (lesson.reply.tokens, lesson.reply.top_tokens, lesson.reply.top_logs)]
    assert kinds == ["int32", "int32", "float16"]
    assert lesson.reply.temperature == 0
    repository.save_lesson(VOCABULARY, reply, replace(lesson.reply, temperature=0.7), ALL)
    (lesson,) = open_repository().load_lessons(VOCABULARY)
    assert lesson.reply.temperature == 0.7
    with pytest.raises(ValueError, match="temperature"):
        repository.save_lesson(VOCABULARY, reply, replace(lesson.reply, temperature=float("nan")), ALL)


def test_every_branch_has_its_own_turns(repository: Repository) -> None:
    conversation_id, (root, first, _, last) = exchange(repository, "one", "two", "three", "four")
    again = repository.add_message(conversation_id, root, Role.ASSISTANT, "two, in other words").id
    asked = repository.add_message(conversation_id, again, Role.USER, "and?").id
    reply = repository.add_message(conversation_id, asked, Role.ASSISTANT, "that is all").id
    for message_id in (reply, first, again, last):
        save(repository, message_id)
    texts = {lesson.message_id: [turn.text for turn in lesson.turns] for lesson in repository.load_lessons(VOCABULARY)}
    assert texts == {
        first: ["one"],
        again: ["one"],
        last: ["one", "two", "three"],
        reply: ["one", "two, in other words", "and?"],
    }
    assert list(texts) == sorted(texts), "the oldest comes first"


def test_what_was_not_rendered_is_no_turn(repository: Repository) -> None:
    _, (*_, reply) = exchange(repository, "one", "", "three", "four", system_prompt=" \n")
    save(repository, reply)
    (lesson,) = repository.load_lessons(VOCABULARY)
    assert [turn.text for turn in lesson.turns] == ["one", "three"]


def test_saving_again_replaces_and_leaves_the_others(repository: Repository) -> None:
    _, (_, first, _, second) = exchange(repository, "one", "two", "three", "four")
    save(repository, first)
    save(repository, second)
    repository.save_lesson(VOCABULARY, first, reply_of([5], [[1]], [[0.0]]), ALL)
    changed, other = repository.load_lessons(VOCABULARY)
    reply = changed.reply
    assert (reply.tokens.tolist(), reply.top_tokens.tolist(), reply.top_logs.tolist()) == ([5], [[1]], [[0.0]])
    assert other.reply.tokens.tolist() == [second, 2**31 - 1]


def test_each_vocabulary_has_its_own(repository: Repository) -> None:
    _, (_, first, _, second) = exchange(repository, "one", "two", "three", "four")
    save(repository, first)
    save(repository, second, OTHER)
    assert (kept(repository), kept(repository, OTHER), kept(repository, "third")) == ([first], [second], [])


@pytest.mark.parametrize(
    ("tokens", "law_tokens", "law_logs"),
    [
        ([], np.zeros((0, 3), np.int32), np.zeros((0, 3), np.float16)),
        ([1], np.zeros((1, 0), np.int32), np.zeros((1, 0), np.float16)),
        ([1, 2], [[1, 2]], [[-1.0, -2.0]]),
        ([1], [[1, 2]], [[-1.0]]),
        ([1], [1], [-1.0]),
        ([[1]], [[1]], [[-1.0]]),
        ([-1], [[1]], [[-1.0]]),
        ([2**31], [[1]], [[-1.0]]),
        ([1], [[-1]], [[-1.0]]),
        ([1.5], [[1]], [[-1.0]]),
        ([1], [[1]], [[0.5]]),
        ([1], [[1]], [[float("nan")]]),
        ([1], [[1]], [[1]]),
    ],
)
def test_what_is_no_lesson_is_refused(repository: Repository, tokens: Any, law_tokens: Any, law_logs: Any) -> None:
    _, (_, reply) = exchange(repository, "one", "two")
    with pytest.raises(ValueError, match="A lesson to be saved has"):
        repository.save_lesson(VOCABULARY, reply, reply_of(tokens, law_tokens, law_logs), ALL)
    assert kept(repository) == []


def test_there_must_be_room_for_one(repository: Repository) -> None:
    _, (_, reply) = exchange(repository, "one", "two")
    with pytest.raises(ValueError, match="room for none"):
        save(repository, reply, most=0)


def test_where_the_message_is_gone_nothing_is_kept(repository: Repository, store: Path) -> None:
    conversation_id, (_, gone) = exchange(repository, "one", "two")
    repository.delete_conversations([conversation_id])
    repository.purge_deleted()
    for absent in (gone, 999, -1):
        with pytest.raises(ConversationMissing):
            save(repository, absent)
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT count(*) FROM vocabularies").fetchone() == (0,)


def test_beyond_the_most_older_lessons_thin_out_and_the_latest_stay(repository: Repository) -> None:
    summary = repository.create_conversation("chat", "")
    ids = [repository.add_message(summary.id, None, Role.ASSISTANT, "text").id for _ in range(120)]
    for place, message_id in enumerate(ids):
        save(repository, message_id, most=16)
        latest = kept(repository)
        assert len(latest) == min(place + 1, 16)
        assert latest[-4:] == ids[: place + 1][-4:]
    last = kept(repository)
    assert 3 <= len([number for number in last if number > ids[-17]]) < 16, "not the latest ones alone"
    assert last[0] < ids[-24], "something old is among them"

    for message_id in ids:
        save(repository, message_id, OTHER, most=16)
    assert kept(repository, OTHER) == last, "the same lessons leave the same ones"


def test_thinning_leaves_other_vocabularies_and_takes_a_smaller_most(repository: Repository) -> None:
    summary = repository.create_conversation("chat", "")
    ids = [repository.add_message(summary.id, None, Role.ASSISTANT, "text").id for _ in range(10)]
    for message_id in ids:
        save(repository, message_id)
        save(repository, message_id, OTHER)
    save(repository, ids[-1], most=3)
    assert len(kept(repository)) == 3
    assert ids[-1] in kept(repository)
    save(repository, ids[-1], most=1)
    assert kept(repository) == [ids[-1]]
    assert kept(repository, OTHER) == ids


@pytest.mark.parametrize("names", [lessons._LESSONS, lessons._SELF_DISTILLED, lessons._IN_ORDER])
def test_the_latest_are_found_without_sorting_all_of_them(
    repository: Repository, store: Path, names: Mapping[str, str]
) -> None:
    assert repository
    with closing(sqlite3.connect(store)) as connection:
        statement = f"EXPLAIN QUERY PLAN {lessons._READ.format_map(names)}"
        plan = connection.execute(statement, (VOCABULARY, 0, 1)).fetchall()
    assert len(plan) > 3
    assert not [step for *_, step in plan if "TEMP B-TREE" in step]


def test_deleted_conversations_are_left_out_until_they_are_restored(repository: Repository) -> None:
    hidden, (_, first) = exchange(repository, "one", "two")
    _, (_, second) = exchange(repository, "three", "four")
    save(repository, second)
    repository.delete_conversations([hidden])
    save(repository, first)  # the reply that was being written
    assert kept(repository) == [second]
    repository.restore_conversations([hidden])
    assert kept(repository) == [first, second]


def test_purge_removes_the_lessons_of_the_deleted_alone_also_from_copies(
    repository: Repository, data_dir: Path, store: Path
) -> None:
    hidden, (_, secret) = exchange(repository, "one", "two")
    _, (_, stays) = exchange(repository, "three", "four")
    repository.save_lesson(VOCABULARY, secret, reply_of(SECRET, DISTRIBUTION, LOGS), ALL)
    save(repository, stays)
    backup = back_up(store, "9999")
    assert b"DERAUNSE" in backup.read_bytes()

    repository.delete_conversations([hidden])
    assert repository.purge_deleted() == 1
    assert repository.finish_erasure() == ()
    assert kept(repository) == [stays]
    assert b"DERAUNSE" not in written(data_dir)
    for file in (store, backup):
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("SELECT message_id FROM lessons").fetchall() == [(stays,)]


@pytest.mark.parametrize(
    "damage",
    [
        "tokens = x'010203'",
        "tokens = x''",
        "tokens = x'01000000'",
        "tokens = x'01000000FFFFFFFF'",
        "tokens = 'abcdefgh'",
        "tokens = 7",
        "law_tokens = x''",
        "law_tokens = x'01000000'",
        "law_tokens = CAST(x'FFFFFFFF' || substr(law_tokens, 5) AS BLOB)",
        "law_tokens = CAST(law_tokens AS TEXT)",
        "law_logs = x''",
        "law_logs = x'0000'",
        "law_logs = CAST(x'007E' || substr(law_logs, 3) AS BLOB)",  # NaN
        "law_logs = CAST(x'003C' || substr(law_logs, 3) AS BLOB)",  # 1
        "law_logs = 0.5",
        "width = 0",
        "width = -3",
        "width = 2",
        "width = 6",
        "width = 4611686018427387904",
        "width = 'wide'",
        "vocabulary_id = 999",
        "message_id = 999",
        "message_id = 'many'",
    ],
)
def test_damaged_row_is_left_out(repository: Repository, store: Path, damage: str) -> None:
    _, (_, first, _, second) = exchange(repository, "one", "two", "three", "four")
    save(repository, first)
    save(repository, second)
    with closing(sqlite3.connect(store)) as connection, connection:
        assert connection.execute(f"UPDATE lessons SET {damage} WHERE message_id = {first}").rowcount == 1
    assert kept(repository) == [second]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE messages SET role = 'poet' WHERE id = {prompt}",
        "UPDATE messages SET text = x'00' WHERE id = {prompt}",
        "UPDATE messages SET parent_id = {reply} WHERE id = {prompt}",
        "UPDATE messages SET parent_id = 999 WHERE id = {prompt}",
        "DELETE FROM messages WHERE id = {prompt}",
        "UPDATE lessons SET system_prompt = x'00' WHERE message_id = {reply}",
    ],
)
def test_lesson_that_lost_its_branch_is_left_out(repository: Repository, store: Path, damage: str) -> None:
    _, (prompt, reply) = exchange(repository, "one", "two")
    _, (_, other) = exchange(repository, "three", "four")
    save(repository, reply)
    save(repository, other)
    with closing(sqlite3.connect(store)) as connection, connection:
        changed = connection.execute(damage.format(prompt=prompt, reply=reply))
        assert changed.rowcount == 1
    assert kept(repository) == [other]


def test_a_lesson_has_the_system_prompt_that_its_reply_was_given(repository: Repository) -> None:
    number, (_, first, _, second) = exchange(repository, "one", "two", "three", "four", system_prompt="Be kind.")
    save(repository, first)
    repository.change_conversation(number, "Be brief.", OwnSampling())
    save(repository, second)
    early, late = repository.load_lessons(VOCABULARY)
    assert early.turns == (ChatTurn(Role.SYSTEM, "Be kind."), ChatTurn(Role.USER, "one"))
    assert late.turns[0] == ChatTurn(Role.SYSTEM, "Be brief.")
    repository.save_lesson(VOCABULARY, second, early.reply, ALL, system_prompt="")  # it was changed meanwhile
    assert repository.load_lessons(VOCABULARY)[1].turns[0] == ChatTurn(Role.USER, "one")


def test_numbers_are_little_endian_in_the_file(repository: Repository, store: Path) -> None:
    _, (_, reply) = exchange(repository, "one", "two")
    repository.save_lesson(VOCABULARY, reply, reply_of([256], [[1, 512]], [[-1.0, -2.0]]), ALL)
    with closing(sqlite3.connect(store)) as connection:
        row = connection.execute("SELECT width, tokens, law_tokens, law_logs FROM lessons").fetchone()
    assert row == (2, bytes([0, 1, 0, 0]), bytes([1, 0, 0, 0, 0, 2, 0, 0]), bytes.fromhex("00bc00c0"))


def test_locked_store_is_told_in_words_and_keeps_what_it_had(
    open_repository: Callable[[], Repository], on_every_connection: OnEveryConnection, store: Path
) -> None:
    with on_every_connection("PRAGMA busy_timeout = 20"):
        repository = open_repository()
        _, (_, first, _, second) = exchange(repository, "one", "two", "three", "four")
        save(repository, first)
    with closing(sqlite3.connect(store, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnusable, match="locked by another program"):
            save(repository, second)
        assert kept(repository) == [first]


def test_two_thousand_lessons_are_loaded_quickly(repository: Repository, store: Path) -> None:
    """In branches of 20 messages, with replies of 100 tokens and 8 likeliest before each."""
    summary = repository.create_conversation("chat", "Be kind.")
    save(repository, repository.add_message(summary.id, None, Role.ASSISTANT, "first").id)
    messages, lessons = [], []
    for message_id in range(10, 4010):
        parent_id = None if message_id % 20 == 10 else message_id - 1
        messages.append((message_id, summary.id, parent_id, "user" if message_id % 2 == 0 else "assistant"))
        if message_id % 2:
            lessons.append((message_id, bytes(400), bytes(3200), bytes(1600), "Be kind."))
    with closing(sqlite3.connect(store)) as connection, connection:
        values = "(?, ?, ?, ?, 'text', '2026-01-02', NULL, NULL, '[]', '[]', NULL)"
        connection.executemany(f"INSERT INTO messages VALUES {values}", messages)
        connection.executemany("INSERT INTO lessons VALUES (1, ?, 8, ?, ?, ?, ?, 0.5)", lessons)
    began = time.process_time()
    loaded = repository.load_lessons(VOCABULARY)
    assert time.process_time() - began < 1.0
    assert len(loaded) == 2001
    assert len(loaded[-1].turns) == 20
