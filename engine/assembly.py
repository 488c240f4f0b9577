"""Builds the engine from its configuration; the only file that names every concrete class.

Slow libraries (llama.cpp, SQLAlchemy) are imported here and inside functions on purpose: they load on the engine's
own threads, after the window is up.
"""

from __future__ import annotations

import importlib.resources
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from engine.config import DistillSettings, EngineConfig, TargetSettings, update_url
from engine.drafter.choice import BUILT_IN, drafter_folder, fetched_folder, is_fetched
from engine.errors import AdapterMissing, CardsTooSmall, DrafterUnusable, LoadCancelled, MendableError
from engine.messages.commands import (
    ChangeConversation,
    ChatCommand,
    CheckForUpdate,
    Command,
    CountTokens,
    DeleteConversation,
    DownloadCommand,
    DownloadTarget,
    FileCommand,
    ForgetConversation,
    ForgetEverything,
    HubCommand,
    ImportConversations,
    ImportProfile,
    KeepDraft,
    KeepNgrams,
    LearningCommand,
    LibraryCommand,
    PersonalCommand,
    ReadRuntime,
    RenameConversation,
    RestoreConversation,
    SearchCommand,
    ShowBranch,
    StoreCommand,
)
from engine.messages.events import (
    DrafterFetched,
    DrafterFetching,
    Event,
    Listener,
    RuntimeRead,
    SpeculationChanged,
    TokensCounted,
    UpdateChecked,
)
from engine.services.learning_service import LearningService
from engine.services.worker import Worker
from engine.stop_signal import StopSignal
from engine.target.loaded import LoadedTarget

if TYPE_CHECKING:
    from engine.decoding.speculation import Speculation
    from engine.hub.kept import KeptDownloads
    from engine.lab.distillation.progress import DistillProgress
    from engine.lab.measuring.measurement import Measurement
    from engine.lab.measuring.order import BenchOrder
    from engine.messages.learned import ImportOutcome, LearnedSummary, NgramRecord, ProfileSummary, RecallText
    from engine.messages.targets import GpuSupport, HubFile
    from engine.numerics.suffix_index import SuffixIndex
    from engine.proposers.drafting import Drafting, NgramMemory
    from engine.replies.reply import ReplyWriter
    from engine.services.chat_service import ChatService
    from engine.services.file_service import FileService
    from engine.services.library_service import LibraryService
    from engine.services.personal_service import PersonalService
    from engine.services.recall import Recall
    from engine.services.store_service import StoreService
    from engine.services.token_counter import TokenCounter
    from engine.storage import Repository
    from engine.target.files import TargetFile
    from engine.target.interface import Target

_CLOSING_PATIENCE_S = 1.8

_logger = logging.getLogger("slipstream.assembly")


class Engine:
    """A listener and a thread for each kind of command that must not wait for the others: answering, looking after the
    kept conversations meanwhile, the library of targets, files of chats, what is learned as a whole, asking the hub,
    and fetching drafters and targets from there.

    `listener` is called on any of them. Nothing slow happens in the constructor or in `post`.
    """

    def __init__(self, config: EngineConfig, listener: Listener) -> None:
        self._parts = _Parts(config, listener, self.post)
        self._chat = Worker("slipstream-chat", self._parts.handle_chat, listener, self._parts.close_chat)
        self._store = Worker("slipstream-store", self._parts.handle_store, listener, is_owed=_is_owed)
        self._library = Worker("slipstream-library", self._parts.handle_library, listener)
        self._hub = Worker("slipstream-hub", self._parts.handle_hub, listener)
        self._personal = Worker("slipstream-personal", self._parts.handle_personal, listener)
        self._files = Worker("slipstream-files", self._parts.handle_files, listener)
        self._search = Worker("slipstream-search", self._parts.handle_search, listener)
        self._download = Worker("slipstream-download", self._parts.handle_download, listener)
        self._with_store = (self._chat, self._store, self._library, self._personal, self._files)
        self._with_network = (self._hub, self._search, self._download)
        for worker in (*self._with_store, *self._with_network):
            worker.start()

    def post(self, command: Command) -> StopSignal:
        """Have the command carried out. Setting the returned signal ends it early; the engine then says how far it
        came."""
        if isinstance(command, ForgetEverything):  # what was begun before is forgotten with the rest
            self._files.stop(ImportConversations)
            self._personal.stop(ImportProfile)
        if isinstance(command, ChatCommand | ForgetEverything):  # which no reply may come after
            worker = self._chat
        elif isinstance(command, LibraryCommand | ReadRuntime):
            worker = self._library
        elif isinstance(command, PersonalCommand):
            worker = self._personal
        elif isinstance(command, HubCommand):
            worker = self._hub
        elif isinstance(command, SearchCommand | CheckForUpdate):
            worker = self._search
        elif isinstance(command, DownloadCommand):
            worker = self._download
        elif isinstance(command, FileCommand):
            worker = self._files
        else:
            worker = self._store
        return worker.post(command)

    def close(self) -> bool:
        """Ends everything within two seconds. False if a thread was still busy then (it dies with the process)."""
        self._parts.end_learning()
        for worker in (*self._with_store, *self._with_network):
            worker.end()
        deadline = time.monotonic() + _CLOSING_PATIENCE_S
        ended = [worker.join(deadline - time.monotonic()) for worker in self._with_store]
        ended.append(all(ended) and self._parts.close_store(deadline - time.monotonic()))
        # A network may be silent for longer.
        ended += [worker.join(deadline - time.monotonic()) for worker in self._with_network]
        return all(ended)


_OWED = (
    KeepDraft
    | RenameConversation
    | DeleteConversation
    | RestoreConversation
    | ForgetConversation
    | ChangeConversation
    | ShowBranch
)


def _is_owed(command: Command) -> bool:
    """Whether it is carried out even when the app is being closed."""
    return isinstance(command, _OWED)


class _Parts:
    """The services behind the threads, each built on its own thread by the first command that needs it.

    What could not be built (a store that cannot be opened, say) is tried again by the next command.
    """

    def __init__(self, config: EngineConfig, emit: Listener, post: Callable[[Command], object]) -> None:
        self._config = config
        self._loaded = LoadedTarget()
        self._listener = emit
        self._post = post
        self._lock = threading.Lock()
        self._repository: Repository | None = None
        self._recall: Recall | None = None
        self._learning = LearningService(self._open_repository, config.learning, emit, ngrams=self._stored_ngrams)
        self._chat: ChatService | None = None
        self._store: StoreService | None = None
        self._library: LibraryService | None = None
        self._counter: TokenCounter | None = None
        self._files: FileService | None = None
        self._personal: PersonalService | None = None

    def handle_chat(self, command: Command, stop: StopSignal) -> None:
        if isinstance(command, ForgetEverything):
            self.handle_personal(command, stop)
            return
        assert isinstance(command, ChatCommand)
        if self._chat is None:
            from engine.services.chat_service import ChatService

            self._chat = ChatService(
                self._open_repository(),
                self._open_recall(),
                self._learning,
                load_file,
                self._speculate,
                self._emit,
                self._post,
                self._open_counter(),
            )
        self._chat.handle(command, stop)

    def handle_store(self, command: Command, stop: StopSignal) -> None:
        if isinstance(command, CountTokens):
            self._count(command.text, stop)
            return
        if isinstance(command, LearningCommand):  # holds also where no store can be opened
            self._learning.change(command.settings)
            return
        assert isinstance(command, StoreCommand)
        if self._store is None:
            from engine.services.store_service import StoreService

            self._store = StoreService(self._open_repository(), self._open_recall(), self._learning, self._emit)
        self._store.handle(command, stop)

    def handle_files(self, command: Command, stop: StopSignal) -> None:
        assert isinstance(command, FileCommand)
        if self._files is None:
            from engine.services.file_service import FileService

            self._files = FileService(self._open_repository, self._learning, self._emit, self._post)
        self._files.handle(command, stop)

    def handle_library(self, command: Command, stop: StopSignal) -> None:
        if isinstance(command, ReadRuntime):  # holds also where no store can be opened
            from engine.target.llama_cpp import read_runtime

            self._emit(RuntimeRead(read_runtime()))
            return
        assert isinstance(command, LibraryCommand)
        self._open_library().handle(command, stop)

    def handle_personal(self, command: Command, stop: StopSignal) -> None:
        assert isinstance(command, PersonalCommand)
        self._open_personal().handle(command, stop)

    def handle_hub(self, command: Command, stop: StopSignal) -> None:
        assert isinstance(command, HubCommand)
        fetch_drafter(self._config, command.name, self._emit, stop)
        self._emit(DrafterFetched(command.name))

    def handle_download(self, command: Command, stop: StopSignal) -> None:
        assert isinstance(command, DownloadCommand)
        from engine.services.hub_service import DownloadService

        DownloadService(kept_downloads(self._config), self._open_library(), self._emit).handle(command, stop)

    def handle_search(self, command: Command, stop: StopSignal) -> None:
        if isinstance(command, CheckForUpdate):
            from engine.hub.releases import newer_release

            self._emit(UpdateChecked(command, newer_release(update_url(), version("slipstream"), stop)))
            return
        assert isinstance(command, SearchCommand)
        from engine.services.hub_service import SearchService

        SearchService(self._emit).handle(command, stop)

    def _count(self, text: str, stop: StopSignal) -> None:
        """Unless somebody asked for something else meanwhile."""
        counter = self._counter
        if counter is not None and counter.is_open and not stop.is_set():
            self._emit(TokensCounted(text, counter.count(text)))

    def close_chat(self) -> None:
        if self._chat is not None:
            self._chat.close()

    def end_learning(self) -> None:
        self._learning.close()

    def close_store(self, timeout_s: float) -> bool:
        """False if the learner was still busy after `timeout_s`; the store then stays open."""
        if not self._learning.join(timeout_s):
            return False
        if self._repository is not None:
            self._repository.close()
        return True

    def _speculate(self, target: Target, stop: StopSignal, drafter: str) -> Speculation:
        def tell(speculation: Speculation) -> None:
            self._emit(SpeculationChanged(target.description.name, speculation.state, speculation.is_drafting))

        config = self._config
        if drafter != BUILT_IN and config.speculation.enabled:
            try:
                folder = drafter_folder(drafter, config.data_dir)
            except DrafterUnusable as error:
                from engine.decoding.speculation import Speculation

                return Speculation.off(str(error))
            config = replace(config, speculation=replace(config.speculation, drafter=folder))
        ngrams = self._stored_ngrams()
        return speculate(
            config,
            target,
            stop,
            ngrams,
            self._open_recall().indexes,
            tell,
            on_drafting=lambda drafting: self._learning.open(drafting, ngrams.era),
        )

    def _emit(self, event: Event) -> None:
        self._loaded.hear(event)
        self._listener(event)

    def _open_library(self) -> LibraryService:
        repository = self._open_repository()
        with self._lock:
            if self._library is None:
                self._library = make_library(self._config, repository, self._emit, self._loaded)
            return self._library

    def _open_counter(self) -> TokenCounter:
        from engine.services.token_counter import TokenCounter

        self._counter = TokenCounter()
        return self._counter

    def _stored_ngrams(self) -> _StoredNgrams:
        return _StoredNgrams(self._open_repository(), self._post, self._learning.era.number)

    def _open_personal(self) -> PersonalService:
        repository, recall = self._open_repository(), self._open_recall()
        with self._lock:
            if self._personal is None:
                from engine.services.personal_service import PersonalService

                self._personal = PersonalService(repository, recall, self._learning, self._emit, self._post)
            return self._personal

    def _open_repository(self) -> Repository:
        with self._lock:  # one thread brings the store up to date, the other waits for it
            if self._repository is None:
                self._repository = open_repository(self._config)
                self._repository.purge_deleted()
            return self._repository

    def _open_recall(self) -> Recall:
        repository = self._open_repository()
        with self._lock:
            if self._recall is None:
                from engine.services.recall import Recall

                self._recall = Recall(repository)
            return self._recall


class _StoredNgrams:
    """Implements `engine.proposers.drafting.NgramMemory`: read here and now, written by the thread of the store."""

    def __init__(self, repository: Repository, post: Callable[[Command], object], era: int) -> None:
        self._repository = repository
        self._post = post
        self.era = era  # in which they are loaded

    def load(self, target_fingerprint: str, drafter_fingerprint: str) -> Sequence[NgramRecord]:
        return self._repository.load_ngrams(target_fingerprint, drafter_fingerprint)

    def save(self, target_fingerprint: str, drafter_fingerprint: str, changed: Sequence[NgramRecord]) -> None:
        self._post(KeepNgrams(target_fingerprint, drafter_fingerprint, tuple(changed), self.era))


def kept_downloads(config: EngineConfig) -> KeptDownloads:
    from engine.hub.kept import KeptDownloads

    return KeptDownloads(config.data_dir / "models")


def make_library(
    config: EngineConfig, repository: Repository, emit: Listener, loaded: LoadedTarget | None = None
) -> LibraryService:
    from engine.services.library_service import LibraryService

    return LibraryService(repository, kept_downloads(config), loaded or LoadedTarget(), emit, _gpu_support)


def _gpu_support() -> GpuSupport:
    from engine.target.llama_cpp import gpu_support

    return gpu_support()


@contextmanager
def open_library(config: EngineConfig, emit: Listener = lambda _event: None) -> Iterator[LibraryService]:
    """The library of targets, for the command line. Raises StoreUnusable."""
    with closing(open_repository(config)) as repository:
        yield make_library(config, repository, emit)


def list_hub_files(repository: str) -> tuple[HubFile, ...]:
    """The models in a repository of the hub, smallest first. Raises FetchFailed."""
    from engine.hub.search import list_files

    return list_files(repository)


def download_target(config: EngineConfig, file: HubFile, emit: Listener, stop: StopSignal) -> Path:
    """Brings a model here and adds it to the library. Raises FetchFailed, FetchCancelled and StoreUnusable."""
    from engine.services.hub_service import DownloadService

    with open_library(config, emit) as library:
        return DownloadService(kept_downloads(config), library, emit).handle(DownloadTarget(file), stop)


def open_repository(config: EngineConfig) -> Repository:
    """Raises StoreUnusable."""
    from engine.storage import Repository

    return Repository.open(config.data_dir)


def summarize_learned(config: EngineConfig) -> LearnedSummary:
    """How much is learned from chats. Raises StoreUnusable."""
    with closing(open_repository(config)) as repository:
        return repository.summarize_learned()


def summarize_profile(path: Path) -> ProfileSummary:
    """What a profile holds; nothing is imported. Raises ProfileUnusable unless all of it is in order."""
    from engine.profile.transfer import summarize_profile as summarize

    return summarize(path)


def export_profile(config: EngineConfig, path: Path, with_recall: bool = False, overwrite: bool = False) -> None:
    """Writes what is learned into one file, whole or not at all. Texts to recall hold what was typed, and are left out
    unless they are asked for. Raises ProfileUnusable where it cannot be written, and StoreUnusable."""
    from engine.profile.transfer import export_profile as export

    with closing(open_repository(config)) as repository:
        export(repository, path, with_recall, overwrite)


def import_profile(config: EngineConfig, path: Path, replace: bool = False) -> ImportOutcome:
    """Joins what a profile holds with what is learned here, or puts it in its place; all or nothing.

    Raises ProfileUnusable unless all of the file is in order, and StoreUnusable.
    """
    from engine.profile.transfer import import_profile as import_

    with closing(open_repository(config)) as repository:
        return import_(repository, path, replace)


def use_adapter(config: EngineConfig, number: int | None) -> None:
    """Puts an earlier adapter in use again; None: no drafter uses one. Raises AdapterMissing and StoreUnusable."""
    with closing(open_repository(config)) as repository:
        found = False
        for pair, adapters in repository.summarize_learned().adapters.items():
            if number is None or any(adapter.number == number for adapter in adapters):
                repository.publish_adapter(*pair, number)
                found = True
        if number is not None and not found:
            raise AdapterMissing(f"There is no adapter {number}; `slipstream profile show` lists those that are kept.")


def forget_learned(config: EngineConfig) -> None:
    """Removes what is learned for good; chats stay. Raises StoreUnusable."""
    with closing(open_repository(config)) as repository:
        repository.forget_learned()


def load_file(
    file: TargetFile, settings: TargetSettings, on_progress: Callable[[float], None], stop: StopSignal
) -> Target:
    """Loads a target with llama.cpp, as far as there is room on graphics cards if that is left to us, else on the CPU.
    Raises what `LlamaCppTarget.load` raises."""
    from engine.library.loading import fitted
    from engine.target.llama_cpp import LlamaCppTarget
    from engine.target.preflight import preflight

    if not file.trusted:
        preflight(file.path, stop)
    try:
        return LlamaCppTarget.load(file.path, file.name, fitted(file.path, settings), on_progress, stop)
    except CardsTooSmall:
        if settings.gpu_layers is not None:
            raise
        return LlamaCppTarget.load(file.path, file.name, replace(settings, gpu_layers=0), on_progress, stop)


@contextmanager
def open_writer(
    config: EngineConfig,
    target: str,
    settings: TargetSettings,
    on_progress: Callable[[float], None],
    stop: StopSignal,
) -> Iterator[ReplyWriter]:
    """A writer of replies without threads or kept conversations, for the command line. It leaves the store as it is,
    and opens it only for the name of a target used before. Its target is closed with it.

    Raises what resolving and loading the target raise, TemplateFailed and StoreUnusable; DrafterUnusable for a drafter
    that was asked for by name.
    """
    from engine.replies.reply import ReplyWriter
    from engine.target.interface import Interrupted

    at_once = config.speculation.drafter is not None or config.speculation.device is not None  # asked for: no excuses
    with ExitStack() as opened:
        try:
            loaded = opened.enter_context(closing(load_file(resolve(config, target), settings, on_progress, stop)))
            writer = ReplyWriter(loaded, speculate(config, loaded, stop, at_once=at_once))
        except Interrupted as error:
            raise LoadCancelled(f"Loading {target} was cancelled.") from error
        yield opened.enter_context(closing(writer))


def resolve(config: EngineConfig, target: str) -> TargetFile:
    """The file of `starter`, of a path, or of a target used before. Raises TargetMissing and StoreUnusable."""
    from engine.target.files import named_file, resolve_target

    file = named_file(target)
    if file is None:
        repository = open_repository(config)
        try:
            file = resolve_target(target, repository)
        finally:
            repository.close()
    return file


def speculate(
    config: EngineConfig,
    target: Target,
    stop: StopSignal,
    memory: NgramMemory | None = None,
    remembered: Callable[[], Sequence[SuffixIndex]] = tuple,
    on_changed: Callable[[Speculation], None] = lambda _speculation: None,
    at_once: bool = False,
    on_drafting: Callable[[Drafting], None] = lambda _drafting: None,
) -> Speculation:
    """Drafts for this target: from what is remembered at once, with the drafter as soon as it is loaded, which happens
    on a thread of its own. `on_changed` hears what came of it, and `on_drafting` is given the drafter before it drafts.
    With `at_once` the drafter is loaded here and now, and what that raises is raised.

    Raises Interrupted.
    """
    from engine.decoding.pass_costs import measure_passes
    from engine.decoding.speculation import CANNOT_ROLL_BACK, Speculation
    from engine.proposers.chooser import Chooser
    from engine.proposers.suffix_lookup import SuffixLookup
    from engine.target.interface import TargetFeature

    settings = config.speculation
    if not settings.enabled:
        return Speculation.off("Speculation is switched off.")
    if TargetFeature.ROLLBACK not in target.features:
        return Speculation.off(CANNOT_ROLL_BACK)
    speculation = Speculation(Chooser(measure_passes(target, stop), SuffixLookup(remembered)), on_changed)

    def begin() -> None:
        drafting = make_drafting(config, target, memory, lambda: speculation.is_closed)
        if speculation.is_closed:  # another target or drafter came meanwhile
            return
        on_drafting(drafting)
        proposer = drafting.proposer
        speculation.begin(proposer, proposer.measure_cost())

    def load() -> None:
        try:
            begin()
        except MendableError as error:
            speculation.give_up(str(error))
        except BaseException as error:  # panics of Rust libraries are no Exception
            _logger.exception("the drafter could not be loaded")
            reason = f"The drafter could not be loaded ({type(error).__name__}); replies are written without it."
            speculation.give_up(reason)

    if at_once:
        begin()
    else:
        # No daemon: a process that ends while torch is being loaded would abort. It waits for a step of the loading.
        threading.Thread(target=load, name="slipstream-drafter", daemon=False).start()
    return speculation


def make_drafting(
    config: EngineConfig,
    target: Target,
    memory: NgramMemory | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Drafting:
    """The drafter of the settings for this target; see `open_drafting`, and for what it raises too."""
    from engine.drafter.torch_library import preload_torch

    preload_torch()
    from engine.proposers.drafting import open_drafting

    settings = config.speculation
    folder = settings.drafter or built_in_drafter()
    return open_drafting(settings, folder, config.data_dir / "vocabulary-maps", target.vocabulary, memory, is_cancelled)


def fetch_drafter(
    config: EngineConfig, name: str, on_progress: Callable[[DrafterFetching], None], stop: StopSignal
) -> Path:
    """The folder of a drafter from the hub; one that is there already costs no word on the network.

    Raises FetchFailed, DrafterUnusable and FetchCancelled.
    """
    folder = fetched_folder(name, config.data_dir)
    if not is_fetched(folder):
        from engine.hub.drafters import fetch_drafter as fetch

        fetch(name, config.data_dir, stop, on_progress)
    return folder


def built_in_drafter() -> Path:
    return Path(str(importlib.resources.files("resources") / "drafter"))


def open_bench(config: EngineConfig, order: BenchOrder, stop: StopSignal) -> Measurement:
    """What is to be measured, loaded; whoever opened it closes it.

    Raises PromptsUnreadable, Interrupted, and what resolving and loading the target and the drafter raise.
    """
    from engine.lab.measuring.opening import open_measurement
    from engine.target.interface import Interrupted
    from engine.target.llama_cpp import load_vocabulary

    profile = None if order.profile is None else _Profile(order.profile)

    def load_target() -> Target:
        return load_file(resolve(config, order.target), TargetSettings(), lambda _progress: None, stop)

    def drafting_for(target: Target) -> Drafting:
        drafting = make_drafting(config, target, profile)
        if profile is not None:
            profile.teach(drafting)
        return drafting

    def remembered(target: Target) -> Sequence[RecallText]:
        return () if profile is None else profile.texts(target)

    try:
        return open_measurement(order, load_target, load_vocabulary, drafting_for, stop, remembered)
    except Interrupted as error:
        raise LoadCancelled(f"Loading {order.target} was cancelled.") from error


class _Profile:
    """What a profile holds, for a measurement. Implements `engine.proposers.drafting.NgramMemory`, but keeps
    nothing."""

    def __init__(self, path: Path) -> None:
        """Raises ProfileUnusable."""
        from engine.profile.transfer import read_profile

        self._learned = read_profile(path).learned

    def load(self, target_fingerprint: str, drafter_fingerprint: str) -> Sequence[NgramRecord]:
        return self._learned.ngrams.get((target_fingerprint, drafter_fingerprint), ())

    def save(self, target_fingerprint: str, drafter_fingerprint: str, changed: Sequence[NgramRecord]) -> None: ...

    def teach(self, drafting: Drafting) -> None:
        """The adapter in use, if there is one for this drafter. Raises AdapterUnusable."""
        pair = (drafting.target_fingerprint, drafting.drafter_fingerprint)
        for adapter in self._learned.adapters.get(pair, ()):
            if adapter.is_published:
                drafting.use(drafting.read_adapter(adapter.weights))

    def texts(self, target: Target) -> tuple[RecallText, ...]:
        """Older than whatever is said now."""
        from engine.messages.learned import RecallText
        from engine.target.vocabulary_name import vocabulary_fingerprint

        texts = self._learned.recall.get(vocabulary_fingerprint(target.vocabulary), ())
        return tuple(RecallText(place - len(texts), -1, tokens) for place, tokens in enumerate(texts))


def distill(
    config: EngineConfig, settings: DistillSettings, folder: Path, on_progress: Callable[[DistillProgress], None]
) -> None:
    """Makes a drafter for a target. Takes as long as the settings say, and what writing or reading the corpus takes.

    Raises what resolving and loading the target raise, CorpusUnreadable, DrafterUnusable, and MendableError when
    something cannot be written.
    """
    from engine.drafter.checkpoint import load_drafter
    from engine.lab.distillation.distilling import distill as make
    from engine.proposers.neural import measure_step
    from engine.target.threads import usable_cores

    def judge(drafter: Path, order: BenchOrder) -> Measurement:
        speculation = replace(order.speculation, drafter=drafter)
        return open_bench(replace(config, speculation=speculation), order, StopSignal())

    def measure(drafter: Path) -> float:
        return measure_step(load_drafter(drafter, config.speculation.device, usable_cores()).model)

    if settings.start is None or settings.start.exists():
        make(settings, resolve(config, settings.target), folder, on_progress, judge, measure)
    else:
        raise DrafterUnusable(f"There is no folder {settings.start}; choose the folder of a drafter to start from.")
