from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from engine.backend.storage import Repository
from engine.values.conversations import Role
from engine.values.errors import ConversationMissing


def test_new_store_holds_nothing(repository: Repository) -> None:
    assert repository.list_conversations() == ()
    assert repository.list_targets() == ()
    assert repository.load_ngrams("target", "drafter") == ()


def test_last_used_conversation_is_listed_first(repository: Repository) -> None:
    first = repository.create_conversation("first", "")
    second = repository.create_conversation("second", "")
    assert repository.list_conversations() == (second, first)
    repository.add_message(first.id, None, Role.USER, "again")
    assert [summary.title for summary in repository.list_conversations()] == ["first", "second"]


def test_new_title_is_not_use(repository: Repository) -> None:
    first = repository.create_conversation("first", "")
    second = repository.create_conversation("second", "")
    renamed = repository.rename_conversation(first.id, "renamed")
    assert renamed.updated_at == first.updated_at
    assert repository.list_conversations() == (second, renamed)


def test_times_are_aware_and_utc_after_reopening(open_repository: Callable[[], Repository]) -> None:
    before = datetime.now(UTC)
    summary = open_repository().create_conversation("now", "")
    (read,) = open_repository().list_conversations()
    assert read == summary
    assert read.updated_at.utcoffset() == timedelta(0)
    assert before <= read.updated_at <= datetime.now(UTC)


def test_a_text_of_any_length_is_read_as_it_was_written(repository: Repository) -> None:
    chat = repository.create_conversation("long", "")
    text = "aé漢😀\0" * 400_000
    repository.add_message(chat.id, None, Role.USER, text)
    (message,) = repository.open_conversation(chat.id).messages
    assert message.text == text


def test_system_prompt_is_kept(repository: Repository) -> None:
    summary = repository.create_conversation("poet", "Answer in rhymes.\n")
    assert repository.open_conversation(summary.id).system_prompt == "Answer in rhymes.\n"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("  spaces  ", "spaces"),
        ("two\nlines\r\nor three", "two lines or three"),
        ("", "New chat"),
        (" \n\t ", "New chat"),
        ("x" * 300, "x" * 200),
        ("half a pair \ud83d", "half a pair \ufffd"),
        ("Грüße 😀", "Грüße 😀"),
    ],
)
def test_title_is_one_short_line(repository: Repository, given: str, kept: str) -> None:
    assert repository.create_conversation(given, "").title == kept
    other = repository.create_conversation("other", "")
    assert repository.rename_conversation(other.id, given).title == kept
    assert {summary.title for summary in repository.list_conversations()} == {kept}


def test_deleted_conversation_is_hidden_until_restored(repository: Repository) -> None:
    summary = repository.create_conversation("hidden", "")
    message = repository.add_message(summary.id, None, Role.USER, "still here")
    (used,) = repository.list_conversations()

    assert repository.delete_conversations([summary.id]) == (used,)
    assert repository.list_conversations() == ()
    with pytest.raises(ConversationMissing):
        repository.open_conversation(summary.id)
    with pytest.raises(ConversationMissing):
        repository.rename_conversation(summary.id, "other")

    assert repository.restore_conversations([summary.id]) == (used,)
    assert repository.list_conversations() == (used,)
    assert repository.open_conversation(summary.id).messages == (message,)


def test_deleting_and_restoring_twice_changes_nothing_more(repository: Repository) -> None:
    summary = repository.create_conversation("twice", "")
    for _ in range(2):
        assert repository.delete_conversations([summary.id]) == (summary,)
    for _ in range(2):
        assert repository.restore_conversations([summary.id]) == (summary,)
    assert repository.list_conversations() == (summary,)


def test_deleted_conversation_takes_the_reply_that_was_being_written(repository: Repository) -> None:
    summary = repository.create_conversation("late", "")
    prompt = repository.add_message(summary.id, None, Role.USER, "question")
    repository.delete_conversations([summary.id])
    reply = repository.add_message(summary.id, prompt.id, Role.ASSISTANT, "answer")
    assert repository.list_conversations() == ()
    repository.restore_conversations([summary.id])
    assert repository.open_conversation(summary.id).messages == (prompt, reply)


@pytest.mark.parametrize("unknown", [0, -1, 7, 2**63 - 1, 2**63, 2**80, -(2**80)])
def test_unknown_conversation_is_missing(repository: Repository, unknown: int) -> None:
    repository.create_conversation("known", "")
    calls: list[Callable[[], object]] = [
        lambda: repository.open_conversation(unknown),
        lambda: repository.rename_conversation(unknown, "title"),
        lambda: repository.delete_conversations([unknown]),
        lambda: repository.restore_conversations([unknown]),
        lambda: repository.add_message(unknown, None, Role.USER, "text"),
    ]
    for call in calls:
        with pytest.raises(ConversationMissing, match=r"^This chat no longer exists\.$"):
            call()
