"""Pictures of conversations: stored with prompts and drafts, and gone with them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from engine.backend.storage import Repository
from engine.backend.storage.connections import back_up
from engine.values.conversations import ChatTurn, Role
from engine.values.pictures import Picture
from engine.values.prompts import AttachedPicture, join_prompt

from .made import reply_of
from .test_lessons import DISTRIBUTION, LOGS, VOCABULARY

SECRET = b"a face that nobody is to see"


def made(text: bytes = SECRET) -> Picture:
    """What the store takes for a PNG."""
    data = b"\x89PNG\r\n\x1a\n" + text
    return Picture(sha256(data).hexdigest(), data, 3, 2)


def prompt_of(*pictures: Picture, words: str = "What is it?") -> str:
    return join_prompt([AttachedPicture("a.png", each.digest) for each in pictures], words)


@pytest.mark.parametrize("incognito", [False, True])
def test_a_picture_comes_with_its_prompt_and_goes_with_the_last_one(repository: Repository, incognito: bool) -> None:
    number = repository.create_conversation("", "", incognito).id
    picture, other = made(), made(b"other")
    digests = [picture.digest, other.digest, "0" * 64]
    first = repository.add_message(number, None, Role.USER, prompt_of(picture), pictures=[picture])
    reply = repository.add_message(number, first.id, Role.ASSISTANT, "A face.")
    second = repository.add_message(number, reply.id, Role.USER, prompt_of(picture, other), pictures=[picture, other])
    found = repository.find_pictures(number, digests)
    assert found == {picture.digest: picture, other.digest: other}
    assert found[picture.digest].data == picture.data
    repository.delete_message(number, second.id)
    assert repository.find_pictures(number, digests) == {picture.digest: picture}
    repository.restore_message(number, second.id)
    assert repository.find_pictures(number, digests)[other.digest].data == other.data
    repository.save_draft(number, prompt_of(other))
    repository.delete_message(number, second.id)
    assert other.digest in repository.find_pictures(number, digests), "the draft names it"
    elsewhere = repository.create_conversation("", "", incognito).id
    assert repository.find_pictures(elsewhere, digests) == {}
    repository.forget_conversation(number)
    assert repository.find_pictures(number, digests) == {}


def test_what_a_draft_lets_go_of_goes_with_the_next_start(
    repository: Repository, open_repository: Callable[[], Repository]
) -> None:
    number = repository.create_conversation("", "").id
    picture, kept = made(), made(b"kept")
    repository.save_draft(number, prompt_of(picture, kept), [picture, kept])
    repository.save_draft(number, prompt_of(kept))
    digests = [picture.digest, kept.digest]
    assert len(repository.find_pictures(number, digests)) == 2, "a prompt may be on its way"
    again = open_repository()
    again.purge_deleted()
    assert list(again.find_pictures(number, digests)) == [kept.digest]


@pytest.mark.parametrize(
    "damage",
    [
        "data = x'89504e470d0a1a0a00'",
        "data = 7",
        "width = 0",
        "height = 'high'",
        "data = zeroblob(20000000)",
    ],
)
def test_a_damaged_picture_is_absent(repository: Repository, store: Path, damage: str) -> None:
    number = repository.create_conversation("", "").id
    repository.save_draft(number, "", [made()])
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute(f"UPDATE pictures SET {damage}")
    assert repository.find_pictures(number, [made().digest]) == {}


def test_what_is_neither_png_nor_jpeg_is_absent(repository: Repository) -> None:
    number = repository.create_conversation("", "").id
    data = b"<svg/>"
    digest = sha256(data).hexdigest()
    repository.save_draft(number, "", [Picture(digest, data, 3, 2)])
    assert repository.find_pictures(number, [digest]) == {}


@pytest.mark.parametrize("way", ["message", "chat", "everything", "draft"])
def test_nothing_of_a_deleted_picture_remains_in_the_files(repository: Repository, data_dir: Path, way: str) -> None:
    number = repository.create_conversation("", "").id
    picture = made(SECRET * 1000)
    prompt = repository.add_message(number, None, Role.USER, prompt_of(picture), pictures=[picture])
    repository.add_message(number, None, Role.USER, "Something else")
    if way == "draft":
        repository.delete_message(number, prompt.id)
        repository.save_draft(number, prompt_of(picture), [picture])
    copy = back_up(data_dir / "slipstream.sqlite3", "0021")
    match way:
        case "message":
            repository.delete_message(number, prompt.id)
        case "chat":
            repository.delete_conversations([number])
            repository.purge_deleted()
        case "everything":
            repository.forget_everything()
        case "draft":
            copy.unlink()
            repository.save_draft(number, "")
            repository.purge_deleted()
    assert repository.finish_erasure() == ()
    for file in data_dir.rglob("*"):
        assert not file.is_file() or SECRET not in file.read_bytes(), file
    assert way in ("everything", "draft") or copy.exists(), "it is left with what was not deleted"


def test_nothing_of_an_incognito_picture_is_in_the_files(repository: Repository, data_dir: Path) -> None:
    number = repository.create_conversation("", "", incognito=True).id
    repository.save_draft(number, prompt_of(made()), [made()])
    assert all(SECRET not in file.read_bytes() for file in data_dir.rglob("*") if file.is_file())


def test_only_people_and_targets_see_them(repository: Repository) -> None:
    """Neither a search nor what is learned or asked again shows by what a picture is named."""
    number = repository.create_conversation("", "").id
    prompt = repository.add_message(number, None, Role.USER, prompt_of(made()), pictures=[made()])
    reply = repository.add_message(number, prompt.id, Role.ASSISTANT, "A face.")
    assert repository.search(made().digest[:5]) == ()
    assert repository.search("](picture:") == ()
    (hit,) = repository.search("a.png what")
    assert hit.snippet == "a.png What is it?"
    repository.save_lesson(VOCABULARY, reply.id, reply_of([1, 2], DISTRIBUTION, LOGS), 10)
    (lesson,) = repository.load_lessons(VOCABULARY)
    assert lesson.turns == (ChatTurn(Role.USER, "[picture: a.png]\n\nWhat is it?"),)
    assert repository.list_exercises(VOCABULARY, 10, 10) == ()
    assert repository.latest_prompts(10) == ()
