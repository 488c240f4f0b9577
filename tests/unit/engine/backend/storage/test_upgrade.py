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

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

from engine.backend.storage import Repository, connections
from engine.backend.storage.schema import Base
from engine.backend.storage.upgrade import MIGRATIONS, Migrations, alembic_config, upgrade
from engine.values.config import OwnSampling, TargetOptions, TargetSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import StoreUnusable
from engine.values.learned import NgramRecord
from engine.values.order import Folder, LibraryPrompt, TargetChoice
from engine.values.replies import OriginRun, ProposerCounts, ReplyStatistics, StopReason, TextKind, Thought
from engine.values.targets import TargetSource
from engine.values.tools import AllowedTool, ToolDefinition
from tests.fakes.older_store import NEXT, REBUILD, with_next_revision, write_first_store

pytestmark = pytest.mark.usefixtures("made_from_nothing")


@pytest.fixture
def engine(store: Path, made_from_nothing: None) -> Iterator[Engine]:  # noqa: ARG001
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


def test_revisions_in_file_names_are_alembics() -> None:
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
        config = alembic_config(connection, Migrations(folder))
        command.revision(config, "what changes", autogenerate=True, rev_id=NEXT)
    (drafted,) = (folder / "versions").glob(f"{NEXT}*.py")
    assert f'down_revision = "{MIGRATIONS.head}"' in drafted.read_text()
    compile(drafted.read_text(), drafted, "exec")


def test_alembic_is_not_imported_for_a_store_that_is_up_to_date(
    open_repository: Callable[[], Repository], data_dir: Path
) -> None:
    open_repository().close()
    program = (
        "import sys, pathlib, engine.backend.storage\n"
        "engine.backend.storage.Repository.open(pathlib.Path(sys.argv[1])).close()\n"
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
    upgrade(engine, store, with_next_revision(tmp_path / "100% migrations"))
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
    upgrade(engine, store, with_next_revision(tmp_path / "100% migrations"))
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
    failing = with_next_revision(tmp_path / "migrations", REBUILD + "    raise RuntimeError('half way')\n")
    with pytest.raises(RuntimeError, match="half way"):
        upgrade(engine, store, failing)
    assert facts(store) == before
    (summary,) = older_store.list_conversations()
    older_store.add_message(summary.id, None, Role.USER, "goes on")
    upgrade(engine, store)  # today's program still takes it


def test_migration_that_loses_rows_is_taken_back(
    older_store: Repository, engine: Engine, store: Path, tmp_path: Path
) -> None:
    losing = with_next_revision(tmp_path / "migrations", REBUILD + "    op.execute('DELETE FROM conversations')\n")
    with pytest.raises(RuntimeError, match="refer to nothing"):
        upgrade(engine, store, losing)
    assert len(older_store.list_conversations()) == 1


@pytest.fixture
def first_store(store: Path, tmp_path: Path, made_from_nothing: None) -> Path:  # noqa: ARG001
    write_first_store(store, tmp_path)
    return store


@pytest.mark.usefixtures("first_store")
def test_store_of_the_first_revision_opens_with_all_its_chats(
    open_repository: Callable[[], Repository],
) -> None:
    repository = open_repository()
    (summary,) = repository.list_conversations()
    conversation = repository.open_conversation(summary.id)
    assert (summary.title, conversation.system_prompt, conversation.draft) == ("Old chat", "Be kind.", "begun")
    assert conversation.sampling == OwnSampling(temperature=0.5, seed=7)
    prompt, reply = conversation.messages
    assert (prompt.text, prompt.statistics, reply.text, reply.target_name) == ("asked", None, "first", "tiny")
    assert reply.thoughts == (Thought(0, "hm", 1.5, 2, True, ()),)
    assert conversation.siblings == {reply.id: (reply.id, 3)}
    assert reply.statistics == ReplyStatistics(
        prompt_tokens=11,
        evaluated_tokens=7,
        reply_tokens=42,
        prompt_s=0.5,
        reply_s=1.5,
        stop_reason=StopReason.END,
        context_used=53,
        context_size=8192,
        left_out_messages=3,
        num_rounds=20,
        num_drafted=30,
        num_accepted=22,
        plain_tokens_per_s=15.5,
        plain_error=0.01,
        draft_s=0.25,
        check_s=1.0,
        kind=TextKind.CODE,
        origins=(OriginRun(3, "drafter"), OriginRun(1, "recall"), OriginRun(1, "target")),
        proposers=(ProposerCounts("drafter", 0, 0, 12), ProposerCounts("recall", 0, 0, 10)),
    )
    left = repository.show_branch(summary.id, 3)  # where it was left
    assert [message.text for message in left.messages] == ["asked", "second", "and now? ☂"]
    assert repository.restore_conversations([3])[0].title == "Deleted"
    assert repository.create_conversation("New", "").id == 4
    assert repository.add_message(4, None, Role.USER, "new").id == 7


@pytest.mark.usefixtures("first_store")
def test_store_of_the_first_revision_opens_with_its_order_and_permissions(
    open_repository: Callable[[], Repository],
) -> None:
    repository = open_repository()
    (summary,) = repository.list_conversations()
    assert (summary.folder_id, summary.is_pinned, summary.is_archived) == (1, True, False)
    assert repository.list_folders() == (Folder(1, "Work", "Be exact.", preset_id=1),)
    (preset,) = repository.list_presets()
    assert preset.sampling == OwnSampling(temperature=0.25)
    assert (preset.name, preset.thinks, preset.target) == ("Brief", True, TargetChoice("tiny", "file:1"))
    assert repository.list_prompts() == (LibraryPrompt(1, "Translate", "Translate {{text}}"),)
    reads, writes = (ToolDefinition("files", "", does, "{}") for does in ("reads", "writes"))
    assert repository.allowed_tools() == (AllowedTool("files", "read", reads),)
    assert repository.allowed_definitions(summary.id, "files", "write") == (writes,)


@pytest.mark.usefixtures("first_store")
def test_store_of_the_first_revision_opens_with_what_was_learned_and_its_targets(
    open_repository: Callable[[], Repository],
) -> None:
    repository = open_repository()
    used, unused = repository.list_targets()
    assert (used.name, used.size_bytes, used.facts, used.identity) == ("tiny", 1000, '{"facts": 1}', "file:1")
    assert used.options == TargetOptions(settings=TargetSettings(context_size=4096), system_prompt="Be brief.")
    assert (unused.name, unused.last_used_at, unused.options) == ("unused", None, TargetOptions())
    adopted = repository.add_target(TargetSource(unused.path, unused.name, unused.size_bytes, "file:2"))
    assert adopted == replace(unused, identity="file:2"), "known by its path and size"
    assert repository.load_ngrams("target", "drafter") == (NgramRecord((1, 2), token=3, count=4, doubts=0, last_use=5),)
    texts = repository.load_recall("target", 1000)
    assert [text.tokens.tolist() for text in texts] == [[9, 9], [6], [7, 8]]
    (lesson,) = repository.load_lessons("target")
    assert lesson.turns == (ChatTurn(Role.SYSTEM, "Be kind."), ChatTurn(Role.USER, "asked"))
    (distilled,) = repository.load_self_distilled("target", 9)
    assert (distilled.message_id, distilled.reply.temperature) == (-1, 0.5)
    assert repository.summarize_learned().scored == {("target", "drafter"): 1}
    adapters = repository.list_adapters("target", "drafter")
    assert [(each.number, each.ordinal, each.after, each.is_published) for each in adapters] == [
        (2, 2, 2.75, True),
        (1, 1, 2.5, False),
    ]
    assert [day.seconds for day in repository.read_history().learning] == [60]


@pytest.mark.parametrize("revision", ["0001", "0025"])
def test_store_from_before_the_first_release_is_refused_and_left_alone(
    first_store: Path, data_dir: Path, revision: str
) -> None:
    with closing(sqlite3.connect(first_store)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))
    content = first_store.read_bytes()
    with pytest.raises(StoreUnusable, match=r"before the first release .* move it away to start with an empty one"):
        Repository.open(data_dir)
    assert first_store.read_bytes() == content
    assert [file.name for file in data_dir.iterdir()] == [first_store.name]
