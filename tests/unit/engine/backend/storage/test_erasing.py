"""Deleted text leaves the files, now or later, and what cannot be erased keeps nothing else from working."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from engine.backend.storage import Repository, erasing, transactions
from engine.backend.storage.connections import back_up
from engine.backend.storage.schema import MessageRow
from engine.values.conversations import Role
from engine.values.errors import ConversationMissing
from engine.values.places import STORE, clear_words
from engine.values.replies import Thought
from engine.values.tools import Outcome, ToolCall, ToolResult

SECRET = "quicksilver"


def written(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def chat_with(repository: Repository, text: str, title: str = "chat") -> int:
    number = repository.create_conversation(title, "").id
    repository.add_message(number, None, Role.USER, text)
    return number


def test_a_damaged_copy_keeps_nothing_from_being_forgotten_and_is_told(
    repository: Repository, store: Path, data_dir: Path
) -> None:
    kept, gone = chat_with(repository, "plain"), chat_with(repository, SECRET)
    damaged, sound = back_up(store, "0001"), back_up(store, "0002")
    damaged.write_bytes(SECRET.encode() * 1000)
    repository.forget_conversation(gone)
    left = repository.finish_erasure()
    assert left is not None
    (sentence,) = left
    assert str(damaged) in sentence
    assert sentence.endswith("make it writable, or delete that file if you do not need it.")
    assert SECRET.encode() not in store.read_bytes() + sound.read_bytes()
    assert [each.id for each in repository.list_conversations()] == [kept]
    damaged.unlink()
    assert repository.finish_erasure() == ()
    assert SECRET.encode() not in written(data_dir)

    damaged.write_bytes(SECRET.encode())
    repository.forget_everything()
    assert repository.finish_erasure() == (), "copies are not needed any more, damaged or not"
    assert SECRET.encode() not in written(data_dir)


def test_a_message_is_deleted_though_a_copy_is_damaged_and_a_journal_is_no_copy(
    repository: Repository, store: Path
) -> None:
    number = chat_with(repository, "plain")
    told = repository.add_message(number, repository.open_conversation(number).messages[0].id, Role.ASSISTANT, SECRET)
    back_up(store, "0001").write_bytes(b"damaged")
    store.with_name(f"{store.name}.before-0002-journal").write_bytes(b"left by a process that was killed")
    assert repository.delete_message(number, told.id) is not None
    assert len(repository.finish_erasure() or ()) == 1
    assert SECRET.encode() not in store.read_bytes()


def test_what_was_erased_only_in_part_is_erased_later(
    open_repository: Callable[[], Repository], store: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is nearly full, another start later it is not."""
    repository = open_repository()
    gone = chat_with(repository, SECRET * 1000)
    back_up(store, "0001")
    monkeypatch.setattr("shutil.disk_usage", lambda _folder: SimpleNamespace(free=100))
    repository.forget_conversation(gone)
    assert repository.list_conversations() == ()
    left = repository.finish_erasure()
    assert left is not None
    assert [sentence.split(":")[0] for sentence in left] == [f"Text that you deleted is not overwritten in {store} yet"]
    repository.close()
    monkeypatch.undo()
    assert open_repository().finish_erasure() == ()
    assert SECRET.encode() not in written(data_dir)


def test_a_copy_of_another_store_keeps_its_chats(tmp_path: Path) -> None:
    """A store that was begun anew gives the same numbers again."""
    folder = tmp_path / "data"
    old = Repository.open(folder)
    chat_with(old, "precious")
    old.close()
    store = folder / "slipstream.sqlite3"
    copy = back_up(store, "0001")
    store.unlink()
    new = Repository.open(folder)
    new.forget_conversation(chat_with(new, SECRET))
    assert new.finish_erasure() == ()
    assert b"precious" in copy.read_bytes()
    new.close()


def test_no_unfinished_copy_stays(repository: Repository, store: Path, data_dir: Path) -> None:
    gone = chat_with(repository, SECRET)
    part = store.with_name(f"{store.name}.part")
    part.with_name(f"{part.name}-journal").write_text(SECRET)
    store.with_name(f"{store.name}.before-0001").mkdir()
    with pytest.raises(OSError, match="directory"):
        back_up(store, "0001")
    assert not list(data_dir.glob("*.part*"))
    store.with_name(f"{store.name}.before-0001").rmdir()
    part.write_text(SECRET)  # by a process that was killed
    repository.forget_conversation(gone)
    assert repository.finish_erasure() == ()
    assert SECRET.encode() not in written(data_dir)


def test_erasing_takes_no_memory_for_what_the_store_holds(repository: Repository, store: Path) -> None:
    gone, kept = chat_with(repository, SECRET), chat_with(repository, "x")
    with closing(sqlite3.connect(store)) as connection, connection:
        values = "NULL, ?, NULL, role, hex(randomblob(500000)), created_at, NULL, NULL, '[]', '[]', NULL"
        like = f"INSERT INTO messages SELECT {values}"
        connection.executemany(f"{like} FROM messages WHERE conversation_id = ?", [(kept, gone)] * 60)
    repository.forget_conversation(gone)
    most = 0
    process = psutil.Process()
    before = process.memory_info().rss
    is_over = threading.Event()

    def watch() -> None:
        nonlocal most
        while not is_over.wait(0.005):
            most = max(most, process.memory_info().rss - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        assert repository.finish_erasure() == ()
    finally:
        is_over.set()
        watcher.join()
    assert store.stat().st_size > 60_000_000
    assert most < 20_000_000
    assert [file for file in store.parent.iterdir() if not file.name.startswith(store.name)] == []


def test_erasing_gives_way_when_it_is_stopped_and_to_whoever_waits_to_write(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = chat_with(repository, SECRET)
    repository.forget_conversation(gone)
    waiting = threading.Thread(target=chat_with, args=(repository, "meanwhile"))
    rewrite = erasing.rewrite

    def slow(connection: sqlite3.Connection, folder: Path, is_stopped: Callable[[], bool]) -> None:
        waiting.start()
        while not is_stopped():
            pass
        rewrite(connection, folder, is_stopped)

    monkeypatch.setattr(erasing, "_STEPS", 1)
    with monkeypatch.context() as patch:
        patch.setattr(erasing, "rewrite", slow)
        assert repository.finish_erasure() is None
    waiting.join()
    assert len(repository.list_conversations()) == 1
    assert repository.finish_erasure(lambda: True) is None
    assert repository.finish_erasure() == ()


def test_forgetting_everything_works_on_a_disk_that_has_no_room(
    open_repository: Callable[[], Repository], data_dir: Path
) -> None:
    """Overwriting what is deleted would write as much once more."""
    repository = open_repository()
    for number in range(20):
        chat_with(repository, f"{SECRET} {number} " * 10_000)
    repository.close()
    repository = open_repository()
    before = sum(file.stat().st_size for file in data_dir.iterdir())
    assert repository.forget_everything() == 20
    assert sum(file.stat().st_size for file in data_dir.iterdir()) < before + 300_000
    assert repository.finish_erasure() == ()
    assert SECRET.encode() not in written(data_dir)


def test_a_title_made_of_a_deleted_prompt_is_made_anew_here_and_in_copies(
    repository: Repository, store: Path, data_dir: Path
) -> None:
    number = repository.create_conversation(SECRET, "").id
    asked = repository.add_message(number, None, Role.USER, SECRET)
    said = repository.add_message(number, asked.id, Role.ASSISTANT, "said")
    repository.add_message(number, said.id, Role.USER, "and more?")
    back_up(store, "0001")
    opened = repository.delete_message(number, asked.id)
    assert opened is not None
    assert opened.summary.title == "and more?"
    assert repository.restore_message(number, asked.id).summary.title == SECRET
    repository.delete_message(number, asked.id)
    assert repository.finish_erasure() == ()
    assert SECRET.encode() not in written(data_dir)

    repository.rename_conversation(number, "my own")
    assert repository.restore_message(number, asked.id).summary.title == "my own"


def test_thoughts_calls_and_results_of_a_deleted_message_leave_the_copies_too(
    repository: Repository, store: Path, data_dir: Path
) -> None:
    number = chat_with(repository, "plain")
    parent = repository.open_conversation(number).messages[0].id
    asked = repository.add_message(number, parent, Role.USER, "and more?").id
    call = ToolCall("abcdefghi", SECRET, SECRET, f'{{"words": "{SECRET}"}}')
    thought = Thought(0, SECRET, is_whole=True)
    called = repository.add_message(number, asked, Role.ASSISTANT, SECRET, thoughts=(thought,), calls=(call,)).id
    result = ToolResult(call, Outcome.DONE)
    came = repository.add_message(number, called, Role.TOOL, SECRET, result=result).id
    repository.add_message(number, came, Role.ASSISTANT, "said")
    copy = back_up(store, "0023")
    assert SECRET.encode() in copy.read_bytes()
    assert repository.delete_message(number, asked) is not None
    assert repository.finish_erasure() == ()
    assert SECRET.encode() not in written(data_dir)
    with closing(sqlite3.connect(copy)) as connection:
        (left,) = connection.execute("SELECT count(*) FROM messages").fetchone()
    assert left == 5, "the tree of the copy stays"


def test_each_column_of_a_message_holds_words_that_are_erased_or_none() -> None:
    without = {"id", "conversation_id", "parent_id", "role", "created_at", "target_name", "target_identity"}
    assert {column.name for column in MessageRow.__table__.columns} == without | erasing.WORDS_OF_MESSAGE.keys()


def test_deleted_messages_come_back_in_turn_the_last_one_first(repository: Repository) -> None:
    number = repository.create_conversation("chat", "").id
    ids: list[int] = []
    for text in ("one", "1", "two", "2", "three", "3"):
        role = Role.ASSISTANT if text.isdigit() else Role.USER
        ids.append(repository.add_message(number, ids[-1] if ids else None, role, text).id)
    before = repository.open_conversation(number)
    repository.delete_message(number, ids[2])
    repository.delete_message(number, ids[0])
    with pytest.raises(ConversationMissing):
        repository.restore_message(number, ids[2])
    repository.restore_message(number, ids[0])
    assert repository.restore_message(number, ids[2]) == before


def test_what_could_not_be_deleted_or_put_back_is_as_it_was(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of the transaction fails."""
    number = repository.create_conversation("chat", "").id
    asked = repository.add_message(number, None, Role.USER, "one")
    said = repository.add_message(number, asked.id, Role.ASSISTANT, "1")

    def failing(*_arguments: object) -> None:
        raise RuntimeError("half way")

    with monkeypatch.context() as patch:
        patch.setattr("engine.backend.storage.repository._opened", failing)
        with pytest.raises(RuntimeError):
            repository.delete_message(number, said.id)
    with pytest.raises(ConversationMissing):
        repository.restore_message(number, said.id)
    repository.delete_message(number, said.id)
    with monkeypatch.context() as patch:
        patch.setattr("engine.backend.storage.repository._opened", failing)
        with pytest.raises(RuntimeError):
            repository.restore_message(number, said.id)
    assert len(repository.restore_message(number, said.id).messages) == 2


def test_a_file_that_cannot_be_removed_is_told_and_the_others_go(tmp_path: Path) -> None:
    crashes, logs = tmp_path / "crashes", tmp_path / "logs"
    stubborn = crashes / "old.txt"
    stubborn.mkdir(parents=True)
    logs.mkdir()
    for name in ("logs/slipstream.log", "logs/slipstream.log.1", "crashes/now.native", "crashes/a.new"):
        (tmp_path / name).write_text(SECRET)
    assert clear_words(tmp_path) == (stubborn,)
    assert sorted(file.name for file in tmp_path.rglob("*") if file.is_file()) == ["now.native", "slipstream.log"]
    assert SECRET.encode() not in written(tmp_path)


def test_only_the_file_that_could_not_be_cleared_is_tried_again(repository: Repository, data_dir: Path) -> None:
    stubborn, new, mark = data_dir / "crashes/old.txt", data_dir / "crashes/new.txt", data_dir / "suspects/model"
    stubborn.mkdir(parents=True)
    mark.parent.mkdir()
    mark.touch()
    repository.forget_everything()
    (told,) = repository.finish_erasure() or ()
    assert str(stubborn) in told
    assert not mark.exists()
    new.write_text("of the time since")
    assert repository.finish_erasure() == (told,)
    stubborn.rmdir()
    assert repository.finish_erasure() == ()
    assert new.exists()
    repository.forget_everything()
    assert repository.finish_erasure() == ()
    assert not new.exists()


def test_files_are_cleared_without_the_lock_and_once_more_if_everything_is_forgotten_meanwhile(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, data_dir: Path
) -> None:
    new = data_dir / "crashes/new.txt"
    new.parent.mkdir()
    cleared: list[Path] = []

    def clear(folder: Path, **options: Any) -> tuple[Path, ...]:
        left = clear_words(folder, **options)
        cleared.append(folder)
        if len(cleared) == 1:
            new.write_text(SECRET)
            with closing(sqlite3.connect(data_dir / STORE, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")  # nobody holds the lock
            repository.forget_everything()
        return left

    monkeypatch.setattr(transactions, "clear_words", clear)
    repository.forget_everything()
    assert repository.finish_erasure() is None
    assert repository.finish_erasure() == ()
    assert not new.exists()


def test_erasing_gives_way_as_long_as_anybody_waits(repository: Repository) -> None:
    database = repository._file
    taken, given_back = threading.Semaphore(0), threading.Semaphore(0)

    def wait_for_turn() -> None:
        with database._taken():
            taken.release()
            given_back.acquire()

    threads = [threading.Thread(target=wait_for_turn) for _ in range(2)]
    with database._taken():
        for thread in threads:
            thread.start()
        end = time.monotonic() + 60
        while len(database._waiters) < 2:
            assert time.monotonic() < end
            time.sleep(0.01)
    taken.acquire()
    assert len(database._waiters) == 1, "one has its turn"
    given_back.release(2)
    for thread in threads:
        thread.join()
