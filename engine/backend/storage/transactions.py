"""The transactions of the repository: on the store's file, which other threads and processes use too, and on a database
in memory for incognito chats."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from engine.backend.storage import connections, erasing
from engine.backend.storage.erasing import Due, Postponed
from engine.backend.storage.failures import as_store_errors, is_full, is_locked
from engine.backend.storage.schema import Base
from engine.values.errors import StoreUnusable
from engine.values.places import clear_words

# Ids of incognito chats and their messages begin here: beyond any that the file gives, so that an id tells where its
# chat is, and small enough for the window's signals, whose numbers have 32 bits.
_FIRST_INCOGNITO_ID = 2**30
# For another program that has locked the file, as a backup does: of what the user waits for, and of what can go on
# without it.
PATIENCE_S = 120.0
SHORT_PATIENCE_S = 1.0
_LOOK_S = 0.01
_GIVING_WAY_S = 0.2


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
        self._waiters: set[int] = set()  # threads to which erasing gives way
        self._is_free = True  # for all that is known
        self._is_ending = False
        self._num_forgotten = 0  # how often everything was, since this was opened
        self._cleared: tuple[int, tuple[Path, ...]] = (-1, ())  # after which time, and what could not be
        self.on_waiting: Callable[[bool], None] = lambda _is_waiting: None

    def close(self) -> None:
        self._readers.dispose()

    def note_forgotten(self) -> None:
        """Call it within the transaction that forgets everything."""
        self._num_forgotten += 1

    def end_waiting(self) -> None:
        """Makes all waiting for other programs brief from now on."""
        self._is_ending = True

    @property
    def _most_patience_s(self) -> float:
        return SHORT_PATIENCE_S if self._is_ending else PATIENCE_S

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One unchanging view of the database."""
        with as_store_errors(self._path), self._readers.begin() as connection:
            yield connection

    @contextmanager
    def writing(
        self, patience_s: float | None = None, is_stopped: Callable[[], bool] = lambda: False
    ) -> Iterator[Connection]:
        """All or nothing; no one else writes meanwhile. Waits `patience_s` for another program that has locked the
        file, and stops waiting once it `is_stopped`; `on_waiting` is called when a long wait begins and when it ends.
        Callers with a patience of their own do not wait again if an earlier attempt failed."""
        began = time.monotonic()
        is_told = False
        if patience_s is not None and not self._is_free:
            patience_s = 0.0
        try:
            with as_store_errors(self._path):
                while True:
                    with self._taken(), self._writers.connect() as connection:
                        try:
                            transaction = connection.begin()
                        except DBAPIError as error:
                            waited_s = time.monotonic() - began
                            most_s = self._most_patience_s if patience_s is None else patience_s
                            if not is_locked(error) or waited_s > most_s or is_stopped():
                                self._is_free = not is_locked(error)
                                raise
                        else:
                            self._is_free = True
                            with transaction:
                                yield connection
                            return
                    if not is_told and waited_s > SHORT_PATIENCE_S:
                        is_told = True
                        self.on_waiting(True)
                    time.sleep(_LOOK_S)
        finally:
            if is_told:
                self.on_waiting(False)

    @contextmanager
    def _taken(self) -> Iterator[None]:
        """The turn to write. Erasing gives way to a thread that has waited for some time."""
        if not self._turn.acquire(timeout=_GIVING_WAY_S):
            self._waiters.add(threading.get_ident())
            self._turn.acquire()
            self._waiters.discard(threading.get_ident())
        try:
            yield
        finally:
            self._turn.release()

    def finish_erasure(self, is_stopped: Callable[[], bool] = lambda: False) -> tuple[str, ...] | None:
        """Erases deleted text from the files, see `erasing.py`. Returns sentences about what could not be erased and
        stays noted; None: others use the store, and it is to be tried again soon."""
        num_forgotten = self._num_forgotten
        left: list[str] = []
        try:
            with self.reading() as connection:
                due, named = erasing.read_due(connection)
            if not due:
                return ()
            if Due.FOLDER in due:  # before the lock is taken, which others wait for
                left += erasing.unchanged(self._clear_files(num_forgotten))
            else:
                left += erasing.erase_in_copies(self._path, due, named, is_stopped)
            with self.writing(SHORT_PATIENCE_S) as connection:
                if num_forgotten != self._num_forgotten:
                    raise Postponed
                left += erasing.remove_copies(self._path, due)
                if not left:
                    erasing.settle(connection, due & ~Due.PAGES, named)
            if Due.PAGES in due:
                left += self._rewrite(lambda: is_stopped() or bool(self._waiters))
        except Postponed:
            return None
        except StoreUnusable as error:
            if is_locked(error.__cause__):
                return None
            left.append(self.why_left(error))
        return tuple(left)

    def why_left(self, error: StoreUnusable) -> str:
        """A sentence about what is not erased for this reason, and is tried again."""
        with suppress(OSError):  # the file may be gone
            if is_full(error.__cause__):
                return erasing.no_room(self._path, 2 * self._path.stat().st_size)
        return str(error)

    def _clear_files(self, num_forgotten: int) -> tuple[Path, ...]:
        """Returns what could not be cleared. Only that is tried again: the others are in use again."""
        cleared, left = self._cleared
        left = clear_words(self._path.parent, only=left if cleared == num_forgotten else None)
        self._cleared = num_forgotten, left
        return left

    def _rewrite(self, is_stopped: Callable[[], bool]) -> tuple[str, ...]:
        with self._taken(), as_store_errors(self._path), self._outside.connect() as connection:
            raw = connection.connection.driver_connection
            assert isinstance(raw, sqlite3.Connection)
            lacking = erasing.room_needed(raw, self._path)
            if not lacking:
                erasing.rewrite(raw, self._path.parent, is_stopped)
            if not erasing.empty_log(raw):
                raise Postponed
            if lacking:
                return (erasing.no_room(self._path, lacking),)
            due, _ = erasing.read_due(connection)
            connection.exec_driver_sql(f"PRAGMA user_version = {int(due & ~Due.PAGES)}")
            return ()


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

    def tell_waiting(self, on_waiting: Callable[[bool], None]) -> None:
        """Has `on_waiting` called, on any thread, when a wait for another program begins and when it ends; it must not
        use the store."""
        self._file.on_waiting = on_waiting

    def end_waiting(self) -> None:
        """Called when the app is being closed."""
        self._file.end_waiting()

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
        """Reads the file, or the database in memory for an incognito conversation."""
        return self._database_of(conversation_id).reading()

    def _writing(self, conversation_id: int = 0, patience_s: float | None = None) -> AbstractContextManager[Connection]:
        return self._database_of(conversation_id).writing(patience_s)
