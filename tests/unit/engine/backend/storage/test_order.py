from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from engine.backend.storage import Repository, order
from engine.values.conversations import Role
from engine.values.errors import ConversationMissing, MendableError, NotPossible, SettingInvalid
from engine.values.order import FOLDER_NAME_LENGTH, Folder, Preset, TargetChoice

QWEN = TargetChoice("Qwen", "file:1")


def chats(repository: Repository, count: int) -> tuple[int, ...]:
    return tuple(repository.create_conversation(f"chat {number}", "").id for number in range(count))


def where(repository: Repository) -> dict[int, int | None]:
    return {each.id: each.folder_id for each in repository.list_conversations()}


def test_a_folder_has_what_its_chats_begin_with(open_repository: Callable[[], Repository]) -> None:
    repository = open_repository()
    repository.save_preset(Preset(0, "Brief"))
    (preset,) = repository.list_presets()
    made, moved = repository.create_folder("  Work\n notes ", "Be kind.", preset.id, QWEN, chats(repository, 2))
    assert made == Folder(made.id, "Work notes", "Be kind.", preset.id, QWEN)
    assert {each.folder_id for each in moved} == {made.id}
    changed = repository.change_folder(Folder(made.id, "Home", None, None, None))
    repository.close()
    assert open_repository().list_folders() == (changed,) == (Folder(made.id, "Home"),)


def test_folders_are_listed_by_name_and_lose_a_preset_that_is_gone(repository: Repository) -> None:
    repository.save_preset(Preset(0, "Brief"))
    (preset,) = repository.list_presets()
    for name in ("beta", "Alpha", "Gamma"):
        repository.create_folder(name, preset_id=preset.id)
    assert repository.create_folder("Delta", preset_id=99)[0].preset_id is None
    repository.delete_preset(preset.id)
    listed = repository.list_folders()
    assert [each.name for each in listed] == ["Alpha", "beta", "Delta", "Gamma"]
    assert {each.preset_id for each in listed} == {None}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "A folder needs a name."),
        (" \n ", "A folder needs a name."),
        ("WORK", "There is already a folder “WORK”; choose another name."),
        ("x" * (FOLDER_NAME_LENGTH + 1), f"A folder name may have at most {FOLDER_NAME_LENGTH} characters."),
    ],
)
def test_names_that_cannot_be_used_change_nothing(repository: Repository, name: str, sentence: str) -> None:
    work, _ = repository.create_folder("Work")
    other, _ = repository.create_folder("Other")
    ids = chats(repository, 1)
    for refused in (
        lambda: repository.create_folder(name, conversation_ids=ids),
        lambda: repository.change_folder(Folder(other.id, name)),
    ):
        with pytest.raises(SettingInvalid) as caught:
            refused()
        assert str(caught.value) == sentence
    assert repository.list_folders() == (other, work)
    assert where(repository) == {ids[0]: None}
    assert repository.change_folder(Folder(work.id, "work")).name == "work", "its own name, written otherwise"


def test_there_is_an_end_to_folders(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "MOST_FOLDERS", 2)
    repository.create_folder("one")
    repository.create_folder("two")
    with pytest.raises(NotPossible, match="delete one first"):
        repository.create_folder("three")


def test_many_are_moved_all_or_none_and_returned_where_they_were(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, "_AT_ONCE", 3)
    ids = chats(repository, 8)  # more than one statement names
    first, second = (repository.create_folder(name)[0].id for name in ("first", "second"))
    repository.move_conversations(ids[:2], first)
    repository.pin_conversations(ids[:1], True)
    before = {each.id: each for each in repository.list_conversations()}
    with pytest.raises(ConversationMissing, match="Some of these chats"):
        repository.move_conversations([*ids, 99_999], second)
    with pytest.raises(NotPossible, match="no longer exists"):
        repository.move_conversations(ids, 77)
    assert {each.id: each for each in repository.list_conversations()} == before
    moved = repository.move_conversations(ids, second)
    assert [each.id for each in moved] == list(ids)
    assert set(where(repository).values()) == {second}
    repository.archive_conversations(ids[:3], True)
    assert sum(each.is_archived for each in repository.list_conversations()) == 3
    repository.return_conversations(before.values())
    assert {each.id: each for each in repository.list_conversations()} == before, "and none of it counts as use"


def test_returning_goes_past_a_folder_that_is_gone(repository: Repository) -> None:
    folder, before = repository.create_folder("Work", conversation_ids=chats(repository, 1))
    repository.delete_folder(folder.id)
    (returned,) = repository.return_conversations(before)
    assert returned.folder_id is None


@pytest.mark.parametrize("with_chats", [False, True])
def test_a_folder_is_deleted_and_comes_back_with_what_was_in_it(repository: Repository, with_chats: bool) -> None:
    ids = chats(repository, 3)
    folder, _ = repository.create_folder("Work", "Be kind.", target=QWEN, conversation_ids=ids[:2])
    gone, inside = repository.delete_folder(folder.id, with_chats)
    assert (gone, {each.id for each in inside}) == (folder, set(ids[:2]))
    assert repository.list_folders() == ()
    assert where(repository) == ({ids[2]: None} if with_chats else dict.fromkeys(ids))
    with pytest.raises(NotPossible):
        repository.delete_folder(folder.id)
    with pytest.raises(NotPossible):
        repository.change_folder(folder)
    repository.restore_folder(gone, ids[:2])
    assert repository.list_folders() == (folder,)
    assert where(repository) == {ids[0]: folder.id, ids[1]: folder.id, ids[2]: None}


def test_a_folder_whose_name_was_given_again_does_not_come_back(repository: Repository) -> None:
    folder, _ = repository.create_folder("Work")
    repository.delete_folder(folder.id)
    repository.create_folder("work")
    with pytest.raises(SettingInvalid):
        repository.restore_folder(folder, ())


def test_incognito_chats_are_pinned_in_memory_and_nothing_else(repository: Repository, store: Path) -> None:
    secret = repository.create_conversation("secret", "", incognito=True, folder_id=1).id
    plain = repository.create_conversation("plain", "").id
    folder, _ = repository.create_folder("Work")
    for refused in (
        lambda: repository.move_conversations([plain, secret], folder.id),
        lambda: repository.archive_conversations([plain, secret], True),
        lambda: repository.create_folder("Other", conversation_ids=[plain, secret]),
    ):
        with pytest.raises(NotPossible, match="exists only in memory"):
            refused()
    assert repository.list_folders() == (folder,)
    pinned = repository.pin_conversations([secret, plain], True)
    assert {each.id: each.is_pinned for each in pinned} == {secret: True, plain: True}
    assert all(each.folder_id is None for each in repository.list_conversations())
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT count(*) FROM conversations").fetchone() == (1,)
    deleted = repository.delete_conversations([plain, secret])
    assert len(deleted) == 2
    assert {each.id for each in repository.restore_conversations([secret, plain])} == {plain, secret}


def test_the_latest_reply_names_its_target_and_writing_ends_the_archive(repository: Repository) -> None:
    (number,) = chats(repository, 1)
    assert repository.find_conversation(number).target_name == ""
    prompt = repository.add_message(number, None, Role.USER, "Hi")
    repository.add_message(number, prompt.id, Role.ASSISTANT, "Hello", "Big")
    reply = repository.add_message(number, prompt.id, Role.ASSISTANT, "Hey", "Small")
    repository.archive_conversations([number], True)
    (listed,) = repository.list_conversations()
    assert (listed.target_name, listed.is_archived) == ("Small", True)
    assert repository.open_conversation(number).summary == listed
    assert [hit.conversation for hit in repository.search("hey")] == [listed]
    repository.add_message(number, reply.id, Role.USER, "And now?")
    assert not repository.find_conversation(number).is_archived


def test_a_chat_begins_in_a_folder_that_is_there(repository: Repository) -> None:
    folder, _ = repository.create_folder("Work")
    assert repository.create_conversation("in", "", folder_id=folder.id).folder_id == folder.id
    repository.delete_folder(folder.id)
    assert repository.create_conversation("out", "", folder_id=folder.id).folder_id is None


def test_ids_that_no_chat_can_have_are_missing(repository: Repository) -> None:
    for number in (0, -1, 2**63, 12):
        with pytest.raises(MendableError, match="no longer exist"):
            repository.delete_conversations([number])
