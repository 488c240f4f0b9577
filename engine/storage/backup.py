"""Copies of the store that migrations leave beside it, in case the new schema is regretted."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
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
    with _erasing(backup) as connection:
        connection.executemany("DELETE FROM conversations WHERE id = ?", [(number,) for number in ids]).close()


def forget_learned(backup: Path) -> None:
    """Removes all that was learned from a copy too, as far as there was anything when it was made."""
    with _erasing(backup) as connection:
        for table in ("vocabulary_pairs", "adapters", "vocabularies", "learning_days"):  # with what refers to them
            if _has_table(connection, table):
                connection.execute(f"DELETE FROM {table}").close()


def forget_everything(backup: Path) -> None:
    """Removes all that was said and learned from a copy too."""
    forget_learned(backup)
    with _erasing(backup) as connection:
        connection.execute("DELETE FROM conversations").close()


def _has_table(connection: sqlite3.Connection, name: str) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)).fetchone()
    return found is not None


@contextmanager
def _erasing(backup: Path) -> Iterator[sqlite3.Connection]:
    """What is deleted through this connection leaves the file, and takes along what refers to it."""
    with closing(sqlite3.connect(backup, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = ON").close()
        connection.execute("PRAGMA secure_delete = ON").close()
        yield connection
        connection.execute("VACUUM").close()  # see erasure.py
