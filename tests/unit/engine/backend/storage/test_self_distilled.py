"""Self-distilled replies come back as lessons, stay within their bounds, and go with the chats that they answer."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from engine.backend.storage import Repository
from engine.backend.storage.connections import back_up
from engine.values.config import OwnSampling
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import ConversationMissing
from engine.values.learned import Exercise, Lesson, SelfDistilledRead

from .made import reply_of
from .test_lessons import DISTRIBUTION, LOGS, OTHER, SECRET, VOCABULARY, exchange, save, written

ALL = 10**6


def exercises(repository: Repository, num_prompts: int = 100, most_answers: int = 4) -> dict[int, Exercise]:
    """By their prompts, in their order."""
    found = repository.list_exercises(VOCABULARY, num_prompts, most_answers)
    return {exercise.message_id: exercise for exercise in found if exercise.message_id is not None}


def distil(repository: Repository, prompt: int, first: int = 1, fingerprint: str = VOCABULARY, most: int = ALL) -> None:
    """Replies of two tokens."""
    reply = replace(reply_of([first, 2], DISTRIBUTION, LOGS), temperature=0.8)
    repository.save_self_distilled(fingerprint, exercises(repository, most_answers=ALL)[prompt], reply, most)


def answer(repository: Repository, number: int, first: int = 1, most: int = ALL) -> Lesson:
    """To the shipped prompt of that number."""
    exercise = Exercise(None, None, (ChatTurn(Role.USER, f"shipped {number}"),), OwnSampling(), number)
    return repository.save_self_distilled(VOCABULARY, exercise, reply_of([first, 2], DISTRIBUTION, LOGS), most)


def kept(repository: Repository, fingerprint: str = VOCABULARY) -> list[int]:
    """The first tokens."""
    return [int(lesson.reply.tokens[0]) for lesson in repository.load_self_distilled(fingerprint, ALL)]


def test_it_comes_back_with_the_turns_that_it_answers(open_repository: Callable[[], Repository]) -> None:
    repository = open_repository()
    number, (*_, second, reply) = exchange(repository, "Hi!", "Hello.", "Why?", "So.", system_prompt="Be kind.")
    save(repository, reply)
    distil(repository, second, 7)
    (lesson,) = open_repository().load_self_distilled(VOCABULARY, ALL)
    said = (Role.SYSTEM, "Be kind."), (Role.USER, "Hi!"), (Role.ASSISTANT, "Hello."), (Role.USER, "Why?")
    assert lesson.turns == tuple(ChatTurn(*turn) for turn in said)
    assert (lesson.conversation_id, lesson.reply.tokens.tolist()) == (number, [7, 2])
    assert (lesson.reply.top_tokens.tolist(), lesson.reply.temperature) == (DISTRIBUTION, 0.8)
    assert lesson.message_id < 0, "it is no message"
    assert [each.message_id for each in repository.load_lessons(VOCABULARY)] == [reply]
    summary = repository.summarize_learned()
    assert (summary.self_distilled, summary.lessons) == ({VOCABULARY: 1}, {VOCABULARY: 1})
    assert len(repository.open_conversation(number).messages) == 4
    assert kept(repository, OTHER) == []


def test_prompts_that_were_answered_least_come_first_and_then_the_latest(repository: Repository) -> None:
    exchange(repository, "long " * 20_000, "reply", "and", "so on")
    _, (old, _) = exchange(repository, "old", "reply")
    _, (first, _, second) = exchange(repository, "one", "two", "three")
    hidden, _ = exchange(repository, "hidden", "reply")
    repository.delete_conversations([hidden])
    secret = repository.create_conversation("x", "", incognito=True)
    repository.add_message(secret.id, None, Role.USER, "incognito")
    assert list(exercises(repository)) == [second, first, old]
    distil(repository, second)
    distil(repository, old)
    distil(repository, old)
    assert list(exercises(repository)) == [first, second, old]
    assert list(exercises(repository, most_answers=2)) == [first, second]
    assert list(exercises(repository, num_prompts=2)) == [first, second]


def test_the_oldest_leave_those_of_other_vocabularies_alone(repository: Repository) -> None:
    _, (prompt, _) = exchange(repository, "one", "two")
    distil(repository, prompt, 9, OTHER)
    for first in range(5):
        distil(repository, prompt, first, most=7)
    assert kept(repository) == [2, 3, 4]
    assert kept(repository, OTHER) == [9]
    latest = repository.load_self_distilled(VOCABULARY, 2)
    assert [int(lesson.reply.tokens[0]) for lesson in latest] == [3, 4]


def test_what_answers_other_turns_than_are_stored_is_refused(repository: Repository) -> None:
    number, (first, _, second, _) = exchange(repository, "one", "two", "three", "four")
    found = exercises(repository)
    reply = reply_of([1, 2], DISTRIBUTION, LOGS)
    repository.change_conversation(number, "Be brief.", OwnSampling())
    with pytest.raises(ConversationMissing):
        repository.save_self_distilled(VOCABULARY, found[second], reply, ALL)
    now = exercises(repository)
    repository.delete_message(number, first)
    for exercise in now.values():
        with pytest.raises(ConversationMissing):
            repository.save_self_distilled(VOCABULARY, exercise, reply, ALL)
    left = exercises(repository)[second]
    assert left.turns == (ChatTurn(Role.SYSTEM, "Be brief."), ChatTurn(Role.USER, "three"))
    repository.delete_conversations([number])
    with pytest.raises(ConversationMissing):
        repository.save_self_distilled(VOCABULARY, left, reply, ALL)
    assert kept(repository) == []


def test_it_is_erased_with_a_message_of_its_chat_and_with_the_chat_also_from_copies(
    repository: Repository, data_dir: Path, store: Path
) -> None:
    number, (first, _, second, _) = exchange(repository, "one", "two", "three", "four")
    other, (prompt, _) = exchange(repository, "five", "six")
    _, (stays, _) = exchange(repository, "seven", "eight")
    distil(repository, stays, 5)
    for secret in (second, prompt):  # the later answer may repeat what is deleted before it
        exercise, reply = exercises(repository)[secret], reply_of(SECRET, DISTRIBUTION, LOGS)
        repository.save_self_distilled(VOCABULARY, exercise, reply, ALL)
    backup = back_up(store, "9999")
    assert backup.read_bytes().count(b"DERAUNSE") == 2
    repository.delete_message(number, first)
    assert kept(repository) == [5, SECRET[0]]
    repository.restore_message(number, first)
    assert kept(repository) == [5, SECRET[0]], "it can be answered again"
    repository.delete_message(number, first)
    repository.delete_conversations([other])
    assert kept(repository) == [5]
    repository.restore_conversations([other])
    assert kept(repository) == [5, SECRET[0]]
    repository.forget_conversation(other)
    assert repository.finish_erasure() == ()
    assert b"DERAUNSE" not in written(data_dir)
    assert kept(repository) == [5]
    for file in (store, backup):
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("SELECT message_id FROM practice").fetchall() == [(stays,)]


@pytest.mark.parametrize("forget", [Repository.forget_learned, Repository.forget_everything])
def test_forgetting_takes_all_of_it(
    repository: Repository, data_dir: Path, store: Path, forget: Callable[[Repository], object]
) -> None:
    _, (prompt, _) = exchange(repository, "one", "two")
    repository.save_self_distilled(VOCABULARY, exercises(repository)[prompt], reply_of(SECRET, DISTRIBUTION, LOGS), ALL)
    back_up(store, "9999")
    forget(repository)
    assert repository.finish_erasure() == ()
    assert b"DERAUNSE" not in written(data_dir)


def test_replies_to_shipped_prompts_belong_to_no_chat_and_have_room_of_their_own(
    open_repository: Callable[[], Repository],
) -> None:
    repository = open_repository()
    number, (prompt, _) = exchange(repository, "one", "two")
    distil(repository, prompt, 9)
    saved = [answer(repository, each, each, most=4) for each in (0, 2, 1)]
    again = open_repository()
    found = again.load_self_distilled(VOCABULARY, ALL)
    assert [int(lesson.reply.tokens[0]) for lesson in found] == [9, 2, 1], "the oldest shipped one went"
    own, second, third = found
    assert (own.conversation_id, own.turns) == (number, (ChatTurn(Role.USER, "one"),))
    assert (second.message_id, second.turns) == (saved[1].message_id, (ChatTurn(Role.USER, "shipped 2"),))
    assert second.conversation_id == second.message_id != third.conversation_id
    assert (second.created_at, second.turns) == (saved[1].created_at, saved[1].turns)
    assert again.count_exercises(VOCABULARY) == 3
    assert again.count_exercises(OTHER) == 0
    again.forget_conversation(number)
    assert kept(again) == [2, 1]


def test_they_are_read_in_portions_and_what_was_read_is_counted_once(repository: Repository) -> None:
    saved = [answer(repository, each, each) for each in range(5)]
    pair = VOCABULARY, "drafter"
    assert repository.self_distilled_read(*pair) == SelfDistilledRead(0, 0, 10)
    until, portions = 0, []
    while portion := repository.load_self_distilled(VOCABULARY, 2, after=until):
        portions.append([int(lesson.reply.tokens[0]) for lesson in portion])
        until = portion[-1].message_id
    assert portions == [[0, 1], [2, 3], [4]]
    for each in (saved[0], saved[1], saved[0], saved[1]):
        repository.note_self_distilled_read(*pair, each)
    assert repository.self_distilled_read(*pair) == SelfDistilledRead(saved[1].message_id, 4, 6)
    assert repository.self_distilled_read(VOCABULARY, "other drafter") == SelfDistilledRead(0, 0, 10)
    answer(repository, 5, 5, most=4)
    assert kept(repository) == [4, 5]
    assert repository.self_distilled_read(*pair) == SelfDistilledRead(saved[1].message_id, 4, 4)
    assert repository.summarize_learned().self_distilled_read == {pair: 4}
    repository.forget_learned()
    assert repository.self_distilled_read(*pair) == SelfDistilledRead()
    assert repository.count_exercises(VOCABULARY) == 0


def test_erasing_them_takes_nothing_else(repository: Repository, data_dir: Path, store: Path) -> None:
    _, (prompt, reply) = exchange(repository, "one", "two")
    save(repository, reply)
    repository.save_self_distilled(VOCABULARY, exercises(repository)[prompt], reply_of(SECRET, DISTRIBUTION, LOGS), ALL)
    lesson = answer(repository, 0)
    repository.note_self_distilled_read(VOCABULARY, "drafter", lesson)
    backup = back_up(store, "9999")
    repository.erase_self_distilled()
    assert repository.finish_erasure() == ()
    assert b"DERAUNSE" not in written(data_dir)
    assert kept(repository) == []
    assert [each.message_id for each in repository.load_lessons(VOCABULARY)] == [reply]
    assert repository.self_distilled_read(VOCABULARY, "drafter") == SelfDistilledRead(lesson.message_id, 2, 0)
    with closing(sqlite3.connect(backup)) as connection:
        assert connection.execute("SELECT message_id FROM lessons").fetchall() == [(reply,)]
    assert answer(repository, 1).message_id < lesson.message_id, "no number comes twice"
