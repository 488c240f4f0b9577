"""A store as the first schema had it, and a migration of the kind that may be written one day."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from engine.backend.storage import connections
from engine.backend.storage.upgrade import MIGRATIONS, Migrations, upgrade

NEXT = f"{int(MIGRATIONS.head) + 1:04}"
REBUILD = f"""
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{MIGRATIONS.head}"


def upgrade() -> None:
    options = dict(recreate="always", table_kwargs=dict(sqlite_autoincrement=True))
    with op.batch_alter_table("conversations", **options) as table:
        table.add_column(sa.Column("colour", sa.Text()))
"""
_ROWS = Path(__file__).with_name("store_0026.sql")


def with_next_revision(folder: Path, script: str = REBUILD) -> Migrations:
    """A copy of the migrations in this folder, with one more."""
    shutil.copytree(MIGRATIONS.folder, folder)
    (folder / "versions" / f"{NEXT}_next.py").write_text(script)
    return Migrations(folder)


def write_first_store(path: Path, scratch: Path) -> None:
    """A store of the first revision with a row in most tables, as that version's program wrote them."""
    folder = shutil.copytree(MIGRATIONS.folder, scratch / "first")
    for script in (folder / "versions").glob("[0-9]*.py"):
        if not script.name.startswith(MIGRATIONS.revisions[0]):
            script.unlink()
    connections.prepare_file(path)
    engine = connections.engine_for(path)
    upgrade(engine, path, Migrations(folder))
    engine.dispose()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(_ROWS.read_text(encoding="utf-8"))
