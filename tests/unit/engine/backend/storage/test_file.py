"""What the file system can do to the store, and what the user is then told."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.backend.storage import Repository, failures
from engine.values.conversations import Role
from engine.values.errors import StoreUnusable

from .conftest import OnEveryConnection

pytestmark = pytest.mark.usefixtures("made_from_nothing")
posix_only = pytest.mark.skipif(os.name != "posix", reason="permission bits exist on POSIX only")
not_as_root = pytest.mark.skipif(
    os.name == "posix" and os.geteuid() == 0, reason="root may write everywhere, whatever the permissions say"
)


def permissions(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


@posix_only
def test_folder_and_files_are_for_the_user_alone(repository: Repository, data_dir: Path) -> None:
    repository.create_conversation("private", "")
    assert permissions(data_dir) == 0o700
    files = {file.name: permissions(file) for file in data_dir.iterdir()}
    assert files == dict.fromkeys(("slipstream.sqlite3", "slipstream.sqlite3-wal", "slipstream.sqlite3-shm"), 0o600)


@posix_only
def test_generous_umask_opens_nothing(data_dir: Path, open_repository: Callable[[], Repository]) -> None:
    before = os.umask(0)
    try:
        open_repository().create_conversation("private", "")
    finally:
        os.umask(before)
    assert permissions(data_dir) == 0o700
    assert {permissions(file) for file in data_dir.iterdir()} == {0o600}


@posix_only
def test_file_that_others_may_read_is_tightened(open_repository: Callable[[], Repository], data_dir: Path) -> None:
    open_repository().create_conversation("private", "")
    for file in data_dir.iterdir():
        file.chmod(0o644)
    open_repository()
    assert {permissions(file) for file in data_dir.iterdir()} == {0o600}


def test_where_there_is_no_room_the_disk_is_full_whatever_sqlite_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot make its index, and tells of a disk that fails."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    with pytest.raises(StoreUnusable, match="The disk failed"), failures.as_store_errors(tmp_path / "store"):
        raise error
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=4096))
    with pytest.raises(StoreUnusable, match="is full"), failures.as_store_errors(tmp_path / "store"):
        raise error


def test_data_folder_may_have_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "100% mine?#&file:é" / "deep"
    repository = Repository.open(folder)
    repository.create_conversation("found", "")
    repository.close()
    assert (folder / "slipstream.sqlite3").is_file()


def test_closing_twice_is_harmless_and_leaves_one_file(repository: Repository, data_dir: Path) -> None:
    repository.create_conversation("closed", "")
    repository.close()
    repository.close()
    assert [file.name for file in data_dir.iterdir()] == ["slipstream.sqlite3"]


@pytest.mark.parametrize(
    "content",
    [b"This is not a database. " * 500, b"SQLite format 3\0" + b"\xff" * 8176, b"xy"],
    ids=["text", "broken-header", "tiny"],
)
def test_file_that_is_no_database_is_refused_and_left_alone(data_dir: Path, store: Path, content: bytes) -> None:
    data_dir.mkdir()
    store.write_bytes(content)
    with pytest.raises(StoreUnusable, match=r"is damaged or is not Slipstream's; put a backup in its place"):
        Repository.open(data_dir)
    assert store.read_bytes() == content


def test_database_of_another_program_is_refused_and_left_alone(data_dir: Path, store: Path) -> None:
    data_dir.mkdir()
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    content = store.read_bytes()
    with pytest.raises(StoreUnusable, match="is not Slipstream's"):
        Repository.open(data_dir)
    assert store.read_bytes() == content


def test_page_damaged_in_the_middle_is_told_when_it_is_read(
    open_repository: Callable[[], Repository], store: Path
) -> None:
    repository = open_repository()
    summary = repository.create_conversation("damaged", "")
    repository.close()
    num_bytes = store.stat().st_size  # of the tables, without what is kept in them
    parent_id = None
    for _ in range(50):
        parent_id = repository.add_message(summary.id, parent_id, Role.USER, "text " * 1000).id
    repository.close()
    content = bytearray(store.read_bytes())
    content[num_bytes:] = b"\xa5" * (len(content) - num_bytes)
    store.write_bytes(content)

    repository = open_repository()
    with pytest.raises(StoreUnusable, match="is damaged"):
        repository.open_conversation(summary.id)
    repository.close()
    assert store.read_bytes() == content


def test_text_that_is_not_utf8_counts_as_damage(repository: Repository, store: Path) -> None:
    summary = repository.create_conversation("damaged", "")
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE conversations SET system_prompt = CAST(x'ff' AS TEXT)")
    with pytest.raises(StoreUnusable, match="is damaged"):
        repository.open_conversation(summary.id)


def test_emptied_file_does_not_cost_its_log(open_repository: Callable[[], Repository], store: Path) -> None:
    open_repository().create_conversation("only in the log", "")
    log = store.with_name(store.name + "-wal")
    content = log.read_bytes()
    store.write_bytes(b"")
    with pytest.raises(StoreUnusable, match="is damaged"):
        open_repository()
    assert log.read_bytes() == content


def test_empty_file_becomes_a_store(data_dir: Path, store: Path, open_repository: Callable[[], Repository]) -> None:
    data_dir.mkdir()
    store.touch()  # what a kill in the very first moment leaves
    open_repository().create_conversation("first", "")


def test_folder_in_place_of_the_file_is_told(data_dir: Path, store: Path) -> None:
    store.mkdir(parents=True)
    with pytest.raises(StoreUnusable, match="There is a folder where the chat database"):
        Repository.open(data_dir)


def test_file_in_place_of_the_folder_is_told(data_dir: Path) -> None:
    data_dir.write_text("in the way")
    with pytest.raises(StoreUnusable, match=r"data folder .* cannot be created .* SLIPSTREAM_DATA_DIR\.$"):
        Repository.open(data_dir)


@posix_only
@not_as_root
def test_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StoreUnusable, match="cannot be created"):
            Repository.open(tmp_path / "data")
    finally:
        tmp_path.chmod(0o700)


@posix_only
@not_as_root
@pytest.mark.parametrize("mode", [0o500, 0o000], ids=["read-only", "closed"])
def test_folder_that_cannot_be_written_is_told(
    open_repository: Callable[[], Repository], data_dir: Path, mode: int
) -> None:
    open_repository().close()
    data_dir.chmod(mode)
    try:
        with pytest.raises(StoreUnusable, match=r"cannot be (written|opened); .* SLIPSTREAM_DATA_DIR\.$"):
            open_repository()
    finally:
        data_dir.chmod(0o700)


@posix_only
@not_as_root
def test_file_that_cannot_be_written_is_told(open_repository: Callable[[], Repository], store: Path) -> None:
    open_repository().close()
    store.chmod(0o400)
    with pytest.raises(StoreUnusable, match="cannot be written"):
        open_repository()


def test_store_made_read_only_meanwhile_is_told(
    open_repository: Callable[[], Repository], on_every_connection: OnEveryConnection
) -> None:
    open_repository().close()
    with on_every_connection("PRAGMA query_only = ON"):
        repository = open_repository()
        with pytest.raises(StoreUnusable, match="cannot be written"):
            repository.create_conversation("refused", "")
        assert repository.list_conversations() == ()


def test_full_disk_is_told_and_costs_nothing_that_was_committed(
    open_repository: Callable[[], Repository], on_every_connection: OnEveryConnection, store: Path
) -> None:
    repository = open_repository()
    summary = repository.create_conversation("full", "")
    kept = repository.add_message(summary.id, None, Role.USER, "kept")
    repository.close()

    with on_every_connection("PRAGMA max_page_count = 20"):
        repository = open_repository()
        with pytest.raises(
            StoreUnusable, match=r"disk with the chat database .* is full; free some space and try again\."
        ):
            repository.add_message(summary.id, kept.id, Role.ASSISTANT, "too much " * 20_000)
        assert repository.open_conversation(summary.id).messages == (kept,)
        small = repository.add_message(summary.id, kept.id, Role.ASSISTANT, "small")  # the same connection still works
        repository.close()

    assert open_repository().open_conversation(summary.id).messages == (kept, small)
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_full_disk_at_the_first_start_is_told(
    open_repository: Callable[[], Repository], on_every_connection: OnEveryConnection
) -> None:
    with on_every_connection("PRAGMA max_page_count = 3"), pytest.raises(StoreUnusable, match="is full"):
        open_repository()
    assert open_repository().list_conversations() == ()


def test_store_locked_by_another_program_is_told(
    open_repository: Callable[[], Repository], on_every_connection: OnEveryConnection, store: Path
) -> None:
    with on_every_connection("PRAGMA busy_timeout = 20"):
        repository = open_repository()
        summary = repository.create_conversation("locked", "")
        with closing(sqlite3.connect(store, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnusable, match="is locked by another program; close that program and try again"):
                repository.add_message(summary.id, None, Role.USER, "refused")
            assert repository.list_conversations() == (summary,)  # reading goes on
        repository.add_message(summary.id, None, Role.USER, "taken")
