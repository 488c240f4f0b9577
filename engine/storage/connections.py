"""Makes the database file and the connections to it: who may read it, how it is locked, what a commit promises."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from engine.storage import failures

BUSY_TIMEOUT_S = 5.0
_BEGIN = "slipstream_begin"
_PRAGMAS = (
    "PRAGMA foreign_keys = ON",
    # A killed process loses nothing with NORMAL either, but a power cut may take the last replies. FULL costs an fsync
    # for each commit (about a millisecond), and an exchange is two commits.
    "PRAGMA synchronous = FULL",
    # Purged text is overwritten in the file, and nothing of it is spilled into the system's temporary folder.
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",
)


def prepare_file(path: Path) -> None:
    """Makes folder and file for this user alone, before SQLite would make them for everybody.

    SQLite gives the -wal and -shm files the permissions of the database. An existing file that others may read is
    tightened.
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
        raise failures.damaged(path)  # the file was emptied by an accident; SQLite would now throw away its log too
    for file in (path, log, path.with_name(path.name + "-shm")):
        _keep_private(file)


def _keep_private(file: Path) -> None:
    if os.name != "posix":
        return
    with suppress(
        FileNotFoundError, PermissionError
    ):  # not there, another's file, or a file system without permissions
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
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def writer(engine: Engine) -> Engine:
    """The same connections, but a transaction takes the write lock at once.

    One that began as a reader and then writes would fail without waiting if another has written in between.
    """
    return engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})


def outside_transactions(engine: Engine) -> Engine:
    """The same connections, for the few statements that SQLite refuses within a transaction."""
    return engine.execution_options(**{_BEGIN: None})


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    # Python's module leaves BEGIN to us; its own `autocommit` attribute is missing in 3.11 and cannot say IMMEDIATE.
    connection.isolation_level = None
    for pragma in _PRAGMAS:
        connection.execute(pragma).close()


def _begin(connection: Connection) -> None:
    options: dict[str, Any] = dict(connection.get_execution_options())
    statement = options.get(_BEGIN, "BEGIN")
    if statement is not None:
        connection.exec_driver_sql(statement)
