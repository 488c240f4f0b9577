"""Carries out commands for everything that was learned: show, export, import, go back, forget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from engine.backend.profile.transfer import export_profile, read_profile, summarize_profile
from engine.backend.remote.servers import Servers
from engine.backend.storage import Repository
from engine.backend.teaching.learning_service import LearningService
from engine.backend.teaching.recall import Recall
from engine.speculation.learning.judge import Capital
from engine.speculation.model.files.readings import Readings
from engine.values.commands import (
    Command,
    ExportProfile,
    ForgetEverything,
    ForgetLearned,
    ImportProfile,
    PersonalCommand,
    ReadLearned,
    ShowProfile,
    UpdateRecall,
    UseAdapter,
)
from engine.values.errors import Cancelled
from engine.values.events import (
    AdapterUsed,
    ConversationsListed,
    EverythingForgotten,
    FoldersListed,
    LearnedForgotten,
    LearnedRead,
    Listener,
    ProfileExported,
    ProfileImported,
    ProfileShown,
    ServersListed,
)
from engine.values.learned import FingerprintPair, LearnedSummary, LearningProgress
from engine.values.stop_signal import StopSignal


@dataclass(frozen=True)
class PersonalService:
    """Any thread may call `handle`. A change takes effect after the reply in progress."""

    _repository: Repository
    _recall: Recall
    _learning: LearningService
    _readings: Readings
    _servers: Servers
    _emit: Listener
    _post: Callable[[Command], object]  # queues a command of the engine's own
    _erase: Callable[[], object]  # what was deleted, on another thread

    def handle(self, command: PersonalCommand, stop: StopSignal | None = None) -> None:
        """Raises MendableError; what was changed until then takes effect."""
        match command:
            case ReadLearned():
                self._report()
            case ShowProfile(path):
                self._emit(ProfileShown(path, summarize_profile(path)))
            case ExportProfile(path, with_recall):
                export_profile(self._repository, path, with_recall, overwrite=True)
                self._emit(ProfileExported(path, path.stat().st_size, with_recall))
            case ImportProfile():
                self._import(command, stop)
            case UseAdapter():
                self._use(command)
            case ForgetLearned():
                with self._exchanging():
                    self._repository.forget_learned()
                self._erase()
                self._emit(LearnedForgotten())
                self._report()
            case ForgetEverything():
                with self._exchanging():
                    num_conversations = self._repository.forget_everything()
                self._readings.forget_all()
                self._erase()
                self._emit(EverythingForgotten(num_conversations))
                self._emit(FoldersListed(self._repository.list_folders()))
                self._emit(ConversationsListed(self._repository.list_conversations()))
                self._report()
                self._servers.forget()  # last, as their file may refuse
                self._emit(ServersListed((), self._servers.keys.notice))

    def _import(self, command: ImportProfile, stop: StopSignal | None) -> None:
        learned = read_profile(command.path).learned  # before anybody must wait
        with self._exchanging():
            if stop is not None and stop.is_set():
                raise Cancelled("The import was cancelled; nothing was added.")
            outcome = self._repository.add_learned(learned, command.replace)
        self._erase()
        self._emit(ProfileImported(command.path, outcome, command.replace))
        self._report()

    def _use(self, command: UseAdapter) -> None:
        pair = (command.target_fingerprint, command.drafter_fingerprint)
        with self._learning.exchanging():
            before = next((each.number for each in self._repository.list_adapters(*pair) if each.is_published), None)
            self._repository.publish_adapter(*pair, command.number)
        self._emit(AdapterUsed(command, before))
        self._report()

    @contextmanager
    def _exchanging(self) -> Iterator[None]:
        try:
            with self._learning.exchanging():
                yield
        finally:
            self._recall.reload()
            self._post(UpdateRecall())

    def _report(self) -> None:
        learned, pair = self._repository.summarize_learned(), self._learning.pair
        self._emit(LearnedRead(learned, pair, self._recall.vocabulary, self._progress(learned, pair)))

    def _progress(self, learned: LearnedSummary, pair: FingerprintPair | None) -> LearningProgress | None:
        if pair is None or not self._learning.can_learn or learned.adapters.get(pair):
            return None
        candidate = self._repository.candidate(*pair)
        num_left = Capital.of(() if candidate is None else candidate.capital).num_left
        return LearningProgress(learned.scored.get(pair, 0), num_left, self._learning.awaits_power)
