"""The time of learning, in a real store."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import StoreUnusable
from engine.services.learning_service import LearningTime
from engine.storage import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    repository = Repository.open(tmp_path)
    yield repository
    repository.close()


def seconds(repository: Repository) -> float:
    return sum(day.seconds for day in repository.read_history().learning)


def test_it_is_stored_when_the_learner_rests(repository: Repository) -> None:
    learning_time = LearningTime(lambda: repository)
    learning_time.save()
    assert seconds(repository) == 0.0
    with learning_time.running():
        pass
    with pytest.raises(ZeroDivisionError), learning_time.running():
        raise ZeroDivisionError
    learning_time.save(is_resting=False)
    assert seconds(repository) == 0.0, "more is to come soon"
    learning_time.save()
    stored = seconds(repository)
    assert stored > 0.0
    learning_time.save()
    assert seconds(repository) == stored


def test_a_store_that_fails_is_told_in_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    def open_repository() -> Repository:
        raise StoreUnusable("No room.")

    learning_time = LearningTime(open_repository)
    with learning_time.running():
        pass
    with caplog.at_level(logging.WARNING, "slipstream.learning"):
        learning_time.save()
    assert "No room." in caplog.text
