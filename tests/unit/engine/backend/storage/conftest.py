"""Real stores in temporary folders."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from engine.backend.storage import Repository, connections, transactions
from engine.backend.storage.repository import FILE_NAME
from tests.fakes import ready_store

OnEveryConnection = Callable[[str], AbstractContextManager[None]]


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def made_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the app, new stores are made by the migrations."""
    monkeypatch.setattr(connections, "prepare_file", ready_store.prepare_file)


@pytest.fixture
def store(data_dir: Path) -> Path:
    """Where the file of the repository stands."""
    return data_dir / FILE_NAME


@pytest.fixture
def open_repository(data_dir: Path) -> Iterator[Callable[[], Repository]]:
    """Opens the store, as often as a test likes; all are closed in the end."""
    opened = []

    def open_one() -> Repository:
        opened.append(Repository.open(data_dir))
        return opened[-1]

    yield open_one
    for repository in opened:
        repository.close()


@pytest.fixture
def repository(open_repository: Callable[[], Repository]) -> Repository:
    return open_repository()


@pytest.fixture
def on_every_connection(monkeypatch: pytest.MonkeyPatch) -> OnEveryConnection:
    """Runs a pragma first on every connection that is opened within the block. Nobody waits long for a lock."""
    monkeypatch.setattr(transactions, "PATIENCE_S", 0.02)

    @contextmanager
    def block(pragma: str) -> Iterator[None]:
        def run(connection: sqlite3.Connection, _record: object) -> None:
            connection.execute(pragma).close()

        event.listen(Engine, "connect", run)
        try:
            yield
        finally:
            event.remove(Engine, "connect", run)

    return block
