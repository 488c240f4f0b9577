"""How long the drafter learned each day."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from engine.values.errors import MendableError

if TYPE_CHECKING:
    from engine.backend.storage import Repository

_logger = logging.getLogger("slipstream.learning")
_SAVE_TIME_EVERY_S = 15.0  # of learning: a write takes some milliseconds


class LearningTime:
    """Adds up how long the drafter learned each day. Failures of the store are only logged, since no one waits for the
    result."""

    def __init__(self, open_repository: Callable[[], Repository]) -> None:
        self._open_repository = open_repository
        self._unsaved_s = 0.0
        self.last_s = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Learning runs inside, even if it raises."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.last_s = time.perf_counter() - began
            self._unsaved_s += self.last_s

    def save(self, is_resting: bool = True) -> None:
        """Once in a while, unless the learner rests."""
        if self._unsaved_s <= 0 or not (is_resting or self._unsaved_s >= _SAVE_TIME_EVERY_S):
            return
        seconds, self._unsaved_s = self._unsaved_s, 0.0
        try:
            self._open_repository().add_learning_time(datetime.now().astimezone().date(), seconds)
        except MendableError as error:
            _logger.warning("the learning time was not stored: %s", error)
