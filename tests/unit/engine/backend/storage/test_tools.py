"""Calls, results, and tools that are allowed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from engine.backend.storage import Repository
from engine.backend.storage.columns import calls_from, result_from
from engine.values.conversations import Message, Role
from engine.values.tools import AllowedTool, Outcome, ToolCall, ToolDefinition, ToolResult

CALL = ToolCall("a1b2c3d4e", "weather", "forecast", '{"city": "Zürich"}')
RESULT = ToolResult(CALL, Outcome.FAILED, 0.25, 9)


def answered(repository: Repository, incognito: bool = False) -> list[Message]:
    """A prompt, a reply that calls, its result, and the answer."""
    number = repository.create_conversation("Rain", "", incognito).id
    prompt = repository.add_message(number, None, Role.USER, "Rain?")
    call = repository.add_message(number, prompt.id, Role.ASSISTANT, "", "Tiny", calls=(CALL,))
    result = repository.add_message(number, call.id, Role.TOOL, "Rain.", result=RESULT)
    return [prompt, call, result, repository.add_message(number, result.id, Role.ASSISTANT, "Yes.", "Tiny")]


@pytest.mark.parametrize("incognito", [False, True])
def test_calls_and_results_come_back(repository: Repository, incognito: bool) -> None:
    messages = answered(repository, incognito)
    opened = repository.open_conversation(messages[0].conversation_id)
    assert list(opened.messages) == messages
    assert opened.messages[1].calls == (CALL,)
    assert opened.messages[2].result == RESULT


def test_trees_have_them(repository: Repository) -> None:
    number = answered(repository)[0].conversation_id
    tree = repository.read_tree(number)
    assert (tree.messages[1].calls, tree.messages[2].result) == ((CALL,), RESULT)
    repository.forget_conversation(number)
    assert repository.add_trees([tree]) == [True]
    (imported,) = repository.list_conversations()
    assert repository.open_conversation(imported.id).messages[2].result == RESULT


@pytest.mark.parametrize("stored", ["", "{", "7", "[7]", '[["a"]]', "null", b"\xff", 7, "[" * 100_000])
def test_what_makes_no_sense_counts_as_none(stored: object) -> None:
    assert calls_from(stored) == ()
    assert result_from(stored) is None


@pytest.mark.parametrize("words", ["forecast", "zürich", "zurich"])
def test_arguments_and_results_are_found(repository: Repository, words: str) -> None:
    answered(repository)
    assert bool(repository.search(words)) is (words in ("forecast", "zürich"))
    assert repository.search("rain.")


@pytest.mark.parametrize("place", [1, 2, 3])
def test_an_answer_leaves_as_a_whole(repository: Repository, place: int) -> None:
    messages = answered(repository)
    number = messages[0].conversation_id
    other = repository.add_message(number, messages[0].id, Role.ASSISTANT, "No.", "Tiny")
    repository.show_branch(number, messages[1].id)
    left = repository.delete_message(number, messages[place].id)
    assert left is not None
    if place == 3:
        assert [each.id for each in left.messages] == [messages[0].id, other.id]
        restored = repository.restore_message(number, messages[place].id)
        assert list(restored.messages) == messages


def test_another_end_of_an_answer_stays(repository: Repository) -> None:
    messages = answered(repository)
    number = messages[0].conversation_id
    other = repository.add_message(number, messages[2].id, Role.ASSISTANT, "No.", "Tiny")
    left = repository.delete_message(number, other.id)
    assert left is not None
    assert list(left.messages) == messages


NOW = ToolDefinition("program", "environment", "The weather.", "{}")
ALLOWED = AllowedTool("weather", "forecast", NOW)


def allowed(repository: Repository, number: int, server: str = "weather") -> tuple[ToolDefinition, ...]:
    return repository.allowed_definitions(number, server, "forecast")


def test_a_tool_is_allowed_here_or_everywhere_as_it_was_then(repository: Repository) -> None:
    here, there = (answered(repository)[0].conversation_id for _ in range(2))
    later = replace(ALLOWED, definition=replace(NOW, schema='{"type": "object"}'))
    assert allowed(repository, here) == ()
    repository.allow_tool_in(here, later)
    repository.allow_tool_in(here, ALLOWED)
    assert [allowed(repository, each) for each in (here, there)] == [(NOW,), ()], "the last one"
    assert allowed(repository, here, "other") == ()
    repository.allow_tool(ALLOWED)
    repository.allow_tool(later)
    assert allowed(repository, there) == (later.definition,)
    assert repository.allowed_tools() == (later,)
    repository.forget_allowed_tools(repository.allowed_tools())
    assert [allowed(repository, each) for each in (here, there)] == [(NOW,), ()]


@pytest.mark.parametrize("written", ["", "[]", '["a"]', "{", "[" * 50_000, "[1, 2, 3, 4, 5]"])
def test_what_another_program_wrote_allows_nothing(repository: Repository, store: Path, written: str) -> None:
    number = answered(repository)[0].conversation_id
    repository.allow_tool(ALLOWED)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE allowed_tools SET definition = ?", (written,))
    assert allowed(repository, number) == ()
    assert repository.allowed_tools() == ()


def test_what_is_allowed_in_a_chat_in_memory_never_reaches_the_disk(repository: Repository, store: Path) -> None:
    number = answered(repository, incognito=True)[0].conversation_id
    repository.allow_tool_in(number, ALLOWED)
    assert allowed(repository, number) == (NOW,)
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT count(*) FROM chat_tools").fetchone() == (0,)


def test_forgetting_everything_forgets_what_is_allowed(repository: Repository) -> None:
    number = answered(repository)[0].conversation_id
    repository.allow_tool_in(number, ALLOWED)
    repository.allow_tool(ALLOWED)
    repository.forget_everything()
    assert repository.allowed_tools() == ()
    assert allowed(repository, number) == ()
