"""Keeps account of how long the drafter learned, day by day."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from engine.errors import MendableError

if TYPE_CHECKING:
    from engine.storage import Repository

_logger = logging.getLogger("slipstream.learning")

_KEPT_EVERY_S = 15.0  # of learning: a write takes some milliseconds


class LearningTime:
    """Of the thread that learns. Nobody misses it: where the store fails it says so in the log alone."""

    def __init__(self, open_repository: Callable[[], Repository]) -> None:
        self._open_repository = open_repository
        self._seconds = 0.0  # not kept yet

    @contextmanager
    def running(self) -> Iterator[None]:
        """Meanwhile it learns; what it raises ends that."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._seconds += time.perf_counter() - began

    def keep(self, is_resting: bool = True) -> None:
        """Tells the store, unless there is more to come soon: then once in a while."""
        if self._seconds <= 0 or not (is_resting or self._seconds >= _KEPT_EVERY_S):
            return
        seconds, self._seconds = self._seconds, 0.0
        try:
            self._open_repository().add_learning_time(datetime.now().astimezone().date(), seconds)
        except MendableError as error:
            _logger.warning("the time of learning was not kept: %s", error)
