"""New stores of the tests are copies of one that the migrations made, which takes twenty times as long. No commit waits
for the disk."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from engine.backend.storage import connections
from engine.backend.storage.repository import FILE_NAME
from engine.backend.storage.upgrade import upgrade
from engine.values.whole_file import private_folder

prepare_file = connections.prepare_file
_prepare = connections._prepare


def copy_ready_stores() -> None:
    """Copy in this process from now on, and leave the disk to the system."""
    connections.prepare_file = _prepare_file
    connections._prepare = _prepare_without_waiting


def _prepare_without_waiting(connection: sqlite3.Connection, _record: object) -> None:
    _prepare(connection, _record)
    connection.execute("PRAGMA synchronous = OFF").close()


def _prepare_file(path: Path) -> None:
    if not any(path.with_name(path.name + end).exists() for end in ("", "-wal")):
        with suppress(OSError):  # the original says what is wrong
            _copy(path)
    prepare_file(path)


def _copy(path: Path) -> None:
    """The whole file appears at once, since other threads open it too."""
    private_folder(path.parent)
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(_ready())
    try:
        os.link(name, path)
    finally:
        Path(name).unlink()


@cache
def _ready() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE_NAME
        prepare_file(path)
        engine = connections.engine_for(path)
        upgrade(engine, path)
        engine.dispose()
        return path.read_bytes()
