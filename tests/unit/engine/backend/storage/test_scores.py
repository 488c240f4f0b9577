"""Scores of replies: what learning brought, with its error, by kind of text, and over time."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from engine.backend.storage import Repository
from engine.values.history import total
from engine.values.learned import Benefit, PairBenefit, ScoredReplies
from engine.values.replies import TextKind

from .made import reply_of
from .test_history import say, statistics

PAIR = "v", "d"


def score(repository: Repository, message_id: int, before: float, after: float, drafter: str = "d") -> None:
    repository.save_score("v", drafter, message_id, 100, before, after)


@pytest.fixture
def taught(repository: Repository) -> Repository:
    """Eight chats of a reply in prose and one in code, with the ids 2 and 4, 6 and 8, and so on."""
    for _ in range(8):
        say(repository, statistics(kind=TextKind.PROSE), statistics())
    repository.save_lesson("v", 2, reply_of([7], [[7]], np.zeros((1, 1))), most=10)
    return repository


def benefit(repository: Repository) -> PairBenefit:
    return repository.summarize_learned().benefits[PAIR]


def test_what_learning_brought_is_told_in_all_and_by_kind(taught: Repository) -> None:
    score(taught, 2, 50.0, 50.0)
    assert taught.summarize_learned().benefits == {}, "the original drafter was in use"
    for message_id in range(4, 33, 4):  # of code
        score(taught, message_id, 50.0, 40.0)
    for message_id in range(6, 31, 4):  # of prose, and not of the first chat
        score(taught, message_id, 60.0, 60.0 - message_id % 8)
    score(taught, 4, 50.0, 25.0)
    found = benefit(taught)
    assert found.kinds[TextKind.CODE] == Benefit.of(
        ScoredReplies(chat, 1, 100, 50.0, 40.0 - 15 * (not chat)) for chat in range(8)
    )
    assert list(found.kinds) == [TextKind.PROSE, TextKind.CODE]
    assert (found.whole.num_replies, found.recent) == (15, found.whole)
    scored = total(portion.tally for portion in taught.read_history().days).scored
    assert sum(each.num_replies for each in scored) == 16
    with pytest.raises(ValueError, match="A score to be saved"):
        score(taught, 2, 0.0, 40.0)


def test_the_error_is_that_of_a_ratio_over_chats() -> None:
    alike = [
        ScoredReplies(chat, 1, 100 * size, 60.0 * size, 50.0 * size) for chat, size in enumerate((1, 9, 2, 5, 1, 7))
    ]
    found = Benefit.of(alike)
    assert found is not None
    assert (found.before, found.after, found.num_replies) == (100 / 60, 2.0, 6)
    assert found.gain == pytest.approx(0.2)
    assert found.error == pytest.approx(0.0), "however long they are"
    few = Benefit.of([*alike[:5], alike[0]])
    assert few is not None
    assert few.error is None, "two of the six are of one chat"
    dice = np.random.default_rng(3)
    gains = []
    for _ in range(400):
        rounds = dice.gamma(2.0, 30.0, 20)
        drawn = Benefit.of(
            ScoredReplies(chat, 1, 100, float(each * dice.normal(1.2, 0.1)), float(each))
            for chat, each in enumerate(rounds)
        )
        assert drawn is not None
        assert drawn.error is not None
        gains.append((drawn.gain, drawn.error))
    assert np.mean([error for _, error in gains]) == pytest.approx(np.std([gain for gain, _ in gains]), rel=0.15)


def test_the_last_replies_are_told_beside_all_of_them(repository: Repository) -> None:
    say(repository, *[statistics() for _ in range(60)])
    repository.save_lesson("v", 2, reply_of([7], [[7]], np.zeros((1, 1))), most=10)
    for number in range(1, 61):
        score(repository, 2 * number, 50.0, 40.0 if number > 10 else 45.0)
    found = benefit(repository)
    assert found.recent == Benefit(2.0, 2.5, None, 50)
    assert found.whole.num_replies == 60
    assert found.whole.after < 2.5


def test_the_last_replies_are_compared_one_by_one_with_the_same_sums(repository: Repository) -> None:
    assert repository.compared_replies(*PAIR) == ()
    for number in range(12):
        say(repository, *[statistics() for _ in range(5)])
        repository.rename_conversation(number + 1, f"Chat {number + 1}")
    repository.save_lesson("v", 2, reply_of([7], [[7]], np.zeros((1, 1))), most=10)
    for number in range(1, 61):
        score(repository, 2 * number, 50.0, 50.0 if number == 60 else 40.0 + number % 7)
        score(repository, 2 * number, 50.0, 20.0, "another drafter")
    found = repository.compared_replies(*PAIR)
    assert len(found) == 50
    assert Benefit.of(each.scored for each in found) == benefit(repository).recent
    assert (found[0].title, found[0].scored) == ("Chat 12", ScoredReplies(12, 1, 100, 50.0, 43.0)), "the original"
    assert found[0].created_at >= found[-1].created_at
    repository.delete_conversations([12])
    assert repository.compared_replies(*PAIR)[0].title == "Chat 11"
    repository.forget_learned()
    assert repository.compared_replies(*PAIR) == ()


def test_scores_leave_with_what_they_are_of(taught: Repository, store: Path) -> None:
    score(taught, 99, 50.0, 40.0)  # a reply that is gone
    taught.save_score("w", "d", 2, 100, 50.0, 40.0)  # nothing was learned in this vocabulary
    assert taught.summarize_learned().benefits == {}
    for message_id in (2, 6, 10, 14):
        score(taught, message_id, 50.0, 40.0)
    taught.delete_conversations([1])
    assert benefit(taught).whole.num_replies == 3
    taught.restore_conversations([1])
    assert benefit(taught).whole.num_replies == 4
    taught.delete_conversations([1])
    taught.purge_deleted()
    with closing(sqlite3.connect(store)) as connection, connection:
        assert connection.execute("SELECT count(*) FROM scores").fetchone() == (3,)
        for message_id, damage in ((6, "num_tokens = 'all'"), (10, "rounds_after = 1e300")):
            connection.execute(f"UPDATE scores SET {damage} WHERE message_id = {message_id}")
    assert benefit(taught).whole.num_replies == 1
    assert len(total(portion.tally for portion in taught.read_history().days).scored) == 1
    taught.forget_learned()
    assert taught.summarize_learned().benefits == {}
