"""A store as the first release writes it, to try an upgrade on. Needs Slipstream's packages installed.

python packaging/older_store.py STORE          makes it
python packaging/older_store.py --check STORE  succeeds if it is migrated and its chat is there
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from engine.backend.storage import connections
from engine.backend.storage.upgrade import MIGRATIONS, Migrations, upgrade

FIRST = MIGRATIONS.revisions[0]
ROWS = """
INSERT INTO conversations (id, title, system_prompt, created_at, updated_at, head_message_id)
VALUES (1, 'Of the older version', '', '2026-01-02 03:04:05', '2026-01-02 03:04:05', 2);
INSERT INTO messages (id, conversation_id, parent_id, role, text, created_at, target_name)
VALUES (1, 1, NULL, 'user', 'asked', '2026-01-02 03:04:05', NULL),
(2, 1, 1, 'assistant', 'answered', '2026-01-02 03:04:06', 'tiny');
"""


def make(store: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = shutil.copytree(MIGRATIONS.folder, Path(temporary) / "migrations")
        for script in (folder / "versions").glob("[0-9]*.py"):
            if not script.name.startswith(FIRST):
                script.unlink()
        connections.prepare_file(store)
        engine = connections.engine_for(store)
        upgrade(engine, store, Migrations(folder))
        engine.dispose()
    with closing(sqlite3.connect(store)) as connection:
        connection.executescript(ROWS)


def is_migrated(store: Path) -> bool:
    with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as connection:
        revision = connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]
        texts = connection.execute("SELECT text FROM messages WHERE conversation_id = 1 ORDER BY id").fetchall()
        title = connection.execute("SELECT title FROM conversations WHERE id = 1").fetchone()
    return (revision, title, texts) == (MIGRATIONS.head, ("Of the older version",), [("asked",), ("answered",)])


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        sys.exit(not is_migrated(Path(sys.argv[2]).resolve()))
    make(Path(sys.argv[1]).resolve())
