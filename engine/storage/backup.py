"""Copies of the store that migrations leave beside it, in case the new schema is regretted."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

_MARK = ".before-"


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


def forget_conversations(backup: Path, ids: Iterable[int]) -> None:
    """Removes conversations from a copy too: what the user purges is meant to be gone. Ids are never given twice."""
    with closing(sqlite3.connect(backup, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = ON").close()
        connection.execute("PRAGMA secure_delete = ON").close()
        connection.executemany("DELETE FROM conversations WHERE id = ?", [(number,) for number in ids]).close()
        connection.execute("VACUUM").close()  # see erasure.py
