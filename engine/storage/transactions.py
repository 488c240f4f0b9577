"""The transactions of the repository: on the store's file, which other threads and processes use too, and on a database
in memory for incognito chats."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, delete

from engine.storage import connections
from engine.storage.failures import as_store_errors
from engine.storage.schema import Base, ConversationRow, LessonRow, RecallRow

# Ids of incognito chats and their messages begin here: beyond any that the file gives, so that an id tells where its
# chat is, and small enough for the window's signals, whose numbers have 32 bits.
_FIRST_INCOGNITO_ID = 2**30


def is_incognito(conversation_id: int) -> bool:
    return conversation_id >= _FIRST_INCOGNITO_ID


class Database:
    """A file with the tables of `schema.py`. Everything raises StoreUnusable when disk or file fails."""

    def __init__(self, path: Path, engine: Engine) -> None:
        self._path = path
        self._readers = engine
        self._writers = connections.writer(engine)
        self._outside = connections.outside_transactions(engine)
        # SQLite's time limit is for other processes: a thread of ours that imports a profile may take longer.
        self._turn = threading.RLock()

    def close(self) -> None:
        self._readers.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One unchanging view of the database."""
        with as_store_errors(self._path), self._readers.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """All or nothing; nobody else writes meanwhile."""
        with self._turn, as_store_errors(self._path), self._writers.begin() as connection:
            yield connection

    def backups(self) -> tuple[Path, ...]:
        return connections.backups(self._path)

    def delete_conversations(self, connection: Connection, ids: Sequence[int]) -> None:
        """Here and in the backups, with everything that refers to them. `finish_erasure` is to follow."""
        self._delete_from_backups([ConversationRow], ids)
        for number in ids:
            connection.execute(delete(ConversationRow).where(ConversationRow.id == number))
        _mark_erasure(connection)

    def erase_messages(self, connection: Connection, ids: Sequence[int]) -> None:
        """What these messages said, which are deleted already, in the backups and, with `finish_erasure`, here."""
        for backup in self.backups():
            with as_store_errors(backup):
                connections.empty_messages(backup, ids, (RecallRow.__tablename__, LessonRow.__tablename__))
        _mark_erasure(connection)

    def delete_all(self, connection: Connection, rows: Sequence[type[Base]], *, in_backups: bool) -> None:
        """Empties these tables, which `rows_holding` has put in order. `finish_erasure` is to follow."""
        if in_backups:
            self._delete_from_backups(rows)
        for row in rows:
            connection.execute(delete(row))
        _mark_erasure(connection)

    def _delete_from_backups(self, rows: Sequence[type[Base]], ids: Sequence[int] | None = None) -> None:
        for backup in self.backups():
            with as_store_errors(backup):
                connections.delete_from(backup, [row.__tablename__ for row in rows], ids)

    def finish_erasure(self) -> None:
        """Erases deleted text from the file, now or after an interruption.

        `PRAGMA secure_delete` does not overwrite copies of rows that SQLite has moved to another page. Only VACUUM,
        which rewrites the whole file, removes these. It cannot run in a transaction, so the one that deletes leaves a
        mark in the file, which is removed when the work is done.
        """
        with self._turn, as_store_errors(self._path), self._outside.connect() as connection:
            if connection.exec_driver_sql("PRAGMA user_version").scalar_one() == 0:
                return
            connection.exec_driver_sql("VACUUM")
            # The new pages are in the write-ahead log; only a checkpoint puts them over the old ones.
            busy, _, _ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
            if not busy:
                connection.exec_driver_sql("PRAGMA user_version = 0")


def _mark_erasure(connection: Connection) -> None:
    connection.exec_driver_sql("PRAGMA user_version = 1")


class _MemoryDatabase(Database):
    """The same tables in memory: one connection, which one transaction at a time uses."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, connections.engine_in_memory())
        with self.writing() as connection:
            Base.metadata.create_all(connection, checkfirst=False)
            connection.exec_driver_sql(
                "INSERT INTO sqlite_sequence SELECT name, ? FROM sqlite_master WHERE type = 'table'",
                (_FIRST_INCOGNITO_ID - 1,),
            )

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self.writing() as connection:
            yield connection

    def backups(self) -> tuple[Path, ...]:
        return ()


class Transactions:
    """The file's database and the one in memory, which the parts of the repository share."""

    def __init__(self, path: Path, engine: Engine) -> None:
        self._path = path
        self._file = Database(path, engine)
        self._memory: Database | None = None  # made with the first incognito chat
        self._making_memory = threading.Lock()

    @property
    def data_dir(self) -> Path:
        """The folder that the file is in."""
        return self._path.parent

    def close(self) -> None:
        """Closes the file and forgets incognito chats. May be called more than once."""
        for database in self._databases():
            database.close()
        self._memory = None

    def _databases(self) -> tuple[Database, ...]:
        memory = self._memory
        return (self._file,) if memory is None else (self._file, memory)

    def _in_memory(self) -> Database:
        with self._making_memory:
            self._memory = self._memory or _MemoryDatabase(self._path)
            return self._memory

    def _database_of(self, conversation_id: int) -> Database:
        return self._in_memory() if is_incognito(conversation_id) else self._file

    def _reading(self, conversation_id: int = 0) -> AbstractContextManager[Connection]:
        """Of the file, or of the database in memory for an incognito conversation."""
        return self._database_of(conversation_id).reading()

    def _writing(self, conversation_id: int = 0) -> AbstractContextManager[Connection]:
        return self._database_of(conversation_id).writing()
