"""Makes the database file, the connections to it and its copies: who may read them, how the file is locked, what a
commit promises."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.pool import StaticPool

from engine.backend.storage import failures
from engine.values.places import COPY, UNFINISHED_COPY
from engine.values.whole_file import private_folder

BUSY_TIMEOUT_S = 5.0  # that readers and single statements wait, inside SQLite
_BEGIN = "slipstream_begin"
_WRITE_NOW = ("PRAGMA busy_timeout = 0", "BEGIN IMMEDIATE")
_WAIT_AGAIN = f"PRAGMA busy_timeout = {BUSY_TIMEOUT_S * 1000:.0f}"
_PRAGMAS = (
    "PRAGMA foreign_keys = ON",
    # With NORMAL too, a killed process loses nothing, but a power cut may lose the last replies. FULL costs one fsync
    # for each commit (about a millisecond), and a prompt with its reply is two commits.
    "PRAGMA synchronous = FULL",
    # Deleted text is overwritten in the file, and no text is spilled into the system's temporary folder.
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",
)


def prepare_file(path: Path) -> None:
    """Makes folder and file readable by this user alone, before SQLite would make them readable by everybody.

    SQLite gives the -wal and -shm files the permissions of the database. An existing file that others may read is
    restricted too.
    """
    try:
        private_folder(path.parent)
    except OSError as error:
        raise failures.unusable(failures.FOLDER_NOT_CREATED, path.parent, error.strerror) from error
    if path.is_dir():
        raise failures.unusable(failures.IS_A_FOLDER, path)
    log = path.with_name(path.name + "-wal")
    # A file that is there is not opened: closing it would drop the locks of all our connections to it, and another
    # program that closes it would take the log away that we write to (sqlite.org/howtocorrupt.html, 2.2).
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    if path.stat().st_size == 0 and log.exists() and log.stat().st_size > 0:
        # The file was emptied by accident, and SQLite would discard its log too.
        raise failures.unusable(failures.DAMAGED, path)
    for file in (path, log, path.with_name(path.name + "-shm")):
        _keep_private(file)


def _keep_private(file: Path) -> None:
    if os.name != "posix":
        return
    # The file is missing or another user's, or the file system has no permissions.
    with suppress(FileNotFoundError, PermissionError):
        mode = stat.S_IMODE(file.stat().st_mode)
        if mode & 0o077:
            file.chmod(mode & ~0o077)


def engine_for(path: Path) -> Engine:
    """Connections whose transactions begin as readers: one unchanging view of the store."""
    url = URL.create("sqlite", database=str(path))
    # A thread never waits for another one's connection.
    return _engine(url, connect_args={"timeout": BUSY_TIMEOUT_S}, max_overflow=-1)


def engine_in_memory() -> Engine:
    """One connection to a database in memory, for all threads: the caller lets one at a time use it."""
    return _engine("sqlite://", connect_args={"check_same_thread": False}, poolclass=StaticPool)


def _engine(url: URL | str, **options: Any) -> Engine:
    engine = create_engine(url, hide_parameters=True, **options)  # an error must not carry a user's text into the log
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def writer(engine: Engine) -> Engine:
    """The same connections, but a transaction takes the write lock at once, or fails without waiting.

    A transaction that begins as a reader and then writes fails, too, if another has written in between.
    """
    return engine.execution_options(**{_BEGIN: _WRITE_NOW})


def outside_transactions(engine: Engine) -> Engine:
    """The same connections, for the few statements that SQLite refuses in a transaction."""
    return engine.execution_options(**{_BEGIN: ()})


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    # This leaves BEGIN to us: `autocommit` is missing in Python 3.11, and cannot begin with IMMEDIATE.
    connection.isolation_level = None
    for pragma in _PRAGMAS:
        connection.execute(pragma).close()


def _begin(connection: Connection) -> None:
    statements = dict[str, Any](connection.get_execution_options()).get(_BEGIN, ("BEGIN",))
    try:
        for statement in statements:
            connection.exec_driver_sql(statement)
    finally:
        if statements is _WRITE_NOW:
            connection.exec_driver_sql(_WAIT_AGAIN)


def raw_rows(connection: Connection, statement: str, *values: object) -> Iterator[Any]:
    """Read by SQLite's own cursor: SQLAlchemy's rows take twice the time for 50,000 n-grams."""
    with closing(connection.connection.cursor()) as cursor:
        yield from cursor.execute(statement, values)


def raw(path: Path) -> sqlite3.Connection:
    """Connects to a file that no other connection of ours uses."""
    connection = sqlite3.connect(path)
    try:
        _prepare(connection, None)
    except BaseException:
        connection.close()
        raise
    return connection


def back_up(path: Path, revision: str) -> Path:
    """Copies the committed state of the store; whole or not at all, and readable by this user alone."""
    copy = path.with_name(f"{COPY}{revision}")
    part = path.with_name(UNFINISHED_COPY)
    remove_unfinished(path)  # of a process that was killed
    try:
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(part)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE").close()  # one file that can be moved about
        part.replace(copy)
    finally:
        remove_unfinished(path)
    return copy


def copies(path: Path) -> tuple[Path, ...]:
    """Oldest first."""
    return tuple(sorted(path.parent.glob(f"{COPY}[0-9][0-9][0-9][0-9]")))


def remove_unfinished(path: Path) -> None:
    """A copy that a migration began. Not while one is under way."""
    for file in path.parent.glob(f"{UNFINISHED_COPY}*"):  # with its journal
        file.unlink(missing_ok=True)
