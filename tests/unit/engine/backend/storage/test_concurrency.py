from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Barrier

import pytest

from engine.backend.storage import Repository
from engine.values.conversations import Role

ADD_FOREVER = """
import sys
import time
from pathlib import Path
from engine.values.conversations import Role
from engine.backend.storage import Repository
from engine.backend.storage import repository as patience

patience.SHORT_PATIENCE_S = 60.0  # however busy the machine is
repository = Repository.open(Path(sys.argv[1]))
summary = repository.create_conversation("writer", "")
print(summary.id, flush=True)
parent_id = None
while True:
    parent_id = repository.add_message(summary.id, parent_id, Role.USER, "text " * 500).id
    print(parent_id, flush=True)
    time.sleep(float(sys.argv[2]))
"""


@contextmanager
def writer(data_dir: Path, pause_s: float = 0.0) -> Iterator[subprocess.Popen[str]]:
    """Another process that adds messages without end; killed when the block ends."""
    command = [sys.executable, "-c", ADD_FOREVER, str(data_dir), str(pause_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def read_ids(process: subprocess.Popen[str], count: int | None = None) -> list[int]:
    assert process.stdout is not None
    lines = process.stdout if count is None else (process.stdout.readline() for _ in range(count))
    return [int(line) for line in lines if line.endswith("\n")]


def test_two_threads_write_and_a_third_reads(repository: Repository) -> None:
    summaries = [repository.create_conversation(title, "") for title in ("a", "b")]
    start = Barrier(3)

    def write(conversation_id: int) -> list[int]:
        start.wait()
        ids: list[int] = []
        for number in range(100):
            parent_id = ids[-1] if ids else None
            ids.append(repository.add_message(conversation_id, parent_id, Role.USER, f"text {number}").id)
        return ids

    def look() -> list[int]:
        start.wait()
        return [len(repository.open_conversation(summaries[0].id).messages) for _ in range(50)]

    with ThreadPoolExecutor(3) as pool:
        writers = [pool.submit(write, summary.id) for summary in summaries]
        lengths = pool.submit(look).result()
        written = [future.result() for future in writers]

    assert lengths == sorted(lengths)
    for summary, ids in zip(summaries, written, strict=True):
        assert [message.id for message in repository.open_conversation(summary.id).messages] == ids


@pytest.mark.usefixtures("made_from_nothing")
def test_many_threads_open_a_new_store_at_once(open_repository: Callable[[], Repository]) -> None:
    start = Barrier(6)

    def open_and_write() -> int:
        start.wait()
        return open_repository().create_conversation("at once", "").id

    with ThreadPoolExecutor(6) as pool:
        futures = [pool.submit(open_and_write) for _ in range(6)]
        ids = {future.result() for future in futures}
    assert len(ids) == 6
    assert len(open_repository().list_conversations()) == 6


def test_two_processes_write_to_one_store(
    repository: Repository, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.backend.storage.repository.SHORT_PATIENCE_S", 60.0)
    summary = repository.create_conversation("ours", "")
    with writer(data_dir, pause_s=0.002) as process:  # one that never rests may keep the lock from another for seconds
        theirs, *_ = read_ids(process, 2)
        ours = [repository.add_message(summary.id, None, Role.USER, "text").id for _ in range(50)]
        read_ids(process, 20)
    assert len(set(ours)) == 50
    assert len(repository.open_conversation(theirs).messages) >= 21


def test_what_is_written_after_a_second_opening_is_seen_by_others(
    open_repository: Callable[[], Repository], store: Path
) -> None:
    def num_seen() -> int:
        look = "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM messages'))"
        return int(subprocess.check_output([sys.executable, "-c", look, str(store)], text=True)[1:-3])

    repository = open_repository()
    number = repository.create_conversation("ours", "").id
    repository.add_message(number, None, Role.USER, "one")
    open_repository()
    assert num_seen() == 1, "who looked has closed the store again"
    repository.add_message(number, None, Role.USER, "two")
    assert num_seen() == 2


@pytest.mark.parametrize("attempt", range(2))
def test_killed_process_loses_at_most_the_message_being_written(
    open_repository: Callable[[], Repository], data_dir: Path, store: Path, attempt: int
) -> None:
    with writer(data_dir) as process:
        ids = read_ids(process, random.Random(attempt).randint(1, 60))
        process.kill()
        ids += read_ids(process)  # what it had still told
    conversation_id, *told = ids

    kept = [message.id for message in open_repository().open_conversation(conversation_id).messages]
    assert kept[: len(told)] == told
    assert len(kept) <= len(told) + 1
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
