"""The transactions of the repository, on a file that other threads and other processes use too."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine

from engine.storage import connections, erasure
from engine.storage.failures import told_in_words


class Transactions:
    """What the methods of a repository are made of. All of it raises StoreUnusable when disk or file fails."""

    def __init__(self, path: Path, engine: Engine) -> None:
        self._path = path
        self._readers = engine
        self._writers = connections.writer(engine)
        self._outside = connections.outside_transactions(engine)
        # SQLite's patience is for other processes: an own thread that imports a profile may take longer.
        self._turn = threading.RLock()

    def close(self) -> None:
        """Closes the file. May be called more than once."""
        self._readers.dispose()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """One unchanging view of the store."""
        with told_in_words(self._path), self._readers.begin() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """All or nothing; nobody else writes meanwhile."""
        with self._turn, told_in_words(self._path), self._writers.begin() as connection:
            yield connection

    def _finish_erasure(self) -> None:
        """After a transaction that has announced one, see erasure.py."""
        with self._turn, told_in_words(self._path), self._outside.connect() as connection:
            erasure.finish(connection)
