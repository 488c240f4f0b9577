"""Conversations that leave no trace."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.backend.storage import Repository
from engine.backend.storage.connections import back_up
from engine.values.conversations import Role
from engine.values.errors import ConversationMissing
from engine.values.replies import ReplyStatistics, StopReason


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
    repository.delete_conversations([summary.id])
    assert repository.list_conversations() == ()
    with pytest.raises(ConversationMissing):
        repository.open_conversation(summary.id)
    repository.add_message(summary.id, None, Role.ASSISTANT, "a reply under way still finds its place")
    assert repository.restore_conversations([summary.id])[0].id == summary.id
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


def test_ids_of_incognito_and_stored_chats_never_meet(repository: Repository) -> None:
    stored = repository.create_conversation("stored", "")
    secret = repository.create_conversation("secret", "", incognito=True)
    message = repository.add_message(secret.id, None, Role.USER, "Hello?")
    assert stored.id < 2**30 <= min(secret.id, message.id)
    assert max(secret.id, message.id) < 2**31, "the window's signals have numbers of 32 bits"
    for conversation_id, parent_id in ((stored.id, message.id), (stored.id, secret.id)):
        with pytest.raises(ConversationMissing, match="This message"):
            repository.add_message(conversation_id, parent_id, Role.ASSISTANT, "Hi!")
    with pytest.raises(ConversationMissing):
        repository.save_recall("target", {message.id: [1, 2]})
    repository.forget_everything()
    assert repository.create_conversation("another", "", incognito=True).id > secret.id


def test_nothing_of_it_is_counted_learned_or_recalled(repository: Repository) -> None:
    secret = repository.create_conversation("secret", "", incognito=True)
    prompt = repository.add_message(secret.id, None, Role.USER, "Hello?")
    statistics = ReplyStatistics(1, 1, 41, 1.0, 2.0, StopReason.END, 1, 1)
    reply = repository.add_message(secret.id, prompt.id, Role.ASSISTANT, "Hi!", "tiny", statistics)
    assert repository.open_conversation(secret.id).messages == (prompt, reply)
    assert repository.conversations_with_prompt("Hello?") == ()
    assert repository.read_history().chats == ()
    assert repository.summarize_learned().statistics == ()
    assert repository.messages_without_recall("target", 2**62, 8) == ()


def test_threads_share_it(repository: Repository) -> None:
    number = repository.create_conversation("secret", "", incognito=True).id

    def say(text: str) -> int:
        repository.search("said")
        return repository.add_message(number, None, Role.USER, f"said {text}").id

    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(say, map(str, range(40))))
    assert len(set(ids)) == len(repository.read_tree(number).messages) == 40


def test_forgetting_it_leaves_the_files_alone(repository: Repository, store: Path) -> None:
    backup = back_up(store, "9999")
    before = {file.name: file.stat().st_mtime_ns for file in store.parent.iterdir()}
    number = repository.create_conversation("secret", "", incognito=True).id
    repository.add_message(number, None, Role.USER, "Hello?")
    repository.forget_conversation(number)
    with pytest.raises(ConversationMissing):
        repository.restore_conversations([number])
    assert backup.exists()
    assert {file.name: file.stat().st_mtime_ns for file in store.parent.iterdir()} == before
