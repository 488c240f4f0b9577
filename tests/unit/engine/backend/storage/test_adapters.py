"""Adapters: numbered, one of a pair in use, an earlier one can be taken again, and all of them can be forgotten."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.backend.storage import Repository
from engine.backend.storage.learned import MOST_ADAPTERS
from engine.values.conversations import Role
from engine.values.errors import AdapterUnusable, StoreUnusable
from engine.values.learned import AdapterSummary, CandidateRecord, Gain

from .conftest import OnEveryConnection

TARGET, DRAFTER = "7a" * 32, "d0" * 32
SECRET = b"DERAUNSE"

SAVE_FOREVER = """
import sys
from pathlib import Path
from engine.backend.storage import Repository
from engine.backend.storage.learned import MOST_ADAPTERS

repository = Repository.open(Path(sys.argv[1]))
while True:
    print(repository.save_adapter("target", "drafter", 2.0, 2.5, 30, 200, bytes(200_000)).number, flush=True)
"""


def save(
    repository: Repository,
    weights: bytes = b"weights",
    pair: tuple[str, str] = (TARGET, DRAFTER),
    most: int = 8,
    after: float = 2.5,
) -> AdapterSummary:
    return repository.save_adapter(*pair, 2.0, after, 30, 200, weights, most)


def in_use(repository: Repository, pair: tuple[str, str] = (TARGET, DRAFTER)) -> int | None:
    adapter = repository.published_adapter(*pair)
    published = [summary.number for summary in repository.list_adapters(*pair) if summary.is_published]
    assert published == ([] if adapter is None else [adapter.number])
    return None if adapter is None else adapter.number


def numbers(repository: Repository, pair: tuple[str, str] = (TARGET, DRAFTER)) -> list[int]:
    return [summary.number for summary in repository.list_adapters(*pair)]


def written(data_dir: Path) -> bytes:
    return b"".join(file.read_bytes() for file in data_dir.iterdir())


def test_an_adapter_comes_back_as_it_was_saved(open_repository: Callable[[], Repository]) -> None:
    saved = open_repository().save_adapter(TARGET, DRAFTER, 2.0, 2.53125, 30, 200, b"\x00weights\xff")
    repository = open_repository()
    adapter = repository.published_adapter(TARGET, DRAFTER)
    assert adapter is not None
    assert adapter.weights == b"\x00weights\xff"
    assert (adapter.before, adapter.after, adapter.num_replies, adapter.num_learned) == (2.0, 2.53125, 30, 200)
    assert adapter.is_published
    assert timedelta() <= datetime.now(UTC) - adapter.created_at < timedelta(minutes=5)
    assert repository.list_adapters(TARGET, DRAFTER) == (saved,)
    assert "weights" not in repr(adapter), "no log is flooded"


def test_a_new_one_is_used_instead_of_the_one_before(repository: Repository) -> None:
    assert in_use(repository) is None
    first = save(repository)
    second = save(repository, after=2.75)
    assert second.number > first.number
    assert in_use(repository) == second.number
    assert [(each.number, each.after) for each in repository.list_adapters(TARGET, DRAFTER)] == [
        (second.number, 2.75),
        (first.number, 2.5),
    ]


def test_an_earlier_one_can_be_taken_again_and_none(repository: Repository) -> None:
    first, second = save(repository, b"first"), save(repository, b"second")
    repository.publish_adapter(TARGET, DRAFTER, first.number)
    adapter = repository.published_adapter(TARGET, DRAFTER)
    assert adapter is not None
    assert (adapter.number, adapter.weights) == (first.number, b"first")
    repository.publish_adapter(TARGET, DRAFTER, None)
    assert in_use(repository) is None
    assert numbers(repository) == [second.number, first.number]
    repository.publish_adapter(TARGET, DRAFTER, second.number)
    assert in_use(repository) == second.number


def test_each_pair_has_its_own(repository: Repository) -> None:
    pairs = [(TARGET, DRAFTER), (TARGET, "other"), ("other", DRAFTER), (DRAFTER, TARGET)]
    saved = [save(repository, pair=pair).number for pair in pairs]
    assert [in_use(repository, pair) for pair in pairs] == saved
    repository.publish_adapter(*pairs[1], None)
    assert [in_use(repository, pair) for pair in pairs] == [saved[0], None, *saved[2:]]
    assert [numbers(repository, pair) for pair in pairs] == [[number] for number in saved]


def test_a_number_that_is_not_there_changes_nothing(repository: Repository) -> None:
    mine, others = save(repository).number, save(repository, pair=(TARGET, "other")).number
    for absent in (others, 999, -1, 0, 2**70):
        with pytest.raises(AdapterUnusable, match=rf"^Adapter {absent} no longer exists; choose another one"):
            repository.publish_adapter(TARGET, DRAFTER, absent)
    assert in_use(repository) == mine


def test_the_latest_are_kept_and_the_one_in_use(repository: Repository) -> None:
    saved = [save(repository, most=3).number for _ in range(5)]
    assert numbers(repository) == saved[:1:-1]
    repository.publish_adapter(TARGET, DRAFTER, saved[2])
    other = save(repository, pair=(TARGET, "other"), most=3).number
    latest = save(repository, most=0).number
    assert numbers(repository) == [latest]
    assert numbers(repository, (TARGET, "other")) == [other]


def test_adapters_are_counted_for_each_target(repository: Repository) -> None:
    for _ in range(4):
        save(repository, most=2)
    other = save(repository, pair=("other", DRAFTER))
    assert other.number == 5
    assert [each.ordinal for each in repository.list_adapters("other", DRAFTER)] == [other.ordinal] == [1]
    kept = repository.list_adapters(TARGET, DRAFTER)
    assert [each.ordinal for each in kept] == [4, 3], "also when the first are gone"
    assert save(repository, pair=(TARGET, "another drafter")).ordinal == 5


def test_numbers_are_never_given_twice(open_repository: Callable[[], Repository]) -> None:
    repository = open_repository()
    seen = set()
    for _ in range(3):
        seen.add(save(repository).number)
        repository.forget_learned()
        repository.close()
        repository = open_repository()
    assert len(seen) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"before": float("nan")},
        {"after": float("inf")},
        {"after": -0.5},
        {"num_replies": -1},
        {"num_learned": 2**63},
        {"weights": b""},
    ],
)
def test_figures_that_are_none_are_refused(repository: Repository, wrong: dict[str, float | bytes]) -> None:
    mine = save(repository).number
    figures = {"before": 2.0, "after": 2.5, "num_replies": 30, "num_learned": 200, "weights": b"weights"} | wrong
    with pytest.raises(ValueError, match="An adapter to be saved has"):
        repository.save_adapter(TARGET, DRAFTER, **figures)  # type: ignore[arg-type]
    assert in_use(repository) == mine
    assert numbers(repository) == [mine]


@pytest.mark.parametrize(
    "damage",
    [
        "created_at = 'yesterday'",
        "created_at = 7",
        "accepted_before = 'few'",
        "accepted_before = -0.5",
        "accepted_after = 9e999",
        "num_replies = -1",
        "num_replies = 0.5",
        "num_learned = x'00'",
        "is_published = 2",
        "is_published = 'yes'",
        "weights = x''",
        "weights = 'abcd'",
        "weights = 7",
        "error = -1.0",
        "error = 'none'",
        "num_chats = -1",
        "num_tokens = 'many'",
    ],
)
def test_damaged_row_is_left_out(repository: Repository, store: Path, damage: str) -> None:
    first, second = save(repository).number, save(repository).number
    with closing(sqlite3.connect(store)) as connection, connection:
        assert connection.execute(f"UPDATE adapters SET {damage} WHERE id = {second}").rowcount == 1
    assert numbers(repository) == [first]
    assert repository.published_adapter(TARGET, DRAFTER) is None
    repository.publish_adapter(TARGET, DRAFTER, first)
    assert in_use(repository) == first


GAIN = Gain(0.9, 1.1, 0.03, 12, 7, 1800)
CANDIDATE = CandidateRecord(None, 8, 5, 5, (0.25, 1.5, 3.0), b"\x00candidate\xff")


def test_what_the_adapter_in_use_brings_is_kept_up_to_date(open_repository: Callable[[], Repository]) -> None:
    repository = open_repository()
    first, second = save(repository).number, save(repository).number
    repository.note_trial(TARGET, DRAFTER, GAIN, 9, (1.0,))
    kept = open_repository().published_adapter(TARGET, DRAFTER)
    assert kept is not None
    assert (kept.number, kept.gain) == (second, GAIN)
    others = {each.number: each for each in repository.list_adapters(TARGET, DRAFTER)}
    assert others[first].num_tokens == 0
    with pytest.raises(ValueError, match="An adapter to be saved has"):
        repository.note_trial(TARGET, DRAFTER, replace(GAIN, error=float("nan")), 9, (1.0,))


def test_the_candidate_comes_back_with_what_is_known_of_it(open_repository: Callable[[], Repository]) -> None:
    repository = open_repository()
    repository.note_trial(TARGET, DRAFTER, GAIN, 9, (2.0, 1.0))
    assert repository.candidate(TARGET, DRAFTER) is None
    repository.save_candidate(TARGET, DRAFTER, CANDIDATE)
    repository.note_trial(TARGET, DRAFTER, GAIN, 9, (2.0, 1.0))
    found = open_repository().candidate(TARGET, DRAFTER)
    assert found == replace(CANDIDATE, scored_until=9, capital=(2.0, 1.0))
    mine = save(repository).number
    assert repository.candidate(TARGET, DRAFTER) is None, "another adapter is in use than it came from"
    repository.save_candidate(TARGET, DRAFTER, replace(CANDIDATE, adapter=mine))
    assert repository.candidate(TARGET, DRAFTER) == replace(CANDIDATE, adapter=mine)
    with pytest.raises(ValueError, match="A candidate to be saved"):
        repository.save_candidate(TARGET, DRAFTER, replace(CANDIDATE, capital=(float("nan"),)))
    repository.forget_learned()
    assert repository.candidate(TARGET, DRAFTER) is None


@pytest.mark.parametrize("damage", ["capital = 'none'", "capital = 7", "scored_until = 'all'", "weights = 3"])
def test_a_damaged_candidate_is_left_out(repository: Repository, store: Path, damage: str) -> None:
    repository.save_candidate(TARGET, DRAFTER, CANDIDATE)
    with closing(sqlite3.connect(store)) as connection, connection:
        assert connection.execute(f"UPDATE candidates SET {damage}").rowcount == 1
    assert repository.candidate(TARGET, DRAFTER) is None


def test_deleting_conversations_keeps_adapters(repository: Repository) -> None:
    summary = repository.create_conversation("gone", "")
    repository.add_message(summary.id, None, Role.ASSISTANT, "text")
    mine = save(repository).number
    repository.delete_conversations([summary.id])
    repository.purge_deleted()
    assert in_use(repository) == mine


def test_locked_store_is_told_in_words_and_keeps_what_it_had(
    open_repository: Callable[[], Repository], on_every_connection: OnEveryConnection, store: Path
) -> None:
    with on_every_connection("PRAGMA busy_timeout = 20"):
        repository = open_repository()
        first, second = save(repository).number, save(repository).number
    with closing(sqlite3.connect(store, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for change in (lambda: save(repository), lambda: repository.publish_adapter(TARGET, DRAFTER, first)):
            with pytest.raises(StoreUnusable, match="locked by another program"):
                change()
        assert in_use(repository) == second


def test_after_a_kill_exactly_one_is_in_use_and_none_is_lost(
    data_dir: Path, open_repository: Callable[[], Repository]
) -> None:
    command = [sys.executable, "-c", SAVE_FOREVER, str(data_dir)]
    for _ in range(3):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            told = [int(process.stdout.readline()) for _ in range(12)]
            process.kill()
            told += [int(line) for line in process.stdout if line.endswith("\n")]
        repository = open_repository()
        kept = numbers(repository, ("target", "drafter"))
        assert len(kept) == MOST_ADAPTERS
        assert kept[0] in (told[-1], told[-1] + 1)  # the last may have been committed, and not told
        assert in_use(repository, ("target", "drafter")) == kept[0]
