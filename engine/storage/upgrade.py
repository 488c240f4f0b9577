"""Brings a store to the schema of this version, or refuses it untouched.

The revision is read with plain SQL and compared with our own list, because importing Alembic takes longer than all else
that opening does; it is imported when there is something to migrate.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

from engine.storage import connections, failures
from engine.storage.backup import back_up

if TYPE_CHECKING:
    from alembic.config import Config


@dataclass(frozen=True, slots=True)
class Migrations:
    """An Alembic environment and the numbers of its revisions, oldest first."""

    folder: Path
    revisions: tuple[str, ...]

    @property
    def head(self) -> str:
        return self.revisions[-1]


_REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006")
MIGRATIONS = Migrations(folder=Path(__file__).parent / "migrations", revisions=_REVISIONS)


def upgrade(engine: Engine, path: Path, migrations: Migrations = MIGRATIONS) -> None:
    """Migrates the store to the newest revision, all or nothing; an older store is first copied beside itself.

    Raises StoreUnusable, having changed nothing, if the file is no store of ours or one from a newer version.
    """
    with engine.connect() as connection:
        revision = _revision(connection, path, migrations)
    bare = connections.outside_transactions(engine)
    _use_write_ahead_log(bare)
    if revision == migrations.head:
        return
    with bare.connect() as connection:
        # A table is rebuilt by dropping it, which would take along the rows that refer to it.
        connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
        try:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            _migrate(connection, path, migrations)
            connection.commit()
        finally:
            connection.rollback()
            connection.exec_driver_sql("PRAGMA foreign_keys = ON")


def alembic_config(connection: Connection, migrations: Migrations = MIGRATIONS) -> Config:
    """What Alembic's commands need; `connection` has a transaction open."""
    from alembic.config import Config  # slow, see above

    config = Config()
    config.set_main_option("script_location", str(migrations.folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _revision(connection: Connection, path: Path, migrations: Migrations) -> str | None:
    """None for a store without any tables yet."""
    tables = set(connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").scalars())
    if not tables:
        return None
    if "alembic_version" not in tables:
        raise failures.damaged(path)
    revisions = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalars().all()
    if not revisions:
        raise failures.damaged(path)
    if len(revisions) > 1 or revisions[0] not in migrations.revisions:
        raise failures.from_newer_version(path)
    return str(revisions[0])


def _use_write_ahead_log(bare: Engine) -> None:
    deadline = time.monotonic() + connections.BUSY_TIMEOUT_S
    while True:
        try:
            with bare.connect() as connection:
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            return
        except OperationalError as error:
            # Where two processes make the store at once, SQLite refuses one of them without waiting.
            if not failures.is_locked(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _migrate(connection: Connection, path: Path, migrations: Migrations) -> None:
    revision = _revision(connection, path, migrations)  # again: another process may have been quicker
    if revision == migrations.head:
        return
    if revision is not None:
        back_up(path, migrations.head)
    from alembic import command  # slow, see above

    command.upgrade(alembic_config(connection, migrations), "head")
    if connection.exec_driver_sql("PRAGMA foreign_key_check").all():
        raise RuntimeError(f"The migration of {path} to {migrations.head} left rows that refer to nothing.")
