from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.exc import OperationalError

from engine.backend.storage import Repository
from engine.backend.storage.connections import back_up
from engine.backend.storage.failures import as_store_errors
from engine.values.conversations import Role
from engine.values.errors import ConversationMissing, StoreUnusable
from engine.values.replies import ReplyStatistics, StopReason

from .conftest import OnEveryConnection


def written(data_dir: Path) -> bytes:
    return b"".join(file.read_bytes() for file in data_dir.iterdir())


def test_purge_removes_only_the_deleted(open_repository: Callable[[], Repository], store: Path) -> None:
    open_repository().close()
    repository = open_repository()  # not the connection that has made the tables
    kept, gone, restored = (repository.create_conversation(title, "") for title in ("kept", "gone", "restored"))
    statistics = ReplyStatistics(1, 1, 1, 1.0, 1.0, StopReason.END, 1, 1)
    for summary in (kept, gone, restored):
        repository.add_message(summary.id, None, Role.ASSISTANT, summary.title, "tiny", statistics)
    for summary in (gone, restored):
        repository.delete_conversations([summary.id])
    repository.restore_conversations([restored.id])

    assert repository.purge_deleted() == 1
    assert repository.purge_deleted() == 0
    assert {summary.id for summary in repository.list_conversations()} == {kept.id, restored.id}
    assert repository.open_conversation(kept.id).messages[0].statistics == statistics
    with pytest.raises(ConversationMissing):
        repository.restore_conversations([gone.id])
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT count(*) FROM reply_statistics").fetchone() == (2,)


def test_ids_are_never_given_twice(open_repository: Callable[[], Repository]) -> None:
    repository = open_repository()
    conversation_ids, message_ids = set(), set()
    for _ in range(3):
        summary = repository.create_conversation("short-lived", "")
        conversation_ids.add(summary.id)
        message_ids.add(repository.add_message(summary.id, None, Role.USER, "text").id)
        repository.delete_conversations([summary.id])
        repository.purge_deleted()
        assert repository.finish_erasure() == ()
        repository.close()
        repository = open_repository()
    assert len(conversation_ids) == len(message_ids) == 3


def test_branch_longer_than_the_depth_of_triggers_is_purged(repository: Repository, store: Path) -> None:
    summary = repository.create_conversation("long", "")
    root = repository.add_message(summary.id, None, Role.USER, "text")
    chain = [(root.id + step, root.id + step - 1, root.id) for step in range(1, 1100)]  # SQLite's limit is 1,000
    like_root = (
        "SELECT ?, conversation_id, ?, role, text, created_at, NULL, NULL, '[]', '[]', NULL FROM messages WHERE id = ?"
    )
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.executemany(f"INSERT INTO messages {like_root}", chain)
    repository.delete_conversations([summary.id])
    assert repository.purge_deleted() == 1


@pytest.mark.parametrize("seed", [104, 117, 185])  # with these, secure_delete alone leaves text behind
def test_nothing_of_a_purged_text_remains_in_the_files(repository: Repository, data_dir: Path, seed: int) -> None:
    chance = random.Random(seed)
    living = [repository.create_conversation(f"<{number}:title>", f"<{number}:system>").id for number in range(1, 7)]
    heads: dict[int, int] = {}
    gone = []
    for step in range(120):
        chosen = chance.choice(living)
        text = f"<{chosen}:{step}> " * (int(10 ** chance.uniform(0, 4.2)) // 8 + 1)
        heads[chosen] = repository.add_message(chosen, heads.get(chosen), Role.USER, text).id
        if chance.random() < 0.03:
            repository.rename_conversation(chosen, f"<{chosen}:{step}> " * chance.randint(1, 10))
        if chance.random() < 0.02 and len(living) > 2:
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
    assert [number for number in gone if f"<{number}:".encode() in raw] == []
    assert [number for number in living if f"<{number}:".encode() in raw] == living


def test_text_held_by_a_reader_is_erased_by_the_next_purge(
    open_repository: Callable[[], Repository], on_every_connection: OnEveryConnection, data_dir: Path, store: Path
) -> None:
    with on_every_connection("PRAGMA busy_timeout = 20"):
        repository = open_repository()
    summary = repository.create_conversation("secret plan", "")
    repository.delete_conversations([summary.id])
    with closing(sqlite3.connect(store, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM messages").fetchone()
        assert repository.purge_deleted() == 1
        assert repository.finish_erasure() is None, "it is to be called again"
        assert b"secret plan" in written(data_dir)
    assert repository.finish_erasure() == ()
    assert b"secret plan" not in written(data_dir)


def test_where_the_file_is_gone_too_a_full_disk_is_told_all_the_same(repository: Repository, store: Path) -> None:
    cause = sqlite3.OperationalError("database or disk is full")
    cause.sqlite_errorcode = sqlite3.SQLITE_FULL
    with pytest.raises(StoreUnusable) as raised, as_store_errors(store):
        raise OperationalError("DELETE", {}, cause)
    store.unlink()
    assert "is full" in repository._file.why_left(raised.value)


def test_what_a_full_disk_keeps_from_being_purged_is_told_and_purged_when_there_is_room(
    repository: Repository, data_dir: Path
) -> None:
    def refuse(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        if statement.startswith("DELETE FROM conversations"):
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error

    gone, restored = (repository.create_conversation(title, "").id for title in ("secret plan", "undone"))
    for number in (gone, restored):
        repository.delete_conversations([number])
    event.listen(Engine, "before_cursor_execute", refuse)
    try:
        with pytest.raises(StoreUnusable):
            repository.purge_deleted()
        (told,) = repository.finish_erasure() or ()
    finally:
        event.remove(Engine, "before_cursor_execute", refuse)
    assert "It will be done as soon as there is room." in told
    assert b"secret plan" in written(data_dir)
    repository.restore_conversations([restored])
    later = repository.create_conversation("deleted since", "").id
    repository.delete_conversations([later])
    assert repository.finish_erasure() == ()
    assert b"secret plan" not in written(data_dir)
    repository.restore_conversations([later])
    assert {each.id for each in repository.list_conversations()} == {restored, later}


def test_purge_reaches_the_copy_that_a_migration_left(repository: Repository, data_dir: Path, store: Path) -> None:
    kept, gone = (repository.create_conversation(title, "") for title in ("kept plan", "secret plan"))
    for summary in (kept, gone):
        repository.add_message(summary.id, None, Role.USER, f"text of the {summary.title}")
    backup = back_up(store, "9999")
    assert b"secret plan" in backup.read_bytes()

    repository.delete_conversations([gone.id])
    repository.purge_deleted()
    assert repository.finish_erasure() == ()
    assert b"secret plan" not in written(data_dir)
    assert b"text of the kept plan" in backup.read_bytes()
