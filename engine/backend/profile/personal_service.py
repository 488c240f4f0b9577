"""Everything that was learned from chats: shown, exported, imported, taken back, forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.backend.profile import transfer
from engine.backend.storage import Repository
from engine.backend.teaching.learning_service import LearningService
from engine.backend.teaching.recall import Recall
from engine.speculation.learning.judge import Evidence
from engine.values.errors import Cancelled
from engine.values.events import LearnedChanged, Listener
from engine.values.learned import (
    ComparedReply,
    FingerprintPair,
    ImportOutcome,
    LearnedState,
    LearnedSummary,
    LearningProgress,
    PracticeState,
    ProfileSummary,
)
from engine.values.requests import NEVER
from engine.values.stop_signal import StopSignal


@dataclass(frozen=True)
class PersonalService:
    """Any thread may call any method; all raise StoreUnusable. A change takes effect after the reply in progress, and
    `LearnedChanged` tells of it."""

    _repository: Repository
    _recall: Recall
    _learning: LearningService
    _emit: Listener
    _catch_up: Callable[[], object]  # `Upkeep.catch_up` on its thread
    _erase: Callable[[], object]  # what was deleted, on another thread

    def read_learned(self) -> LearnedState:
        learned, pair = self._repository.summarize_learned(), self._learning.pair
        progress, practice = self._progress(learned, pair), self._practice(learned, pair)
        return LearnedState(learned, pair, self._recall.vocabulary, progress, practice)

    def compare(self, pair: FingerprintPair) -> tuple[ComparedReply, ...]:
        """The last replies without and with what was learned, latest first; nothing is computed."""
        return self._repository.compared_replies(*pair)

    def summarize_profile(self, path: Path) -> ProfileSummary:
        """Imports nothing. Raises FileUnusable."""
        return transfer.summarize_profile(path)

    def export_profile(self, path: Path, with_recall: bool = False) -> int:
        """Writes over an existing file, and returns the bytes written. `with_recall`: with texts to recall, which
        contain what the user typed. Raises FileUnusable."""
        transfer.export_profile(self._repository, path, with_recall, overwrite=True)
        return path.stat().st_size

    def import_profile(self, path: Path, replace: bool = False, stop: StopSignal = NEVER) -> ImportOutcome:
        """Merges a profile with what was learned here, or replaces that; all or nothing. Raises FileUnusable and
        Cancelled."""
        learned = transfer.read_profile(path).learned  # before anybody must wait
        with self.exchanging():
            if stop.is_set():
                raise Cancelled("The import was cancelled; nothing was added.")
            return self._repository.add_learned(learned, replace)

    def use_adapter(self, pair: FingerprintPair, number: int | None) -> int | None:
        """Drafts with this adapter from the next reply on, and learns from there; None: with the original drafter.
        Returns the number used until now. Raises AdapterUnusable."""
        with self._learning.exchanging():
            before = next((each.number for each in self._repository.list_adapters(*pair) if each.is_published), None)
            self._repository.publish_adapter(*pair, number)
        self._emit(LearnedChanged())
        return before

    def forget_learned(self) -> None:
        """Removes everything that was learned, for good; chats stay."""
        with self.exchanging():
            self._repository.forget_learned()

    def erase_self_distilled(self) -> None:
        """Removes all self-distilled replies, for good; what was learned from them stays."""
        with self.exchanging():
            self._repository.erase_self_distilled()

    @contextmanager
    def exchanging(self) -> Iterator[None]:
        """What was learned may be changed in the store inside. What is no longer there is erased afterwards."""
        try:
            with self._learning.exchanging():
                yield
        finally:
            self._recall.reload()
            self._catch_up()
        self._erase()
        self._emit(LearnedChanged())

    def _progress(self, learned: LearnedSummary, pair: FingerprintPair | None) -> LearningProgress | None:
        if pair is None or not self._learning.can_learn:
            return None
        known = self._repository.candidate(*pair)
        better = Evidence.of(() if known is None else known.capital).better
        if better.is_won:
            return None
        return LearningProgress(learned.scored.get(pair, 0), better.num_left, self._learning.awaits_power)

    def _practice(self, learned: LearnedSummary, pair: FingerprintPair | None) -> PracticeState | None:
        if pair is None or not self._learning.can_learn:
            return None
        return PracticeState(learned.self_distilled_read.get(pair, 0), self._learning.self_distilled_per_s)
