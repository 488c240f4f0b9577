"""The tree of a conversation, and what it has of its own: kept ones and those that leave no trace."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from engine.backend.storage import Repository
from engine.backend.storage.connections import back_up
from engine.values.config import OwnSampling
from engine.values.conversations import Conversation, Message, Role
from engine.values.errors import ConversationMissing

both = pytest.mark.parametrize("incognito", [False, True], ids=["kept", "incognito"])


class Tree:
    """Two prompts with two replies each; the last written is current."""

    def __init__(self, repository: Repository, incognito: bool) -> None:
        self._repository = repository
        self.number = repository.create_conversation("chat", "", incognito).id
        self.asked = self.add(None, "asked")
        self.first = self.add(self.asked, "first")
        self.more = self.add(self.first, "more")
        self.deep = self.add(self.more, "deep")
        self.second = self.add(self.asked, "second")
        self.edited = self.add(None, "edited")
        self.other = self.add(self.edited, "other")

    def add(self, parent: Message | None, text: str) -> Message:
        role = Role.ASSISTANT if text in ("first", "deep", "second", "other") else Role.USER
        return self._repository.add_message(self.number, None if parent is None else parent.id, role, text)

    def show(self, message: Message) -> list[str]:
        return texts(self._repository.show_branch(self.number, message.id))


def texts(conversation: Conversation) -> list[str]:
    return [message.text for message in conversation.messages]


@both
def test_flipping_leads_to_what_was_written_last_in_a_branch(repository: Repository, incognito: bool) -> None:
    tree = Tree(repository, incognito)
    assert texts(repository.open_conversation(tree.number)) == ["edited", "other"]
    assert tree.show(tree.first) == ["asked", "first", "more", "deep"]
    assert texts(repository.open_conversation(tree.number)) == ["asked", "first", "more", "deep"]


@both
def test_flipping_back_leads_to_where_one_was(repository: Repository, incognito: bool) -> None:
    tree = Tree(repository, incognito)
    assert tree.show(tree.asked) == ["asked", "second"], "left last, by writing beside it"
    assert tree.show(tree.first) == ["asked", "first", "more", "deep"]
    assert tree.show(tree.edited) == ["edited", "other"]
    assert tree.show(tree.asked) == ["asked", "first", "more", "deep"]
    assert tree.show(tree.asked) == ["asked", "first", "more", "deep"], "it is the current one"


@both
def test_a_conversation_tells_of_every_message_with_siblings(repository: Repository, incognito: bool) -> None:
    tree = Tree(repository, incognito)
    shown = repository.show_branch(tree.number, tree.deep.id)
    assert shown == repository.open_conversation(tree.number)
    assert shown.siblings == {
        tree.asked.id: (tree.asked.id, tree.edited.id),
        tree.first.id: (tree.first.id, tree.second.id),
    }
    assert repository.find_siblings(tree.second) == (tree.first.id, tree.second.id)
    assert repository.find_siblings(tree.edited) == (tree.asked.id, tree.edited.id)
    assert repository.find_siblings(tree.more) == ()


@both
def test_a_branch_is_read_without_being_made_the_current_one(repository: Repository, incognito: bool) -> None:
    tree = Tree(repository, incognito)
    assert texts(repository.open_branch(tree.number, tree.first.id)) == ["asked", "first"]
    assert texts(repository.open_conversation(tree.number)) == ["edited", "other"]


@both
def test_a_prompt_is_added_where_one_has_flipped_to(repository: Repository, incognito: bool) -> None:
    tree = Tree(repository, incognito)
    tree.show(tree.second)
    tree.add(tree.second, "and then?")
    assert texts(repository.open_conversation(tree.number)) == ["asked", "second", "and then?"]


@both
def test_flipping_and_changing_do_not_count_as_use(repository: Repository, incognito: bool) -> None:
    tree = Tree(repository, incognito)
    before = repository.find_conversation(tree.number)
    tree.show(tree.first)
    repository.save_draft(tree.number, "begun")
    assert repository.change_conversation(tree.number, "Be brief.", OwnSampling(top_k=3)) == before
    assert repository.find_conversation(tree.number) == before


@both
def test_what_is_not_there_cannot_be_shown(repository: Repository, incognito: bool) -> None:
    tree, stranger = Tree(repository, incognito), Tree(repository, incognito)
    for number in (stranger.asked.id, 0, 2**70):
        with pytest.raises(ConversationMissing, match="This message"):
            repository.show_branch(tree.number, number)
        with pytest.raises(ConversationMissing, match="This message"):
            repository.open_branch(tree.number, number)
    repository.delete_conversations([tree.number])
    with pytest.raises(ConversationMissing):
        tree.show(tree.first)
    with pytest.raises(ConversationMissing):
        repository.change_conversation(tree.number, "", OwnSampling())


@both
def test_settings_and_draft_of_a_conversation_come_back(repository: Repository, incognito: bool) -> None:
    own = OwnSampling(temperature=0.0, seed=2**63, max_tokens=5)
    number = repository.create_conversation("chat", "Be kind.", incognito, own).id
    assert repository.open_conversation(number).sampling == own
    changed = OwnSampling(top_k=3, top_p=0.5, min_p=0.125, repetition_penalty=1.5)
    repository.change_conversation(number, "Be brief.", changed)
    repository.save_draft(number, "What if \ud800")
    opened = repository.open_conversation(number)
    assert (opened.system_prompt, opened.sampling, opened.draft) == ("Be brief.", changed, "What if \ufffd")
    repository.change_conversation(number, "", OwnSampling())
    assert repository.open_conversation(number).sampling == OwnSampling()


@both
def test_the_draft_of_a_deleted_conversation_comes_back_with_it(repository: Repository, incognito: bool) -> None:
    number = repository.create_conversation("chat", "", incognito).id
    repository.delete_conversations([number])
    repository.save_draft(number, "begun")
    repository.restore_conversations([number])
    assert repository.open_conversation(number).draft == "begun"
    with pytest.raises(ConversationMissing):
        repository.save_draft(number + 99, "to nothing")


def test_all_of_it_is_there_after_a_restart(open_repository: Callable[[], Repository]) -> None:
    repository = open_repository()
    tree = Tree(repository, incognito=False)
    tree.show(tree.first)
    repository.change_conversation(tree.number, "Be brief.", OwnSampling(seed=7))
    repository.save_draft(tree.number, "begun")
    assert open_repository().open_conversation(tree.number) == repository.open_conversation(tree.number)
    assert texts(open_repository().show_branch(tree.number, tree.edited.id)) == ["edited", "other"]


def test_where_one_was_in_each_branch_outlasts_a_restart(open_repository: Callable[[], Repository]) -> None:
    repository = open_repository()
    tree = Tree(repository, incognito=False)
    tree.show(tree.first)
    tree.show(tree.edited)
    repository.close()
    later = open_repository()
    assert texts(later.open_conversation(tree.number)) == ["edited", "other"]
    assert texts(later.show_branch(tree.number, tree.asked.id)) == ["asked", "first", "more", "deep"]


@pytest.mark.parametrize("damage", ["nonsense", "7", '["one", 1.5, true]', "[" * 100_000, "[99]", b"\xff"])
def test_branches_left_that_make_no_sense_count_as_not_left(
    repository: Repository, store: Path, damage: str | bytes
) -> None:
    tree = Tree(repository, incognito=False)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE conversations SET left_heads = ?", (damage,))
    assert tree.show(tree.asked) == ["asked", "second"], "that which was written last"


SENSELESS = (
    "nonsense",
    "[1]",
    "7",
    '{"temperature": -1}',
    '{"temperature": "hot"}',
    '{"temperature": NaN}',
    '{"top_k": 1.5}',
    '{"top_k": true}',
    '{"seed": null}',
    '{"tomorrow": 1}',
    "[" * 100_000,
    b"\xff",
    12,
)


def test_sampling_that_makes_no_sense_counts_as_not_set(repository: Repository, store: Path) -> None:
    number = repository.create_conversation("chat", "", sampling=OwnSampling(top_k=3)).id
    with closing(sqlite3.connect(store)) as connection:
        for stored in SENSELESS:
            with connection:
                connection.execute("UPDATE conversations SET sampling = ? WHERE id = ?", (stored, number))
            assert repository.open_conversation(number).sampling == OwnSampling(), stored


def test_what_makes_sense_beside_nonsense_holds(repository: Repository, store: Path) -> None:
    number = repository.create_conversation("chat", "").id
    with closing(sqlite3.connect(store)) as connection, connection:
        stored = '{"temperature": 0, "top_p": 7, "seed": 3, "newer": {}}'
        connection.execute("UPDATE conversations SET sampling = ? WHERE id = ?", (stored, number))
    assert repository.open_conversation(number).sampling == OwnSampling(temperature=0, seed=3)


def test_drafts_and_settings_of_an_incognito_chat_never_reach_the_disk(tmp_path: Path) -> None:
    repository = Repository.open(tmp_path)
    number = repository.create_conversation("x", "", incognito=True).id
    repository.save_draft(number, "quicksilver")
    repository.change_conversation(number, "zeppelin", OwnSampling(seed=424242424242))
    repository.close()
    data = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert not any(word in data for word in (b"quicksilver", b"zeppelin", b"424242424242"))


def delete(tree: Tree, repository: Repository, message: Message) -> list[str]:
    opened = repository.delete_message(tree.number, message.id)
    assert opened is not None
    assert opened == repository.open_conversation(tree.number)
    return texts(opened)


def restore(tree: Tree, repository: Repository, message: Message) -> list[str]:
    return texts(repository.restore_message(tree.number, message.id))


@both
def test_a_prompt_leaves_with_its_replies_and_what_followed_moves_up(repository: Repository, incognito: bool) -> None:
    tree = Tree(repository, incognito)
    tree.show(tree.first)
    before = repository.open_conversation(tree.number)
    assert delete(tree, repository, tree.asked) == ["more", "deep"]
    roles = [message.role for message in repository.read_tree(tree.number).messages]
    assert roles == [Role.USER, Role.ASSISTANT] * 2
    assert tree.show(tree.edited) == ["edited", "other"]
    assert restore(tree, repository, tree.asked) == ["asked", "first", "more", "deep"]
    assert repository.open_conversation(tree.number) == before
    with pytest.raises(ConversationMissing):
        repository.restore_message(tree.number, tree.asked.id)


@both
def test_a_reply_leaves_alone_at_the_end_and_elsewhere_with_its_prompt(repository: Repository, incognito: bool) -> None:
    tree = Tree(repository, incognito)
    tree.show(tree.second)
    assert delete(tree, repository, tree.second) == ["asked", "first", "more", "deep"], "the version beside it"
    assert delete(tree, repository, tree.deep) == ["asked", "first", "more"]
    assert restore(tree, repository, tree.deep) == ["asked", "first", "more", "deep"]
    assert delete(tree, repository, tree.first) == ["more", "deep"]
    assert restore(tree, repository, tree.first) == ["asked", "first", "more", "deep"]


@both
def test_the_last_messages_of_a_conversation_stay(repository: Repository, incognito: bool) -> None:
    tree = Tree(repository, incognito)
    assert delete(tree, repository, tree.edited) == ["asked", "second"]
    assert delete(tree, repository, tree.asked) == ["more", "deep"]
    assert repository.delete_message(tree.number, tree.more.id) is None
    assert texts(repository.open_conversation(tree.number)) == ["more", "deep"]


def test_what_a_removed_message_said_is_in_no_file(repository: Repository, store: Path) -> None:
    tree = Tree(repository, incognito=False)
    secret = tree.add(tree.deep, "ultramarine")
    backup = back_up(store, "0001")
    assert b"ultramarine" in backup.read_bytes()
    delete(tree, repository, secret)
    repository.purge_deleted()
    assert repository.finish_erasure() == ()
    assert all(b"ultramarine" not in file.read_bytes() for file in store.parent.iterdir())
