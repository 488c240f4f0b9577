"""Brings a store to the schema of this version, or refuses it unchanged.

The store's revision is read with plain SQL and compared with the names of the migrations, because importing Alembic
takes longer than everything else that opening a store does; it is imported when there is something to migrate.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

from engine.backend.storage import connections, failures

if TYPE_CHECKING:
    from alembic.config import Config


@dataclass(frozen=True, slots=True)
class Migrations:
    """An Alembic environment, each of whose files begins with the number of its revision."""

    folder: Path

    @property
    def revisions(self) -> tuple[str, ...]:
        """Oldest first."""
        return tuple(sorted(file.name[:4] for file in (self.folder / "versions").glob("[0-9]*.py")))

    @property
    def head(self) -> str:
        return self.revisions[-1]


MIGRATIONS = Migrations(Path(__file__).parent / "migrations")


def upgrade(engine: Engine, path: Path, migrations: Migrations = MIGRATIONS) -> None:
    """Migrates the store to the newest revision, all or nothing; an older store is copied first.

    Raises StoreUnusable, having changed nothing, for a file that is not one of our stores, and for a store from a newer
    version or from before the first release.
    """
    with engine.connect() as connection:
        revision = _revision(connection, path, migrations)
    bare = connections.outside_transactions(engine)
    _use_write_ahead_log(bare)
    if revision == migrations.head:
        return
    with bare.connect() as connection:
        # Rebuilding a table drops it, which would delete the rows that refer to it.
        connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
        try:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            _migrate(connection, path, migrations)
            connection.commit()
        finally:
            connection.rollback()
            connection.exec_driver_sql("PRAGMA foreign_keys = ON")


def alembic_config(connection: Connection, migrations: Migrations = MIGRATIONS) -> Config:
    """What Alembic's commands need. `connection` has an open transaction."""
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
    versions = "SELECT version_num FROM alembic_version"
    revisions = connection.exec_driver_sql(versions).scalars().all() if "alembic_version" in tables else ()
    if not revisions:
        raise failures.unusable(failures.DAMAGED, path)
    if len(revisions) == 1 and revisions[0] in migrations.revisions:
        return str(revisions[0])
    if max(map(str, revisions)) < migrations.revisions[0]:
        raise failures.unusable(failures.FROM_BEFORE_RELEASE, path)
    raise failures.unusable(failures.FROM_NEWER_VERSION, path)


def _use_write_ahead_log(bare: Engine) -> None:
    deadline = time.monotonic() + connections.BUSY_TIMEOUT_S
    while True:
        try:
            with bare.connect() as connection:
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            return
        except OperationalError as error:
            # When two processes make the store at once, SQLite refuses one of them without waiting.
            if not failures.is_locked(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _migrate(connection: Connection, path: Path, migrations: Migrations) -> None:
    revision = _revision(connection, path, migrations)  # again: another process may have been faster
    if revision == migrations.head:
        return
    if revision is not None:
        connections.back_up(path, migrations.head)
    from alembic import command  # slow, see above

    command.upgrade(alembic_config(connection, migrations), "head")
    if connection.exec_driver_sql("PRAGMA foreign_key_check").all():
        raise RuntimeError(f"The migration of {path} to {migrations.head} left rows that refer to nothing.")
