"""Makes the database file and the connections to it: who may read it, how it is locked, what a commit promises."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.pool import StaticPool

from engine.storage import failures

BUSY_TIMEOUT_S = 5.0
_BEGIN = "slipstream_begin"
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
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise failures.folder_not_created(path.parent, error) from error
    if path.is_dir():
        raise failures.is_a_folder(path)
    log = path.with_name(path.name + "-wal")
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    if path.stat().st_size == 0 and log.exists() and log.stat().st_size > 0:
        raise failures.damaged(path)  # the file was emptied by accident, and SQLite would discard its log too
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
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": BUSY_TIMEOUT_S},
        hide_parameters=True,  # an error must not carry what somebody wrote into the log
        max_overflow=-1,  # a thread never waits for another one's connection
    )
    return _prepared(engine)


def engine_in_memory() -> Engine:
    """One connection to a database in memory, for all threads: the caller lets one at a time use it."""
    engine = create_engine(
        "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}, hide_parameters=True
    )
    return _prepared(engine)


def _prepared(engine: Engine) -> Engine:
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def writer(engine: Engine) -> Engine:
    """The same connections, but a transaction takes the write lock at once.

    A transaction that begins as a reader and then writes fails without waiting if another has written in between.
    """
    return engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})


def outside_transactions(engine: Engine) -> Engine:
    """The same connections, for the few statements that SQLite refuses in a transaction."""
    return engine.execution_options(**{_BEGIN: None})


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    # This leaves BEGIN to us: `autocommit` is missing in Python 3.11, and cannot begin with IMMEDIATE.
    connection.isolation_level = None
    for pragma in _PRAGMAS:
        connection.execute(pragma).close()


def _begin(connection: Connection) -> None:
    options: dict[str, Any] = dict(connection.get_execution_options())
    statement = options.get(_BEGIN, "BEGIN")
    if statement is not None:
        connection.exec_driver_sql(statement)
