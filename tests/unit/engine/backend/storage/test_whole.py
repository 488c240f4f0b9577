"""All that is learned at once: summed up, carried to another store, joined with what is there, and forgotten."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from engine.backend.storage import Repository
from engine.backend.storage.connections import back_up
from engine.values.conversations import Role
from engine.values.errors import ConversationMissing, StoreUnusable
from engine.values.learned import AdapterRecord, ImportOutcome, Learned, NgramRecord, RecallSize, TargetStatistics
from engine.values.replies import ReplyStatistics, StopReason
from engine.values.targets import TargetSource

from .conftest import OnEveryConnection
from .made import reply_of

TARGET, TOKENIZER, DRAFTER = "7a" * 32, "d0" * 32, "f1" * 32
NGRAM = NgramRecord((5, 6), token=7, count=3, doubts=1, last_use=10)
SECRET = np.frombuffer(b"DERAUNSE", "<i4").astype(np.int32)
ALL = 10**9
NOTHING = Learned({}, {}, {}, ())


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Repository]:
    """A store on another machine."""
    with closing(Repository.open(tmp_path / "other")) as repository:
        yield repository


def statistics(seconds: float = 2.0, plain: float = 10.0, tokens: int = 41) -> ReplyStatistics:
    return ReplyStatistics(
        1, 1, tokens, 1.0, seconds, StopReason.LENGTH, 1, 1, num_rounds=20, num_accepted=20, plain_tokens_per_s=plain
    )


def adapter(weights: bytes, number: int = 1, is_published: bool = False) -> AdapterRecord:
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    return AdapterRecord(number, moment, 2.0, 2.5, 30, 200, is_published, weights)


def teach(repository: Repository) -> int:
    """Something of every kind; the id of its conversation."""
    summary = repository.create_conversation("chat", "")
    prompt = repository.add_message(summary.id, None, Role.USER, "asked")
    reply = repository.add_message(summary.id, prompt.id, Role.ASSISTANT, "text", "tiny", statistics())
    repository.save_ngrams(TARGET, TOKENIZER, [NGRAM])
    repository.save_recall(TARGET, {prompt.id: [1, 2, 3], reply.id: SECRET.tolist()})
    repository.save_lesson(TARGET, reply.id, reply_of(SECRET, [[1], [2]], np.zeros((2, 1))), 10)
    repository.save_adapter(TARGET, DRAFTER, 2.0, 2.5, 30, 200, b"first")
    repository.save_adapter(TARGET, DRAFTER, 2.0, 2.75, 30, 260, b"zweites")
    return summary.id


def texts(repository: Repository, most_tokens: int = ALL) -> list[list[int]]:
    return [text.tokens.tolist() for text in repository.load_recall(TARGET, most_tokens)]


def published(repository: Repository) -> bytes | None:
    found = repository.published_adapter(TARGET, DRAFTER)
    return None if found is None else found.weights


def test_an_empty_store_has_learned_nothing(repository: Repository) -> None:
    learned = repository.summarize_learned()
    assert learned.vocabularies == ()
    assert learned.statistics == ()
    assert repository.load_learned(ALL) == NOTHING


def test_the_summary_tells_how_much_of_what(repository: Repository) -> None:
    teach(repository)
    repository.add_learned(replace(NOTHING, recall={"other": (SECRET, SECRET[:1])}))
    learned = repository.summarize_learned()
    assert learned.ngrams == {(TARGET, TOKENIZER): 1}
    assert learned.adapters == {(TARGET, DRAFTER): repository.list_adapters(TARGET, DRAFTER)}
    assert learned.recall == {TARGET: RecallSize(2, 5, num_chats=1), "other": RecallSize(2, 3)}
    assert learned.lessons == {TARGET: 1}
    assert learned.target_names == {TARGET: ("tiny",)}
    assert learned.used_here == {TARGET}
    assert learned.vocabularies == (TARGET, "other")


def test_statistics_are_of_a_typical_reply_and_leave_out_the_deleted(repository: Repository) -> None:
    kept, gone = (repository.create_conversation(title, "") for title in ("kept", "gone"))
    replies = [statistics(), statistics(seconds=1.0, tokens=41), statistics(seconds=9.0, plain=0.0)]
    for reply in replies:
        repository.add_message(kept.id, None, Role.ASSISTANT, "text", "tiny", reply)
    for name in ("tiny", "gone"):
        repository.add_message(gone.id, None, Role.ASSISTANT, "text", name, statistics())
    repository.add_message(kept.id, None, Role.ASSISTANT, "text", "plain", replace(statistics(plain=0.0), num_rounds=0))
    repository.delete_conversations([gone.id])
    assert repository.summarize_learned().statistics == (
        TargetStatistics("plain", 1, 41, 2.0, tokens_per_round=0.0, speedup=None),
        # 40 passes in 2 s and 40 in 1 s, which would have taken 4 s each: halfway between them
        TargetStatistics("tiny", 3, 123, 12.0, tokens_per_round=2.0, speedup=3.0),
    )


def test_what_one_store_learned_another_knows_then(repository: Repository, other: Repository) -> None:
    teach(repository)
    learned = repository.load_learned(ALL)
    assert other.add_learned(learned) == ImportOutcome(num_ngrams=1, num_adapters=2, num_published=1, num_texts=2)
    assert other.load_ngrams(TARGET, TOKENIZER) == (NGRAM,)
    mine, theirs = (each.list_adapters(TARGET, DRAFTER) for each in (repository, other))
    assert [replace(found, number=0) for found in theirs] == [replace(found, number=0) for found in mine]
    assert published(other) == b"zweites"
    assert texts(other) == [[1, 2, 3], SECRET.tolist()]
    assert other.load_lessons(TARGET) == ()
    assert other.summarize_learned().statistics == (), "they tell of replies that are elsewhere"


def test_targets_keep_their_names_when_what_was_learned_is_forgotten(repository: Repository, tmp_path: Path) -> None:
    """Nobody taught a drafter here: only the library knows what has this vocabulary."""
    for name, identity in (("older", "a"), ("newer", "b"), ("newer copied", "b")):
        path = tmp_path / name
        path.touch()
        repository.remember_target(TargetSource(path, name, 1, identity), TARGET)
    repository.add_target(TargetSource(tmp_path / "c.gguf", "never loaded", 1, "c"))
    for _ in range(2):
        learned = repository.summarize_learned()
        assert learned.target_names == {TARGET: ("newer", "older")}
        assert learned.used_here == {TARGET}
        teach(repository)
        repository.forget_learned()


def test_a_profile_tells_what_its_models_are_called_until_one_is_used_here(
    repository: Repository, other: Repository
) -> None:
    teach(repository)
    other.add_learned(repository.load_learned(ALL))
    learned = other.summarize_learned()
    assert learned.target_names == {TARGET: ("tiny",)}
    assert learned.used_here == frozenset()
    other.remember_target(TargetSource(Path("/mine.gguf"), "mine", 1, "file:m"), TARGET)
    learned = other.summarize_learned()
    assert learned.target_names == {TARGET: ("mine",)}
    assert learned.used_here == {TARGET}
    other.add_learned(NOTHING, replace=True)
    assert other.summarize_learned().target_names == {TARGET: ("mine",)}


def test_a_second_time_nothing_changes_nor_where_it_came_from(repository: Repository, other: Repository) -> None:
    teach(repository)
    learned = repository.load_learned(ALL)
    other.add_learned(learned)
    for store in (repository, other):
        before = store.load_learned(ALL), store.summarize_learned()
        assert store.add_learned(learned) == ImportOutcome(0, 0, 0, 0)
        assert store.load_learned(ALL).adapters == before[0].adapters
        assert store.summarize_learned() == before[1]


def test_joining_adds_up_nothing_and_leaves_in_use_what_is(repository: Repository) -> None:
    repository.save_ngrams(TARGET, TOKENIZER, [NGRAM, replace(NGRAM, string=(8,))])
    repository.save_adapter(TARGET, DRAFTER, 2.0, 2.5, 30, 200, b"own")
    imported = Learned(
        ngrams={(TARGET, TOKENIZER): (replace(NGRAM, count=9), replace(NGRAM, string=(9,)))},
        adapters={(TARGET, DRAFTER): (adapter(b"theirs", is_published=True),), ("x", DRAFTER): (adapter(b"new"),)},
        recall={},
        statistics=(),
    )
    assert repository.add_learned(imported) == ImportOutcome(2, 2, 0, 0)
    counts = {ngram.string: ngram.count for ngram in repository.load_ngrams(TARGET, TOKENIZER)}
    assert counts == {(5, 6): 9, (8,): 3, (9,): 3}
    assert published(repository) == b"own"
    assert [found.is_published for found in repository.list_adapters(TARGET, DRAFTER)] == [False, True]
    assert repository.published_adapter("x", DRAFTER) is None


def test_a_known_adapter_comes_into_use_where_none_is(repository: Repository) -> None:
    repository.save_adapter(TARGET, DRAFTER, 2.0, 2.5, 30, 200, b"own")
    repository.publish_adapter(TARGET, DRAFTER, None)
    imported = replace(NOTHING, adapters={(TARGET, DRAFTER): (adapter(b"own", is_published=True),)})
    assert repository.add_learned(imported) == ImportOutcome(0, 0, 1, 0)
    assert published(repository) == b"own"


def test_replacing_removes_what_a_profile_can_hold_and_leaves_what_belongs_to_chats(
    repository: Repository, data_dir: Path
) -> None:
    conversation_id = teach(repository)
    repository.save_ngrams("x", TOKENIZER, [NGRAM])
    repository.add_learned(replace(NOTHING, recall={"x": (SECRET,)}))
    new = replace(NGRAM, string=(9, 9))
    imported = replace(
        NOTHING,
        ngrams={(TARGET, TOKENIZER): (new,)},
        adapters={(TARGET, DRAFTER): (adapter(b"theirs", is_published=True),)},
    )
    assert repository.add_learned(imported, replace=True) == ImportOutcome(1, 1, 1, 0)
    assert repository.finish_erasure() == ()
    assert repository.load_ngrams(TARGET, TOKENIZER) == (new,)
    assert repository.load_ngrams("x", TOKENIZER) == ()
    assert published(repository) == b"theirs"
    assert len(repository.list_adapters(TARGET, DRAFTER)) == 1
    assert texts(repository) == [[1, 2, 3], SECRET.tolist()]
    assert repository.load_recall("x", ALL) == ()
    assert len(repository.load_lessons(TARGET)) == 1
    assert len(repository.open_conversation(conversation_id).messages) == 2
    assert b"zweites" not in b"".join(file.read_bytes() for file in data_dir.iterdir())


@pytest.mark.parametrize("replacing", [False, True])
def test_where_one_record_is_none_nothing_is_changed(repository: Repository, replacing: bool) -> None:
    teach(repository)
    before = repository.summarize_learned()
    imported = Learned(
        ngrams={("a", TOKENIZER): (NGRAM,)},
        adapters={("b", DRAFTER): (adapter(b"theirs"), replace(adapter(b"more"), after=float("nan")))},
        recall={},
        statistics=(),
    )
    with pytest.raises(ValueError, match="An adapter to be saved"):
        repository.add_learned(imported, replacing)
    assert repository.summarize_learned() == before


def test_imported_texts_count_as_older_than_messages_and_belong_to_no_chat(repository: Repository) -> None:
    repository.add_learned(replace(NOTHING, recall={TARGET: (SECRET[:1], SECRET)}))
    conversation_id = teach(repository)
    found = repository.load_recall(TARGET, ALL)
    assert [text.tokens.tolist() for text in found] == [[*SECRET[:1]], [*SECRET], [1, 2, 3], [*SECRET]]
    numbers = [text.message_id for text in found]
    assert numbers == sorted(numbers)
    assert [text.conversation_id for text in found] == [0, 0, conversation_id, conversation_id]
    assert texts(repository, most_tokens=7) == [[*SECRET], [1, 2, 3], [*SECRET]]
    assert texts(repository, most_tokens=4) == [[*SECRET]]
    assert len(repository.load_recall(TARGET, ALL, conversation_id)) == 2

    repository.delete_conversations([conversation_id])
    repository.purge_deleted()
    assert texts(repository) == [[*SECRET[:1]], [*SECRET]]


def test_texts_that_are_known_are_not_added_again(repository: Repository) -> None:
    teach(repository)
    new = np.array([9], np.int32)
    imported = replace(NOTHING, recall={TARGET: (SECRET, new, new)})
    assert repository.add_learned(imported).num_texts == 1
    assert repository.add_learned(imported).num_texts == 0
    assert texts(repository) == [[9], [1, 2, 3], [*SECRET]]


@pytest.mark.parametrize("damage", ["tokens = x'010203'", "tokens = 'abcd'", "tokens = 7"])
def test_a_damaged_imported_text_is_left_out(repository: Repository, store: Path, damage: str) -> None:
    repository.add_learned(replace(NOTHING, recall={TARGET: (SECRET, SECRET[:1])}))
    with closing(sqlite3.connect(store)) as connection, connection:
        assert connection.execute(f"UPDATE imported_recall SET {damage} WHERE id = 1").rowcount == 1
    assert texts(repository) == [[*SECRET[:1]]]


def test_damage_is_not_taken_along(repository: Repository, store: Path) -> None:
    teach(repository)
    repository.save_recall(TARGET, {1: []})
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE ngrams SET count = 'many'")
        connection.execute("UPDATE adapters SET weights = 7")
        connection.execute("UPDATE recall SET tokens = x'FFFFFFFF' WHERE message_id = 2")
    learned = repository.load_learned(ALL)
    assert (learned.ngrams, learned.adapters, learned.recall) == ({}, {}, {})


def test_recall_is_taken_along_only_as_far_as_it_is_wanted(repository: Repository) -> None:
    teach(repository)
    assert repository.load_learned(0).recall == {}
    ((text,),) = repository.load_learned(2).recall.values()
    assert text.tolist() == SECRET.tolist()


def test_forgetting_takes_all_that_is_learned_from_the_files_and_the_copies_and_leaves_chats(
    repository: Repository, data_dir: Path, store: Path
) -> None:
    conversation_id = teach(repository)
    repository.add_learned(replace(NOTHING, recall={"x": (SECRET,)}))
    backup = back_up(store, "9999")
    assert b"DERAUNSE" in backup.read_bytes()
    for _ in range(2):
        repository.forget_learned()
    assert repository.finish_erasure() == ()
    learned = repository.summarize_learned()
    assert learned.vocabularies == ()
    assert texts(repository) == []
    written = b"".join(file.read_bytes() for file in data_dir.iterdir())
    assert b"DERAUNSE" not in written
    assert b"zweites" not in written
    assert len(repository.open_conversation(conversation_id).messages) == 2
    assert learned.statistics[0].num_replies == 1
    with closing(sqlite3.connect(backup)) as connection:
        for table in ("ngrams", "adapters", "lessons", "recall", "imported_recall"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM messages").fetchone() == (2,)
    teach(repository)
    assert published(repository) == b"zweites"


def test_forgetting_takes_a_copy_from_before_anything_was_learned(repository: Repository, store: Path) -> None:
    teach(repository)
    backup = back_up(store, "9999")
    tables = (
        "adapters",
        "practice",
        "practice_read",
        "scores",
        "lessons",
        "imported_recall",
        "imported_names",
        "recall",
        "vocabularies",
        "ngrams",
        "vocabulary_pairs",
    )
    with closing(sqlite3.connect(backup)) as connection:
        connection.executescript("".join(f"DROP TABLE {table};" for table in tables))
    repository.forget_learned()
    assert repository.finish_erasure() == ()
    assert repository.summarize_learned().vocabularies == ()


def test_locked_store_is_told_in_words_and_keeps_what_it_had(
    open_repository: Callable[[], Repository], on_every_connection: OnEveryConnection, store: Path
) -> None:
    with on_every_connection("PRAGMA busy_timeout = 20"):
        repository = open_repository()
        teach(repository)
    before = repository.summarize_learned()
    imported = replace(NOTHING, ngrams={("x", TOKENIZER): (NGRAM,)})
    with closing(sqlite3.connect(store, isolation_level=None)) as blocker:
        blocker.execute("BEGIN IMMEDIATE")
        for change in (lambda: repository.add_learned(imported, replace=True), repository.forget_learned):
            with pytest.raises(StoreUnusable, match="locked by another program"):
                change()
        assert repository.summarize_learned() == before


def test_forgetting_everything_leaves_no_word_in_the_files_and_the_copies(
    repository: Repository, data_dir: Path, store: Path
) -> None:
    teach(repository)
    chat = repository.create_conversation("ZEILE-title", "ZEILE-system")
    message = repository.add_message(chat.id, None, Role.USER, "ZEILE-text " * 500)
    repository.add_message(chat.id, message.id, Role.ASSISTANT, "ZEILE-reply")
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE conversations SET draft = 'ZEILE-unsent'")
        connection.execute("INSERT INTO learning_days VALUES ('2026-01-31', 7.0)")
    repository.delete_conversations([chat.id])
    repository.remember_target(TargetSource(Path("/tiny.gguf"), "tiny"))
    secret = repository.create_conversation("incognito", "", incognito=True)
    backup = back_up(store, "9999")
    assert b"ZEILE-unsent" in backup.read_bytes()
    assert repository.forget_everything() == 3
    assert repository.forget_everything() == 0
    assert repository.finish_erasure() == ()
    assert repository.list_conversations() == ()
    with pytest.raises(ConversationMissing):
        repository.open_conversation(secret.id)
    assert repository.summarize_learned().vocabularies == ()
    written = b"".join(file.read_bytes() for file in data_dir.iterdir())
    assert b"ZEILE" not in written
    assert b"DERAUNSE" not in written
    assert not backup.exists()
    with closing(sqlite3.connect(store)) as connection:
        for table in ("conversations", "messages", "adapters", "lessons", "recall", "learning_days"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    assert [target.name for target in repository.list_targets()] == ["tiny"]
    assert repository.create_conversation("new", "").id > chat.id


def test_threads_of_one_process_wait_for_each_other_longer_than_for_others(
    open_repository: Callable[[], Repository], on_every_connection: OnEveryConnection
) -> None:
    with on_every_connection("PRAGMA busy_timeout = 1"):
        repository = open_repository()
        with repository._writing():
            other = threading.Thread(target=repository.create_conversation, args=("chat", ""))
            other.start()
            other.join(0.2)
            assert other.is_alive()
        other.join()
    assert len(repository.list_conversations()) == 1
