"""What the tables declare, tried on a store that has a row in each of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.orm import Mapped, mapped_column

from engine.backend.storage import Repository
from engine.backend.storage.connections import back_up
from engine.backend.storage.schema import Base, Holds, rows_holding
from engine.values.learned import Learned

ALL = rows_holding(*Holds)
NOTED = "erasures"


@pytest.fixture
def full(repository: Repository, store: Path) -> Repository:
    """Every column that must have a value is 1: SQLite holds any kind of value in any column."""
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = ON")
        for table in Base.metadata.sorted_tables:
            names = [column.name for column in table.columns if not column.nullable]
            connection.execute(
                f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({', '.join('1' for _ in names)})"
            )
    assert counts(store) == dict.fromkeys(Base.metadata.tables, 1)
    return repository


def counts(store: Path) -> dict[str, int]:
    with closing(sqlite3.connect(store)) as connection:
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in Base.metadata.tables}


def emptied(store: Path) -> set[str]:
    return {name for name, count in counts(store).items() if not count}


def names(rows: list[type[Base]]) -> set[str]:
    return {row.__tablename__ for row in rows}


def test_a_table_that_does_not_declare_what_it_holds_is_refused() -> None:
    with pytest.raises(TypeError, match="holds"):

        class NoteRow(Base):
            __tablename__ = "notes"

            id: Mapped[int] = mapped_column(primary_key=True)

    assert "notes" not in Base.metadata.tables


def test_every_table_has_a_class_that_declares_it() -> None:
    assert names(ALL) == set(Base.metadata.tables)


def test_forgetting_what_was_learned_empties_the_tables_that_hold_it_and_no_others(
    full: Repository, store: Path
) -> None:
    backup = back_up(store, "9999")
    full.forget_learned()
    assert full.finish_erasure() == ()
    assert emptied(store) - {NOTED} == emptied(backup) == names(rows_holding(Holds.LEARNED))


def test_forgetting_everything_leaves_the_library_alone(full: Repository, store: Path) -> None:
    backup = back_up(store, "9999")
    assert full.forget_everything() == 1
    assert full.finish_erasure() == ()
    assert emptied(store) - {NOTED} == names(rows_holding(Holds.CHATS, Holds.ORDER, Holds.LEARNED))
    assert not backup.exists()


def test_what_chats_hold_goes_with_their_conversations(full: Repository, store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE conversations SET deleted_at = created_at")
    backup = back_up(store, "9999")
    assert full.purge_deleted() == 1
    assert full.finish_erasure() == ()
    assert emptied(store) >= names(rows_holding(Holds.CHATS))
    assert emptied(store) - {NOTED} == emptied(backup)


def test_a_profile_replaces_what_it_carries_and_nothing_else(full: Repository, store: Path) -> None:
    full.add_learned(Learned({}, {}, {}, ()), replace=True)
    assert emptied(store) == {row.__tablename__ for row in ALL if row.in_profile}


def test_what_was_learned_for_a_vocabulary_is_measured() -> None:
    keys = {"vocabulary_id", "pair_id"}
    for row in rows_holding(Holds.LEARNED):
        if keys & set(row.__table__.columns.keys()):
            assert row.num_bytes, f"{row.__name__} does not declare how much room it takes"
