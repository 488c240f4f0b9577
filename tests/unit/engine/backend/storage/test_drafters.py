"""Figures of drafters: kept for each target, read as far as they make sense, and forgotten with what was learned."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from engine.backend.storage import Repository
from engine.values.drafters import DrafterRecord, Guesses

TARGET, OTHER = "7a" * 32, "0b" * 32
RECORD = DrafterRecord("starter", Guesses(120.0, 61.5, 80.0, 40.25), 0.0061)


def test_what_was_seen_is_read_again_after_a_restart(
    repository: Repository, open_repository: Callable[[], Repository]
) -> None:
    assert repository.drafter_records(TARGET) == {}
    repository.save_drafter_record(TARGET, RECORD)
    repository.save_drafter_record(TARGET, DrafterRecord("built-in", step_s=0.002))
    repository.close()
    assert open_repository().drafter_records(TARGET) == {
        "starter": RECORD,
        "built-in": DrafterRecord("built-in", step_s=0.002),
    }


def test_a_record_takes_the_place_of_the_one_before(repository: Repository) -> None:
    repository.save_drafter_record(TARGET, DrafterRecord("starter", Guesses(1, 0, 0, 0), 1.0))
    repository.save_drafter_record(TARGET, RECORD)
    assert repository.drafter_records(TARGET) == {"starter": RECORD}


def test_steps_are_known_with_every_target_and_guesses_only_with_theirs(repository: Repository) -> None:
    repository.save_drafter_record(OTHER, RECORD)
    assert repository.drafter_records(TARGET) == {"starter": DrafterRecord("starter", step_s=RECORD.step_s)}
    mine = DrafterRecord("starter", Guesses(10, 5, 5, 1), 0.007)
    repository.save_drafter_record(TARGET, mine)
    repository.save_drafter_record("ff" * 32, DrafterRecord("starter", Guesses(7, 7, 7, 7), 0.5))
    assert repository.drafter_records(TARGET) == {"starter": mine}


@pytest.mark.parametrize("change", ["num_first = 'many'", "first_right = -1", "step_s = 9e999", "next_right = x'00'"])
def test_damaged_rows_are_left_out(repository: Repository, store: Path, change: str) -> None:
    repository.save_drafter_record(TARGET, RECORD)
    repository.save_drafter_record(TARGET, DrafterRecord("built-in", step_s=0.002))
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute(f"UPDATE drafter_figures SET {change} WHERE drafter_key = 'starter'")
    assert set(repository.drafter_records(TARGET)) == {"built-in"}


def test_they_are_forgotten_with_what_was_learned(repository: Repository, data_dir: Path) -> None:
    repository.save_drafter_record(TARGET, DrafterRecord("DERAUNSE", RECORD.guesses, RECORD.step_s))
    repository.forget_learned()
    assert repository.finish_erasure() == ()
    assert repository.drafter_records(TARGET) == {}
    assert b"DERAUNSE" not in b"".join(file.read_bytes() for file in data_dir.iterdir())
