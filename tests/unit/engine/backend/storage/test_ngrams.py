from __future__ import annotations

import os
import sqlite3
import struct
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.backend.storage import Repository
from engine.backend.storage.ngrams import changes_by
from engine.backend.storage.schema import NgramRow
from engine.values.conversations import Role
from engine.values.errors import StoreUnusable
from engine.values.learned import NgramRecord

from .conftest import OnEveryConnection

TARGET, DRAFTER = "7a" * 32, "d0" * 32
FIRST = NgramRecord((5, 2**31 - 1), token=128_000, count=3, doubts=1, last_use=2**40)
SECOND = NgramRecord((5,), token=0, count=1, doubts=0, last_use=0)
SECRET = NgramRecord((0x41524544, 0x45534E55), token=1, count=1, doubts=0, last_use=0)  # b"DERAUNSE" in the file


def by_string(ngrams: Sequence[NgramRecord]) -> dict[tuple[int, ...], NgramRecord]:
    found = {ngram.string: ngram for ngram in ngrams}
    assert len(found) == len(ngrams)
    return found


def load(repository: Repository) -> set[NgramRecord]:
    return set(repository.load_ngrams(TARGET, DRAFTER))


def written(data_dir: Path) -> bytes:
    return b"".join(file.read_bytes() for file in data_dir.iterdir())


def test_ngrams_come_back_as_they_were_saved(open_repository: Callable[[], Repository]) -> None:
    open_repository().save_ngrams(TARGET, DRAFTER, [FIRST, SECOND])
    assert load(open_repository()) == {FIRST, SECOND}


def test_every_field_has_its_column() -> None:
    columns = [column.name for column in NgramRow.__table__.columns]
    assert columns == ["pair_id", *(field.name for field in fields(NgramRecord))]


def test_unknown_pair_has_none_and_asking_leaves_no_trace(repository: Repository, store: Path) -> None:
    assert repository.load_ngrams(TARGET, DRAFTER) == ()
    repository.save_ngrams(TARGET, DRAFTER, [])
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT count(*) FROM vocabulary_pairs").fetchone() == (0,)


def test_saving_replaces_adds_and_leaves_the_others(repository: Repository) -> None:
    repository.save_ngrams(TARGET, DRAFTER, [FIRST, SECOND])
    changed, new = replace(FIRST, token=7, count=4, doubts=2, last_use=9), replace(SECOND, string=(6,))
    repository.save_ngrams(TARGET, DRAFTER, [changed, new])
    assert load(repository) == {changed, SECOND, new}


def test_count_of_none_removes(repository: Repository) -> None:
    repository.save_ngrams(TARGET, DRAFTER, [FIRST, SECOND])
    unknown = NgramRecord((9, 9), token=1, count=0, doubts=0, last_use=0)
    repository.save_ngrams(TARGET, DRAFTER, [replace(FIRST, count=0), unknown])
    assert load(repository) == {SECOND}


def test_later_record_of_the_same_string_counts(repository: Repository) -> None:
    gone, changed = replace(FIRST, count=0), replace(FIRST, count=8)
    repository.save_ngrams(TARGET, DRAFTER, [FIRST, gone, changed, SECOND, replace(SECOND, count=0)])
    assert load(repository) == {changed}


def test_each_pair_of_vocabularies_has_its_own(repository: Repository) -> None:
    pairs = [(TARGET, DRAFTER), (TARGET, "other"), ("other", DRAFTER), (DRAFTER, TARGET)]
    for count, pair in enumerate(pairs, start=1):
        repository.save_ngrams(*pair, [replace(FIRST, count=count)])
    repository.save_ngrams(*pairs[1], [replace(FIRST, count=0)])
    counts = [[ngram.count for ngram in repository.load_ngrams(*pair)] for pair in pairs]
    assert counts == [[1], [], [3], [4]]


@pytest.mark.parametrize(
    "wrong",
    [
        replace(SECOND, string=()),
        replace(SECOND, string=(-1,)),
        replace(SECOND, string=(2**31,)),
        replace(SECOND, token=-1),
        replace(SECOND, token=2**31),
        replace(SECOND, count=-1),
        replace(SECOND, doubts=-1),
        replace(SECOND, last_use=-1),
        replace(SECOND, last_use=2**63),
    ],
)
def test_record_that_is_none_is_refused_with_all_others(repository: Repository, wrong: NgramRecord) -> None:
    with pytest.raises(ValueError, match="An n-gram to be saved has"):
        repository.save_ngrams(TARGET, DRAFTER, [FIRST, wrong])
    assert repository.load_ngrams(TARGET, DRAFTER) == ()


@pytest.mark.parametrize(
    "damage",
    [
        "string = x'010203'",
        "string = x''",
        "string = x'01000000FFFFFFFF'",
        "string = 'abcd'",
        "string = CAST(x'ff000000' AS TEXT)",
        "token = -1",
        "token = 2147483648",
        "token = x'00'",
        "count = -3",
        "count = 0",
        "count = 'many'",
        "doubts = -1",
        "doubts = 0.5",
        "last_use = -1",
        "last_use = 'today'",
    ],
)
def test_damaged_row_is_left_out(repository: Repository, store: Path, damage: str) -> None:
    repository.save_ngrams(TARGET, DRAFTER, [FIRST, SECOND])
    with closing(sqlite3.connect(store)) as connection, connection:
        changed = connection.execute(f"UPDATE ngrams SET {damage} WHERE string = ?", (struct.pack("<i", 5),))
        assert changed.rowcount == 1
    assert load(repository) == {FIRST}


def test_strings_are_little_endian_in_the_file(repository: Repository, store: Path) -> None:
    repository.save_ngrams(TARGET, DRAFTER, [replace(SECOND, string=(1, 256))])
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT string FROM ngrams").fetchall() == [(bytes([1, 0, 0, 0, 0, 1, 0, 0]),)]


def test_deleting_conversations_keeps_ngrams(repository: Repository) -> None:
    summary = repository.create_conversation("gone", "")
    repository.add_message(summary.id, None, Role.ASSISTANT, "text")
    repository.save_ngrams(TARGET, DRAFTER, [FIRST])
    repository.delete_conversations([summary.id])
    repository.purge_deleted()
    assert load(repository) == {FIRST}


def test_locked_store_is_told_in_words_and_keeps_what_it_had(
    open_repository: Callable[[], Repository], on_every_connection: OnEveryConnection, store: Path
) -> None:
    with on_every_connection("PRAGMA busy_timeout = 20"):
        repository = open_repository()
        repository.save_ngrams(TARGET, DRAFTER, [FIRST])
    with closing(sqlite3.connect(store, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnusable, match="locked by another program"):
            repository.save_ngrams(TARGET, DRAFTER, [SECOND])
        assert load(repository) == {FIRST}


def test_ngrams_are_saved_beside_messages_and_never_seen_half(repository: Repository) -> None:
    summary = repository.create_conversation("chat", "")
    start, done = threading.Barrier(4), threading.Event()

    def save(drafter: str) -> None:
        start.wait()
        for count in range(1, 41):
            same = [NgramRecord((token,), token, count, doubts=0, last_use=count) for token in range(50)]
            repository.save_ngrams(TARGET, drafter, same)

    def add() -> None:
        start.wait()
        for number in range(40):
            repository.add_message(summary.id, None, Role.USER, f"text {number}")

    def look() -> list[set[int]]:
        seen = []
        start.wait()
        while not done.is_set():
            seen.append({ngram.count for ngram in repository.load_ngrams(TARGET, DRAFTER)})
        return seen

    with ThreadPoolExecutor(4) as pool:
        looking = pool.submit(look)
        writing = [pool.submit(save, DRAFTER), pool.submit(save, "other"), pool.submit(add)]
        try:
            for future in writing:
                future.result()
        finally:
            done.set()
        seen = looking.result()
    assert all(len(counts) <= 1 for counts in seen)
    for drafter in (DRAFTER, "other"):
        assert {ngram.count for ngram in repository.load_ngrams(TARGET, drafter)} == {40}


counters = st.integers(0, 2**63 - 1)
tokens = st.integers(0, 2**31 - 1)
ngram_records = st.builds(
    NgramRecord,
    string=st.lists(tokens | st.integers(0, 3), min_size=1, max_size=40).map(tuple),
    token=tokens,
    count=counters | st.just(0),
    doubts=counters,
    last_use=counters,
)


@settings(
    max_examples=200 if os.environ.get("CI") else 40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # every example begins by forgetting
)
@given(saves=st.lists(st.lists(ngram_records, max_size=8), max_size=4))
def test_store_agrees_with_a_plain_dictionary(repository: Repository, saves: list[list[NgramRecord]]) -> None:
    repository.forget_learned()
    expected: dict[tuple[int, ...], NgramRecord] = {}
    for changed in saves:
        repository.save_ngrams(TARGET, DRAFTER, changed)
        for record in changed:
            expected[record.string] = record
    kept = {string: record for string, record in expected.items() if record.count}
    assert by_string(repository.load_ngrams(TARGET, DRAFTER)) == kept


OWN = NgramRecord((1, 2), token=7, count=5, doubts=2, last_use=100)


def joined(imported: Sequence[NgramRecord], own: Sequence[NgramRecord]) -> dict[tuple[int, ...], NgramRecord]:
    return {ngram.string: ngram for ngram in (*own, *changes_by(imported, own))}


def test_of_one_token_the_larger_counts_stand() -> None:
    (changed,) = changes_by([replace(OWN, count=9, doubts=1)], [OWN])
    assert changed == replace(OWN, count=9)


def test_what_is_not_known_is_added_and_what_is_known_stays() -> None:
    new = replace(OWN, string=(3,), last_use=100)
    assert changes_by([new, OWN], [OWN]) == [new]
    assert changes_by([], [OWN]) == []


def test_whose_token_a_string_is_the_larger_count_decides_and_a_draw_leaves_it() -> None:
    other = replace(OWN, token=8)
    assert changes_by([replace(other, count=5)], [OWN]) == []
    assert changes_by([replace(other, count=6, doubts=0)], [OWN]) == [replace(other, count=6, doubts=0)]


def test_the_latest_use_of_both_is_now() -> None:
    own = [OWN, replace(OWN, string=(9,), last_use=1000)]
    imported = [replace(OWN, string=(3,), last_use=40), replace(OWN, string=(4,), last_use=50)]
    assert [ngram.last_use for ngram in changes_by(imported, own)] == [990, 1000]
    far_ahead = [replace(OWN, string=(3,), last_use=2**40), replace(OWN, string=(4,), last_use=5)]
    assert [ngram.last_use for ngram in changes_by(far_ahead, own)] == [1000, 0]
    assert changes_by(imported, []) == imported


ngrams = st.lists(
    st.builds(
        NgramRecord,
        string=st.lists(st.integers(0, 2), min_size=1, max_size=2).map(tuple),
        token=st.integers(0, 2),
        count=st.integers(1, 5),
        doubts=st.integers(0, 5),
        last_use=st.integers(0, 20),
    ),
    max_size=8,
    unique_by=lambda ngram: ngram.string,
)


@given(imported=ngrams, own=ngrams)
def test_a_second_time_nothing_changes(imported: list[NgramRecord], own: list[NgramRecord]) -> None:
    after = joined(imported, own)
    assert changes_by(imported, list(after.values())) == []
    assert changes_by(own, own) == []


@given(imported=ngrams, own=ngrams)
def test_nothing_is_lost_and_nothing_is_made_up(imported: list[NgramRecord], own: list[NgramRecord]) -> None:
    after = joined(imported, own)
    assert set(after) == {ngram.string for ngram in (*imported, *own)}
    for string, ngram in after.items():
        both = [each for each in (*imported, *own) if each.string == string]
        assert ngram.count == max(each.count for each in both)
        assert ngram.token in {each.token for each in both if each.count == ngram.count}
