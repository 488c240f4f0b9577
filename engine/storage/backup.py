"""Backups of the store, which migrations leave beside it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

_MARK = ".before-"
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"


def back_up(path: Path, revision: str) -> Path:
    """Copies the committed state of the store; whole or not at all, and readable by this user alone."""
    backup = path.with_name(f"{path.name}{_MARK}{revision}")
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(part)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE").close()  # one file that can be moved about
    part.replace(backup)
    return backup


def backups(path: Path) -> tuple[Path, ...]:
    return tuple(sorted(file for file in path.parent.iterdir() if file.name.startswith(path.name + _MARK)))


def delete_from(backup: Path, tables: Iterable[str], ids: Sequence[int] | None = None) -> None:
    """Deletes these rows (None: all) from the tables that the backup has, with everything that refers to them: what the
    user has deleted is meant to be gone. Ids are never reused, so they address the same rows as in the store."""
    with closing(sqlite3.connect(backup, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = ON").close()
        connection.execute("PRAGMA secure_delete = ON").close()
        there = {name for (name,) in connection.execute(_TABLES)}
        for table in tables:
            if table in there and ids is None:
                connection.execute(f"DELETE FROM {table}").close()
            elif table in there:
                connection.executemany(f"DELETE FROM {table} WHERE id = ?", [(number,) for number in ids or ()]).close()
        connection.execute("VACUUM").close()  # erases the deleted text, see `Database.finish_erasure`
