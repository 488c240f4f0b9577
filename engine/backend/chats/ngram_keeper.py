"""Reads and stores the n-grams that translation learns."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.backend.storage import Repository
from engine.backend.teaching.era import Era
from engine.values.errors import StoreUnusable
from engine.values.learned import NgramRecord

_logger = logging.getLogger("slipstream.store")


@dataclass(frozen=True)
class NgramKeeper:
    _repository: Repository
    _era: Era

    def save(
        self, target_fingerprint: str, drafter_fingerprint: str, changed: Sequence[NgramRecord], era: int = 0
    ) -> None:
        """Removes those with a count of 0, and drops all if the era in which they were learned has ended. A failure is
        only logged: the user learns about a broken store when a message is to be stored."""
        with self._era.lasting(era) as lasts:
            if not lasts:
                return
            try:
                self._repository.save_ngrams(target_fingerprint, drafter_fingerprint, changed)
            except StoreUnusable as error:
                _logger.warning("n-grams were not stored: %s", error)


@dataclass(frozen=True)
class StoredNgrams:
    """Implements `proposers.drafting.NgramMemory`: reads on the caller's thread, writes on that of the store."""

    _repository: Repository
    _save: Callable[[str, str, Sequence[NgramRecord], int], object]  # `NgramKeeper.save` on its thread
    era: int

    def load(self, target_fingerprint: str, drafter_fingerprint: str) -> Sequence[NgramRecord]:
        return self._repository.load_ngrams(target_fingerprint, drafter_fingerprint)

    def save(self, target_fingerprint: str, drafter_fingerprint: str, changed: Sequence[NgramRecord]) -> None:
        self._save(target_fingerprint, drafter_fingerprint, tuple(changed), self.era)
