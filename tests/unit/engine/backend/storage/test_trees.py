"""Whole conversations, in and out; and one that goes for good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from engine.backend.storage import Repository, order, trees
from engine.values.conversations import ConversationTree, Role, TreeMessage
from engine.values.errors import ConversationMissing

THEN = datetime(2024, 5, 6, 7, 8, 9, 12, tzinfo=UTC)


def tree(*texts: str, title: str = "Colours", created_at: datetime | None = THEN) -> ConversationTree:
    messages = [
        TreeMessage(number, number - 1 or None, Role.USER if number % 2 else Role.ASSISTANT, text, created_at, "Tiny")
        for number, text in enumerate(texts, 1)
    ]
    return ConversationTree(title, "Be brief.", created_at, created_at, tuple(messages), len(messages) or None)


def branching() -> ConversationTree:
    messages = (
        TreeMessage(1, None, Role.USER, "Name a colour.", THEN),
        TreeMessage(2, 1, Role.ASSISTANT, "Red.", THEN, "Tiny"),
        TreeMessage(3, 1, Role.ASSISTANT, "Blue.", THEN, "Tiny"),
        TreeMessage(4, 2, Role.USER, "Why?", THEN),
    )
    return ConversationTree("Colours", "Be brief.", THEN, THEN, messages, 3)


def shape(tree: ConversationTree) -> list[tuple[int | None, str, datetime | None]]:
    """With places in the tree instead of numbers."""
    places = {message.number: place for place, message in enumerate(tree.messages)}
    return [(None if m.parent is None else places[m.parent], m.text, m.created_at) for m in tree.messages]


def test_many_are_written_in_few_statements(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "_MOST_AT_ONCE", 50)
    monkeypatch.setattr(trees, "_MOST_CHARACTERS", 500)
    written = [tree("Hi", f"{number} Hello" * (1 + number % 7), title=f"{number}") for number in range(100)]
    statements: list[str] = []
    event.listen(Engine, "before_cursor_execute", told := lambda *told: statements.append(told[2]))
    try:
        assert all(repository.add_trees([replace(branching(), title="first"), *written]))
    finally:
        event.remove(Engine, "before_cursor_execute", told)
    assert len(statements) < 50
    read = {each.title: repository.read_tree(each.id) for each in repository.list_conversations()}
    assert [shape(read[each.title]) for each in written] == [shape(each) for each in written]
    assert shape(read["first"]) == shape(branching())


@pytest.mark.parametrize("incognito", [False, True])
def test_a_tree_is_added_with_all_branches_and_read_again(repository: Repository, incognito: bool) -> None:
    if incognito:
        number = repository.create_conversation("Colours", "Be brief.", incognito=True).id
        ids: dict[int | None, int | None] = {None: None}
        for message in branching().messages:
            added = repository.add_message(number, ids[message.parent], message.role, message.text, message.target_name)
            ids[message.number] = added.id
        read = repository.read_tree(number)
        assert [each[:2] for each in shape(read)] == [each[:2] for each in shape(branching())]
        return
    repository.create_conversation("before", "")
    assert repository.add_trees([branching()]) == [True]
    summary = repository.list_conversations()[-1]
    assert (summary.title, summary.updated_at) == ("Colours", THEN)
    opened = repository.open_conversation(summary.id)
    assert [message.text for message in opened.messages] == ["Name a colour.", "Blue."]
    assert opened.system_prompt == "Be brief."
    read = repository.read_tree(summary.id)
    assert shape(read) == shape(branching())
    assert repository.add_trees([read]) == [False]
    later = repository.add_message(summary.id, opened.messages[-1].id, Role.USER, "More")
    assert later.id > opened.messages[-1].id
    assert repository.add_trees([branching()]) == [False], "it has only grown"


def test_what_is_here_already_is_left_out(repository: Repository) -> None:
    assert repository.add_trees([tree("Hi", "Hello"), tree("Hi", "Hello"), tree("Hi", "Good day")]) == [
        True,
        False,
        True,
    ]
    assert repository.add_trees([tree("Hi", "Hello", created_at=None)]) == [False]
    assert repository.add_trees([tree("Hi", "Bye", created_at=None)]) == [True]
    assert repository.add_trees([tree("Hi", "Hello", created_at=datetime(2024, 5, 6, tzinfo=UTC))]) == [True]
    summary = repository.list_conversations()[0]
    repository.delete_conversations([summary.id])
    assert repository.add_trees([tree("Hi", "Bye", created_at=None)]) == [True], "a deleted one is not here"


def test_ids_of_messages_are_never_given_twice(repository: Repository) -> None:
    number = repository.create_conversation("short-lived", "").id
    gone = repository.add_message(number, None, Role.USER, "text").id
    repository.forget_conversation(number)
    repository.add_trees([tree("Hi")])
    (summary,) = repository.list_conversations()
    assert repository.open_conversation(summary.id).messages[0].id > gone


def test_texts_that_utf_8_cannot_hold_are_mended(repository: Repository) -> None:
    assert repository.add_trees([tree("a\ud800b", title="t\udfff")]) == [True]
    (summary,) = repository.list_conversations()
    assert summary.title == "t\ufffd"
    assert repository.open_conversation(summary.id).messages[0].text == "a\ufffdb"
    assert repository.add_trees([tree("a\ud800b")]) == [False]


def test_all_are_added_or_none(repository: Repository) -> None:
    broken = replace(tree("bad"), head=99)
    with pytest.raises(KeyError):
        repository.add_trees([tree("Hi"), broken])
    assert repository.list_conversations() == ()


def test_one_is_forgotten_at_once_and_others_stay(open_repository: Callable[[], Repository], data_dir: Path) -> None:
    repository = open_repository()
    kept, gone, deleted = (repository.create_conversation(title, "").id for title in ("kept", "xylophone", "deleted"))
    for number in (kept, gone, deleted):
        repository.add_message(number, None, Role.USER, f"quicksilver {number} " * 500)
    repository.delete_conversations([deleted])
    assert repository.forget_conversation(gone).title == "xylophone"
    assert repository.finish_erasure() == ()
    raw = b"".join(file.read_bytes() for file in data_dir.iterdir())
    assert b"xylophone" not in raw
    assert f"quicksilver {gone}".encode() not in raw
    assert f"quicksilver {kept}".encode() in raw
    assert repository.restore_conversations([deleted])[0].title == "deleted"
    with pytest.raises(ConversationMissing):
        repository.forget_conversation(gone)


def test_an_incognito_chat_is_forgotten_too(repository: Repository) -> None:
    number = repository.create_conversation("secret", "", incognito=True).id
    repository.forget_conversation(number)
    assert repository.list_conversations() == ()
    with pytest.raises(ConversationMissing):
        repository.restore_conversations([number])


def test_folders_pins_and_the_archive_are_imported(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "MOST_FOLDERS", 2)
    work, _ = repository.create_folder("Work")
    named = {"one": "WORK", "two": "  New\nfolder ", "three": "new folder", "four": "Too many", "five": "\ud800" * 90}
    trees = [replace(tree(title), title=title, folder=folder) for title, folder in named.items()]
    repository.add_trees([replace(trees[0], is_pinned=True), replace(trees[1], is_archived=True), *trees[2:]])
    assert [each.name for each in repository.list_folders()] == ["New folder", "Work"]
    new = repository.list_folders()[0].id
    found = {each.title: each for each in repository.list_conversations()}
    assert {title: each.folder_id for title, each in found.items()} == {
        **{"one": work.id, "two": new, "three": new},
        **{"four": None, "five": None},
    }
    assert [title for title, each in found.items() if each.is_pinned] == ["one"]
    assert [title for title, each in found.items() if each.is_archived] == ["two"]
    read = repository.read_tree(found["two"].id)
    assert (read.folder, read.is_pinned, read.is_archived) == ("New folder", False, True)
