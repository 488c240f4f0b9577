from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

from engine.config import OwnSampling
from engine.errors import StoreUnusable
from engine.messages.conversations import ChatTurn, Role
from engine.messages.learned import NgramRecord
from engine.messages.replies import Origin, OriginRun, ReplyStatistics, StopReason, TextKind
from engine.storage import Repository, connections
from engine.storage.schema import Base
from engine.storage.upgrade import MIGRATIONS, Migrations, alembic_config, upgrade

from .made import reply_of

NEXT = f"{len(MIGRATIONS.revisions) + 1:04}"  # the revision that somebody may write one day
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

FIRST_REVISION_ROWS = """
INSERT INTO conversations VALUES (1, 'old', '', '2026-01-02 03:04:05', '2026-01-02 03:04:05', NULL, 1);
INSERT INTO messages VALUES (1, 1, NULL, 'assistant', 'kept', '2026-01-02 03:04:05', 'tiny');
INSERT INTO reply_statistics VALUES (1, 11, 7, 42, 0.5, 1.5, 'end', 53, 8192, 3);
"""
SECOND_REVISION_ROWS = """
INSERT INTO conversations VALUES (1, 'old', 'Be kind.', '2026-01-02 03:04:05', '2026-01-02 03:04:05', NULL, 2);
INSERT INTO messages VALUES (1, 1, NULL, 'user', 'asked', '2026-01-02 03:04:05', NULL);
INSERT INTO messages VALUES (2, 1, 1, 'assistant', 'kept', '2026-01-02 03:04:06', 'tiny');
INSERT INTO reply_statistics VALUES (2, 11, 7, 42, 0.5, 1.5, 'end', 53, 8192, 3, 20, 30, 22);
INSERT INTO targets VALUES (1, 'tiny', '/models/tiny.gguf', 1000, '2026-01-02 03:04:05');
INSERT INTO vocabulary_pairs VALUES (1, 'target', 'drafter');
INSERT INTO ngrams VALUES (1, x'0100000002000000', 3, 4, 0, 5);
"""

THIRD_REVISION_ROWS = (
    SECOND_REVISION_ROWS.replace("20, 30, 22)", "20, 30, 22, 55.5, 0.01)")
    + """
INSERT INTO vocabularies VALUES (1, 'target');
INSERT INTO recall VALUES (1, 2, x'0700000008000000');
"""
)

FOURTH_REVISION_ROWS = (
    THIRD_REVISION_ROWS
    + """
INSERT INTO adapters VALUES (1, 'target', 'drafter', '2026-01-02 03:04:05', 2.0, 2.5, 30, 200, 1, x'77');
"""
)

FIFTH_REVISION_ROWS = """
INSERT INTO conversations VALUES (1, 'old', 'Be kind.', '2026-01-02 03:04', '2026-01-02 03:04', NULL, 2, NULL, '');
INSERT INTO messages VALUES (1, 1, NULL, 'user', 'asked', '2026-01-02 03:04:05', NULL);
INSERT INTO messages VALUES (2, 1, 1, 'assistant', 'kept', '2026-01-02 03:04:06', 'tiny');
INSERT INTO targets VALUES (1, 'tiny', '/models/tiny.gguf', 1000, '2026-01-02 03:04:05', '{}', '');
INSERT INTO targets VALUES (2, 'new', '/models/new.gguf', 1000, '1970-01-01 00:00:00.000000', '', 'facts');
INSERT INTO vocabularies VALUES (1, 'target');
INSERT INTO lessons VALUES (1, 2, 1, x'07000000', x'07000000', x'0000');
INSERT INTO adapters VALUES (3, 'target', 'drafter', '2026-01-02 03:04:05', 2.0, 2.5, 30, 200, 0, x'77');
INSERT INTO adapters VALUES (4, 'other', 'drafter', '2026-01-02 03:04:05', 2.0, 2.5, 30, 200, 1, x'77');
INSERT INTO adapters VALUES (7, 'target', 'drafter', '2026-01-02 03:04:05', 2.0, 2.75, 30, 200, 1, x'77');
"""


@pytest.fixture
def engine(store: Path) -> Iterator[Engine]:
    connections.prepare_file(store)
    engine = connections.engine_for(store)
    yield engine
    engine.dispose()


@pytest.fixture
def older_store(open_repository: Callable[[], Repository]) -> Repository:
    """A store of today's revision, which the migrations below call an older one."""
    repository = open_repository()
    summary = repository.create_conversation("old", "")
    repository.add_message(summary.id, None, Role.USER, "kept")
    return repository


def with_next_revision(tmp_path: Path, script: str) -> Migrations:
    folder = shutil.copytree(MIGRATIONS.folder, tmp_path / "100% migrations")
    (folder / "versions" / f"{NEXT}_next.py").write_text(script)
    return Migrations(folder, (*MIGRATIONS.revisions, NEXT))


def as_of(revision: str, tmp_path: Path) -> Migrations:
    """The migrations as they were when this revision was the newest."""
    folder = shutil.copytree(MIGRATIONS.folder, tmp_path / f"migrations of {revision}")
    for script in (folder / "versions").glob("[0-9]*.py"):
        if script.name[: len(revision)] > revision:
            script.unlink()
    return Migrations(folder, tuple(known for known in MIGRATIONS.revisions if known <= revision))


def read(store: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(store)) as connection:
        return connection.execute(statement).fetchall()


def facts(store: Path) -> dict[str, Any]:
    """Everything that SQLite knows about the tables, whatever the words that made them."""
    words = "sql LIKE '%AUTOINCREMENT%', sql LIKE '%WITHOUT ROWID%'"
    tables = read(store, f"SELECT name, {words} FROM sqlite_master WHERE type = 'table'")
    return {
        name: (
            has_words,
            sorted(column[1:] for column in read(store, f"PRAGMA table_info({name})")),
            sorted(key[2:] for key in read(store, f"PRAGMA foreign_key_list({name})")),
            sorted(
                (index, unique, read(store, f"PRAGMA index_info({index})"))
                for _, index, unique, *_ in read(store, f"PRAGMA index_list({name})")
            ),
        )
        for name, *has_words in tables
        if name != "alembic_version" and not name.startswith("sqlite_")
    }


def test_our_list_of_revisions_is_alembics() -> None:
    script = ScriptDirectory(str(MIGRATIONS.folder))
    assert tuple(revision.revision for revision in script.walk_revisions())[::-1] == MIGRATIONS.revisions
    assert script.get_current_head() == MIGRATIONS.head


def test_migrations_lead_to_the_schema(engine: Engine, store: Path, tmp_path: Path) -> None:
    upgrade(engine, store)
    with engine.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, Base.metadata) == []

    described = tmp_path / "described.sqlite3"
    other = connections.engine_for(described)
    Base.metadata.create_all(other)
    other.dispose()
    assert facts(store) == facts(described)


def test_alembic_drafts_the_next_revision(engine: Engine, store: Path, tmp_path: Path) -> None:
    upgrade(engine, store)
    folder = shutil.copytree(MIGRATIONS.folder, tmp_path / "migrations")
    with engine.begin() as connection:
        config = alembic_config(connection, Migrations(folder, MIGRATIONS.revisions))
        command.revision(config, "what changes", autogenerate=True, rev_id=NEXT)
    (drafted,) = (folder / "versions").glob(f"{NEXT}*.py")
    assert f'down_revision = "{MIGRATIONS.head}"' in drafted.read_text()
    compile(drafted.read_text(), drafted, "exec")


def test_alembic_is_not_imported_for_a_store_that_is_up_to_date(
    open_repository: Callable[[], Repository], data_dir: Path
) -> None:
    open_repository().close()
    program = (
        "import sys, pathlib, engine.storage\n"
        "engine.storage.Repository.open(pathlib.Path(sys.argv[1])).close()\n"
        "sys.exit('alembic' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, data_dir], check=True)


def test_store_from_a_newer_version_is_refused_and_left_alone(
    older_store: Repository, store: Path, data_dir: Path
) -> None:
    older_store.close()
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    content = store.read_bytes()
    with pytest.raises(
        StoreUnusable,
        match=r"newer version of Slipstream; install that version or choose .* folder with SLIPSTREAM_DATA_DIR\.$",
    ):
        Repository.open(data_dir)
    assert store.read_bytes() == content
    assert [file.name for file in data_dir.iterdir()] == [store.name]


def test_older_store_is_copied_and_then_migrated(
    older_store: Repository, engine: Engine, store: Path, tmp_path: Path
) -> None:
    upgrade(engine, store, with_next_revision(tmp_path, REBUILD))
    assert read(store, "SELECT version_num FROM alembic_version") == [(NEXT,)]
    assert read(store, "SELECT title, colour FROM conversations") == [("old", None)]
    assert read(store, "SELECT text FROM messages") == [("kept",)]  # though the table it refers to was rebuilt
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1

    backup = store.with_name(f"{store.name}.before-{NEXT}")
    older_store.close()
    assert read(backup, "SELECT version_num FROM alembic_version") == [(MIGRATIONS.head,)]
    assert read(backup, "SELECT text FROM messages") == [("kept",)]
    assert not list(store.parent.glob("*.part*"))


def test_copy_of_an_older_store_can_take_its_place(
    older_store: Repository, engine: Engine, store: Path, tmp_path: Path, open_repository: Callable[[], Repository]
) -> None:
    upgrade(engine, store, with_next_revision(tmp_path, REBUILD))
    engine.dispose()
    older_store.close()
    store.with_name(f"{store.name}.before-{NEXT}").replace(store)
    repository = open_repository()
    (summary,) = repository.list_conversations()
    assert repository.open_conversation(summary.id).messages[0].text == "kept"
    assert read(store, "PRAGMA journal_mode") == [("wal",)]


def test_migration_that_fails_changes_nothing(
    older_store: Repository, engine: Engine, store: Path, tmp_path: Path
) -> None:
    before = facts(store)
    failing = with_next_revision(tmp_path, REBUILD + "    raise RuntimeError('half way')\n")
    with pytest.raises(RuntimeError, match="half way"):
        upgrade(engine, store, failing)
    assert facts(store) == before
    (summary,) = older_store.list_conversations()
    older_store.add_message(summary.id, None, Role.USER, "goes on")
    upgrade(engine, store)  # today's program still takes it


def test_migration_that_loses_rows_is_taken_back(
    older_store: Repository, engine: Engine, store: Path, tmp_path: Path
) -> None:
    losing = with_next_revision(tmp_path, REBUILD + "    op.execute('DELETE FROM conversations')\n")
    with pytest.raises(RuntimeError, match="refer to nothing"):
        upgrade(engine, store, losing)
    assert len(older_store.list_conversations()) == 1


def test_store_of_the_first_revision_gets_ngrams_and_keeps_its_replies(
    engine: Engine, store: Path, tmp_path: Path, open_repository: Callable[[], Repository]
) -> None:
    upgrade(engine, store, as_of("0001", tmp_path))
    engine.dispose()
    with closing(sqlite3.connect(store)) as connection:
        connection.executescript(FIRST_REVISION_ROWS)
    assert "ngrams" not in facts(store)

    repository = open_repository()
    (reply,) = repository.open_conversation(1).messages
    assert reply.text == "kept"
    assert reply.statistics == ReplyStatistics(11, 7, 42, 0.5, 1.5, StopReason.END, 53, 8192, left_out_messages=3)
    ngram = NgramRecord((1, 2), token=3, count=4, doubts=0, last_use=5)
    repository.save_ngrams("target", "drafter", [ngram])
    assert repository.load_ngrams("target", "drafter") == (ngram,)
    repository.forget_learned()  # the copy beside the store has none

    backup = store.with_name(f"{store.name}.before-{MIGRATIONS.head}")
    assert read(backup, "SELECT version_num FROM alembic_version") == [("0001",)]
    assert read(backup, "SELECT text FROM messages") == [("kept",)]


def test_store_of_the_second_revision_gets_recall_and_keeps_everything(
    engine: Engine, store: Path, tmp_path: Path, open_repository: Callable[[], Repository]
) -> None:
    upgrade(engine, store, as_of("0002", tmp_path))
    engine.dispose()
    with closing(sqlite3.connect(store)) as connection:
        connection.executescript(SECOND_REVISION_ROWS)
    assert "recall" not in facts(store)

    repository = open_repository()
    conversation = repository.open_conversation(1)
    assert (conversation.summary.title, conversation.system_prompt) == ("old", "Be kind.")
    prompt, reply = conversation.messages
    assert (prompt.text, prompt.statistics, reply.text, reply.target_name) == ("asked", None, "kept", "tiny")
    assert reply.statistics == ReplyStatistics(
        11, 7, 42, 0.5, 1.5, StopReason.END, 53, 8192, 3, num_rounds=20, num_drafted=30, num_accepted=22
    )
    assert [target.name for target in repository.list_targets()] == ["tiny"]
    assert repository.load_ngrams("target", "drafter") == (NgramRecord((1, 2), token=3, count=4, doubts=0, last_use=5),)
    added = repository.add_message(1, reply.id, Role.USER, "and now?")
    assert added.id > reply.id

    assert [text for *_, text in repository.messages_without_recall("target", added.id, 8)] == ["kept", "asked"]
    repository.save_recall("target", {reply.id: [7, 8]})
    (remembered,) = repository.load_recall("target", 1000)
    assert (remembered.message_id, remembered.tokens.tolist()) == (reply.id, [7, 8])

    backup = store.with_name(f"{store.name}.before-{MIGRATIONS.head}")
    assert read(backup, "SELECT version_num FROM alembic_version") == [("0002",)]
    repository.delete_conversation(1)
    repository.purge_deleted()  # the copy beside the store has no tokens
    assert read(backup, "SELECT count(*) FROM messages") == [(0,)]
    assert read(store, "SELECT count(*) FROM recall") == [(0,)]


def test_store_of_the_third_revision_gets_lessons_and_adapters_and_keeps_everything(
    engine: Engine, store: Path, tmp_path: Path, open_repository: Callable[[], Repository]
) -> None:
    upgrade(engine, store, as_of("0003", tmp_path))
    engine.dispose()
    with closing(sqlite3.connect(store)) as connection:
        connection.executescript(THIRD_REVISION_ROWS)
    assert not {"lessons", "adapters", "imported_recall"} & set(facts(store))

    repository = open_repository()
    prompt, reply = repository.open_conversation(1).messages
    assert (prompt.text, reply.text, reply.target_name) == ("asked", "kept", "tiny")
    assert reply.statistics is not None
    assert (reply.statistics.num_accepted, reply.statistics.plain_tokens_per_s) == (22, 55.5)
    assert repository.load_ngrams("target", "drafter") == (NgramRecord((1, 2), token=3, count=4, doubts=0, last_use=5),)
    (remembered,) = repository.load_recall("target", 1000)
    assert remembered.tokens.tolist() == [7, 8]

    repository.save_lesson("target", reply.id, reply_of([7, 8], [[7], [8]], np.zeros((2, 1))), most=10)
    (lesson,) = repository.load_lessons("target")
    assert lesson.turns == (ChatTurn(Role.SYSTEM, "Be kind."), ChatTurn(Role.USER, "asked"))
    assert repository.save_adapter("target", "drafter", 2.0, 2.5, 30, 200, b"weights").number == 1

    backup = store.with_name(f"{store.name}.before-{MIGRATIONS.head}")
    assert read(backup, "SELECT version_num FROM alembic_version") == [("0003",)]
    repository.forget_learned()  # the copy beside the store has none
    repository.delete_conversation(1)
    repository.purge_deleted()
    assert read(backup, "SELECT count(*) FROM messages") == [(0,)]
    assert read(store, "SELECT count(*) FROM lessons") == [(0,)]


def test_store_of_the_fourth_revision_gets_room_for_what_the_window_shows_and_keeps_everything(
    engine: Engine, store: Path, tmp_path: Path, open_repository: Callable[[], Repository]
) -> None:
    upgrade(engine, store, as_of("0004", tmp_path))
    engine.dispose()
    with closing(sqlite3.connect(store)) as connection:
        connection.executescript(FOURTH_REVISION_ROWS)

    repository = open_repository()
    prompt, reply = repository.open_conversation(1).messages
    assert reply.statistics == ReplyStatistics(
        11, 7, 42, 0.5, 1.5, StopReason.END, 53, 8192, 3, 20, 30, 22, plain_tokens_per_s=55.5, plain_error=0.01
    )
    assert [adapter.after for adapter in repository.list_adapters("target", "drafter")] == [2.5]
    statistics = replace(
        reply.statistics,
        draft_s=0.25,
        kind=TextKind.CODE,
        origins=(OriginRun(3, Origin.DRAFTER), OriginRun(1, Origin.TARGET)),
    )
    repository.add_message(1, prompt.id, Role.ASSISTANT, "kept", "tiny", statistics)
    assert repository.open_conversation(1).messages[-1].statistics == statistics


def test_store_of_the_fifth_revision_says_never_and_keeps_what_was_learned(
    engine: Engine, store: Path, tmp_path: Path, open_repository: Callable[[], Repository]
) -> None:
    upgrade(engine, store, as_of("0005", tmp_path))
    engine.dispose()
    with closing(sqlite3.connect(store)) as connection:
        connection.executescript(FIFTH_REVISION_ROWS)

    repository = open_repository()
    assert [target.name for target in repository.list_targets()] == ["tiny", "new"]
    assert [target.last_used_at is None for target in repository.list_targets()] == [False, True]
    assert [target.facts for target in repository.list_targets()] == ["", "facts"]
    adapters = repository.list_adapters("target", "drafter")
    assert [(each.number, each.ordinal) for each in adapters] == [(7, 2), (3, 1)]
    assert repository.save_adapter("other", "drafter", 2.0, 2.5, 30, 200, b"weights").ordinal == 2
    repository.change_conversation(1, "Be brief.", OwnSampling())
    (lesson,) = repository.load_lessons("target")
    assert lesson.turns == (ChatTurn(Role.SYSTEM, "Be kind."), ChatTurn(Role.USER, "asked"))
    beside = repository.add_message(1, 1, Role.ASSISTANT, "again")
    assert repository.show_branch(1, 2).messages[-1].text == "kept"
    assert repository.show_branch(1, 1).messages[-1].id != beside.parent_id
