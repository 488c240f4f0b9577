"""Conversations that leave no trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import ConversationMissing
from engine.messages.conversations import Role
from engine.storage import Repository


def test_it_is_a_conversation_like_any_other(repository: Repository) -> None:
    kept = repository.create_conversation("kept", "")
    summary = repository.create_conversation("  secret\ntalk ", "Be brief.", incognito=True)
    assert summary.incognito
    assert summary.title == "secret talk"
    prompt = repository.add_message(summary.id, None, Role.USER, "Hello?")
    first = repository.add_message(summary.id, prompt.id, Role.ASSISTANT, "Hi!", "tiny")
    second = repository.add_message(summary.id, prompt.id, Role.ASSISTANT, "Good day!", "tiny")
    opened = repository.open_conversation(summary.id)
    assert opened.system_prompt == "Be brief."
    assert opened.messages == (prompt, second)
    assert first.parent_id == prompt.id
    assert [each.id for each in repository.list_conversations()] == [summary.id, kept.id]
    assert repository.find_conversation(summary.id).updated_at == second.created_at
    assert repository.rename_conversation(summary.id, "other").title == "other"


def test_it_is_exported_with_the_branch_that_is_shown(repository: Repository) -> None:
    number = repository.create_conversation("secret", "", incognito=True).id
    first = repository.add_message(number, None, Role.USER, "first")
    repository.add_message(number, None, Role.USER, "second")
    repository.show_branch(number, first.id)
    assert repository.read_tree(number).head == first.id


def test_deleted_it_is_hidden_until_it_is_restored(repository: Repository) -> None:
    summary = repository.create_conversation("secret", "", incognito=True)
    repository.delete_conversation(summary.id)
    assert repository.list_conversations() == ()
    with pytest.raises(ConversationMissing):
        repository.open_conversation(summary.id)
    repository.add_message(summary.id, None, Role.ASSISTANT, "a reply under way still finds its place")
    assert repository.restore_conversation(summary.id).id == summary.id
    assert len(repository.open_conversation(summary.id).messages) == 1


def test_what_is_not_there_is_missing(repository: Repository) -> None:
    summary = repository.create_conversation("secret", "", incognito=True)
    with pytest.raises(ConversationMissing):
        repository.open_conversation(summary.id + 99)
    with pytest.raises(ConversationMissing):
        repository.add_message(summary.id, 7, Role.USER, "an answer to nothing")


def test_nothing_of_it_reaches_the_disk(tmp_path: Path) -> None:
    repository = Repository.open(tmp_path)
    summary = repository.create_conversation("xylophone", "zeppelin", incognito=True)
    repository.add_message(summary.id, None, Role.USER, "quicksilver")
    repository.close()
    data = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert data
    assert not any(word in data for word in (b"xylophone", b"zeppelin", b"quicksilver"))
    reopened = Repository.open(tmp_path)
    assert reopened.list_conversations() == ()
    with pytest.raises(ConversationMissing):
        reopened.open_conversation(summary.id)
    reopened.close()
