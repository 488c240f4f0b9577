"""Sees to it that deleted text leaves the files, not only the tables.

`PRAGMA secure_delete` overwrites deleted rows, but not the copies that stay behind in a page when SQLite has moved rows
to another one. Only VACUUM, which writes the whole file anew, removes these. It cannot be part of the transaction that
deletes, so that transaction leaves a mark in the file, which is taken away when the work is done.
"""

from __future__ import annotations

from sqlalchemy import Connection


def announce(connection: Connection) -> None:
    """Marks, within the transaction that deletes, that old text is to be erased."""
    connection.exec_driver_sql("PRAGMA user_version = 1")


def finish(connection: Connection) -> None:
    """Erases what was announced, now or before an interruption. `connection` is outside any transaction."""
    if connection.exec_driver_sql("PRAGMA user_version").scalar_one() == 0:
        return
    connection.exec_driver_sql("VACUUM")
    # The new pages stand in the write-ahead log; only a checkpoint puts them over the old ones.
    busy, _, _ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
    if not busy:
        connection.exec_driver_sql("PRAGMA user_version = 0")
