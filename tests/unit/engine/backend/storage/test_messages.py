from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event

from engine.backend.storage import Repository
from engine.backend.storage.columns import MOST_READ_BYTES
from engine.backend.storage.schema import ReplyProposerRow, ReplyStatisticsRow
from engine.values.conversations import Message, Role
from engine.values.errors import ConversationMissing
from engine.values.replies import OriginRun, ProposerCounts, ReplyStatistics, StopReason

STATISTICS = ReplyStatistics(
    prompt_tokens=11,
    evaluated_tokens=7,
    reply_tokens=42,
    prompt_s=0.1 + 0.2,
    reply_s=1 / 3,
    stop_reason=StopReason.CONTEXT_FULL,
    context_used=53,
    context_size=8192,
    left_out_messages=3,
    num_rounds=19,
    num_drafted=40,
    num_accepted=23,
    origins=(OriginRun(3, "target"), OriginRun(1, "a later proposer")),
    proposers=(ProposerCounts("a later proposer", 12, 30, 20), ProposerCounts("recall", 7, 10, 3)),
)


def test_messages_come_back_as_they_were_added(open_repository: Callable[[], Repository]) -> None:
    repository = open_repository()
    summary = repository.create_conversation("chat", "")
    prompt = repository.add_message(summary.id, None, Role.USER, "What is\nslip?")
    reply = repository.add_message(summary.id, prompt.id, Role.ASSISTANT, "Air.", "tiny", STATISTICS)
    assert reply.statistics == STATISTICS
    assert reply.target_name == "tiny"

    read = open_repository().open_conversation(summary.id)
    assert read.messages == (prompt, reply)
    assert read.summary.updated_at == reply.created_at
    assert isinstance(read.messages[1].role, Role)


@pytest.mark.parametrize("reason", StopReason)
def test_every_stop_reason_is_kept(repository: Repository, reason: StopReason) -> None:
    summary = repository.create_conversation("chat", "")
    statistics = ReplyStatistics(1, 1, 0, 0.0, 0.0, reason, 1, 1)
    repository.add_message(summary.id, None, Role.ASSISTANT, "", "tiny", statistics)
    assert repository.open_conversation(summary.id).messages[0].statistics == statistics


def test_every_statistic_has_its_column() -> None:
    columns = [column.name for column in ReplyStatisticsRow.__table__.columns]
    assert [*columns, "proposers"] == ["message_id", *(field.name for field in fields(ReplyStatistics))]
    columns = [column.name for column in ReplyProposerRow.__table__.columns]
    assert columns == ["message_id", *(field.name for field in fields(ProposerCounts))]


def test_conversation_without_messages_is_empty(repository: Repository) -> None:
    summary = repository.create_conversation("chat", "")
    read = repository.open_conversation(summary.id)
    assert read.messages == ()
    assert read.summary == summary


def test_regenerating_begins_a_branch_and_keeps_the_old_one(repository: Repository, store: Path) -> None:
    summary = repository.create_conversation("chat", "")
    prompt = repository.add_message(summary.id, None, Role.USER, "question")
    first = repository.add_message(summary.id, prompt.id, Role.ASSISTANT, "first answer")
    second = repository.add_message(summary.id, prompt.id, Role.ASSISTANT, "second answer")
    assert repository.open_conversation(summary.id).messages == (prompt, second)

    with closing(sqlite3.connect(store)) as connection:
        kept = connection.execute("SELECT id, text FROM messages WHERE parent_id = ?", (prompt.id,)).fetchall()
    assert kept == [(first.id, "first answer"), (second.id, "second answer")]


def test_writing_under_an_older_message_leads_back_to_its_branch(repository: Repository) -> None:
    summary = repository.create_conversation("chat", "")
    prompt = repository.add_message(summary.id, None, Role.USER, "question")
    first = repository.add_message(summary.id, prompt.id, Role.ASSISTANT, "first answer")
    repository.add_message(summary.id, prompt.id, Role.ASSISTANT, "second answer")
    more = repository.add_message(summary.id, first.id, Role.USER, "more")
    assert repository.open_conversation(summary.id).messages == (prompt, first, more)


def test_edited_first_prompt_is_a_second_root(repository: Repository) -> None:
    summary = repository.create_conversation("chat", "")
    repository.add_message(summary.id, None, Role.USER, "qestion")
    edited = repository.add_message(summary.id, None, Role.USER, "question")
    assert repository.open_conversation(summary.id).messages == (edited,)


def test_parent_of_another_conversation_is_refused(repository: Repository) -> None:
    here, there = (repository.create_conversation(title, "") for title in ("here", "there"))
    foreign = repository.add_message(there.id, None, Role.USER, "there")
    listed = repository.list_conversations()
    for parent_id in (foreign.id, 99, 0, -1, 2**70):
        with pytest.raises(ConversationMissing, match=r"^This message no longer exists\.$"):
            repository.add_message(here.id, parent_id, Role.USER, "here")
    assert repository.open_conversation(here.id).messages == ()
    assert repository.list_conversations() == listed


def test_long_conversation_is_opened_with_a_few_statements(repository: Repository) -> None:
    summary = repository.create_conversation("long", "")
    messages: list[Message] = []
    for number in range(100):
        parent_id = messages[-1].id if messages else None
        role, statistics = (Role.ASSISTANT, STATISTICS) if number % 2 else (Role.USER, None)
        messages.append(repository.add_message(summary.id, parent_id, role, f"text {number}", None, statistics))

    statements = []

    def note(*seen: object) -> None:
        statements.append(seen[2])

    event.listen(Engine, "before_cursor_execute", note)
    try:
        read = repository.open_conversation(summary.id)
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert read.messages == tuple(messages)
    assert len(statements) <= 4  # BEGIN, the conversation, its branch, what stands beside that


def test_circle_in_a_damaged_file_comes_to_an_end(repository: Repository, store: Path) -> None:
    summary = repository.create_conversation("circle", "")
    first = repository.add_message(summary.id, None, Role.USER, "first")
    second = repository.add_message(summary.id, first.id, Role.USER, "second")
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE messages SET parent_id = ? WHERE id = ?", (second.id, first.id))
    assert len(repository.open_conversation(summary.id).messages) == 2


@settings(
    max_examples=200 if os.environ.get("CI") else 60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # the store grows on, which does no harm
)
@given(text=st.text(alphabet=st.characters(), max_size=200))  # surrogates and NUL included
def test_any_text_comes_back_with_only_lone_surrogates_replaced(repository: Repository, text: str) -> None:
    expected = "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    summary = repository.create_conversation(text, text)
    added = repository.add_message(summary.id, None, Role.USER, text, text)
    read = repository.open_conversation(summary.id)
    assert added.text == added.target_name == read.system_prompt == expected
    assert read.messages == (added,)
    assert read.summary.title == summary.title


def test_nul_does_not_cut_a_text(repository: Repository) -> None:
    summary = repository.create_conversation("nul", "")
    repository.add_message(summary.id, None, Role.USER, "before\0after\0")
    assert repository.open_conversation(summary.id).messages[0].text == "before\0after\0"


def test_of_a_text_without_end_the_beginning_is_read(repository: Repository) -> None:
    conversation = repository.create_conversation("Long", "").id
    fits, longer = "€\0" * (MOST_READ_BYTES // 4), "€" * MOST_READ_BYTES
    first = repository.add_message(conversation, None, Role.USER, fits)
    repository.add_message(conversation, first.id, Role.ASSISTANT, longer)
    texts = [message.text for message in repository.open_conversation(conversation).messages]
    assert texts == [fits, "€" * (MOST_READ_BYTES // 3) + "…"]


@pytest.mark.parametrize("stored", ["", "{", "[[1]]", "[[2,3]]", '[["x","target"]]', "7", "[" * 100_000])
def test_a_reply_can_be_read_whatever_is_said_of_who_thought_of_it(
    repository: Repository, store: Path, stored: str
) -> None:
    summary = repository.create_conversation("chat", "")
    repository.add_message(summary.id, None, Role.ASSISTANT, "Hi", "tiny", STATISTICS)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE reply_statistics SET origins = ?", (stored,))
    (reply,) = repository.open_conversation(summary.id).messages
    assert reply.statistics is not None
    assert reply.statistics.origins == ()
