"""Builds the services from the engine's configuration.

Functions import what they build: the window must not wait for llama.cpp, SQLAlchemy, numpy or huggingface_hub, which
load on the engine's own threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from engine import opening
from engine.backend.chats.asking import Asking
from engine.backend.precedence import Precedence
from engine.backend.server.clients import Clients
from engine.backend.server.hosting import Hosting, Served
from engine.backend.teaching.learning_service import LearningService
from engine.values.config import AUTOMATIC, EngineConfig
from engine.values.errors import StoreUnusable
from engine.values.events import DrafterChosen, Event, Listener, OwnWorkFailed
from engine.values.requests import Door, Request, Waits
from engine.values.stop_signal import StopSignal

if TYPE_CHECKING:
    from engine.backend.chats.answering import Answering
    from engine.backend.chats.chat_editor import ChatEditor
    from engine.backend.chats.chat_reader import ChatReader
    from engine.backend.chats.chat_service import ChatService
    from engine.backend.chats.counting import Counting
    from engine.backend.chats.embedding import Embedding
    from engine.backend.chats.erasing import ErasingService
    from engine.backend.chats.message_keeper import MessageKeeper
    from engine.backend.chats.ngram_keeper import NgramKeeper, StoredNgrams
    from engine.backend.chats.open_chats import OpenChats
    from engine.backend.chats.prompt_cache_keeper import PromptCacheKeeper
    from engine.backend.chats.prompts_ahead import PromptsAhead
    from engine.backend.chats.target_in_use import TargetInUse
    from engine.backend.chats.trials import Trials
    from engine.backend.chats.upkeep import Upkeep
    from engine.backend.exchange.file_service import FileService
    from engine.backend.exchange.preset_service import PresetService
    from engine.backend.hub.fetcher import DrafterFetcher, ModelFetcher
    from engine.backend.hub.hub_service import HubService
    from engine.backend.library.inspector import Inspector
    from engine.backend.library.library_service import LibraryService
    from engine.backend.library.saved_downloads import SavedDownloads
    from engine.backend.library.tuning.tuning_service import TuningService
    from engine.backend.profile.forgetting import Forgetting
    from engine.backend.profile.personal_service import PersonalService
    from engine.backend.quiet import Quiet
    from engine.backend.remote.remote_service import RemoteService
    from engine.backend.remote.servers import Servers
    from engine.backend.storage import Repository
    from engine.backend.teaching.recall import Recall
    from engine.backend.tools.interface import ToolHost
    from engine.backend.tools.keys import ToolKeys
    from engine.backend.tools.tool_service import ToolService
    from engine.speculation.decoding.speculation import Speculation
    from engine.speculation.model.files.prompt_cache import PromptCache
    from engine.speculation.model.interface import ParallelTarget, Target
    from engine.speculation.proposers.drafting import Drafting

_T = TypeVar("_T")


class Lazy(Generic[_T]):
    """Something that the first thread to call builds, while others wait. If that fails, the next call tries again."""

    def __init__(self, build: Callable[[], _T], then: Callable[[_T], object] = lambda _built: None) -> None:
        """`then` is given what was built, once; its failure does not undo the building."""
        self._build = build
        self._then = then
        self._lock = threading.Lock()
        self.built: _T | None = None

    def __call__(self) -> _T:
        with self._lock:
            if self.built is None:
                self.built = self._build()
                self._then(self.built)
            return self.built


class OwnDoors(Protocol):
    """The services that the engine asks for its own sake, see `engine/doors.py`."""

    answering: Answering
    embedding: Embedding
    erasing: ErasingService
    keeper: MessageKeeper
    ngrams: NgramKeeper
    prompt_cache_keeper: PromptCacheKeeper
    upkeep: Upkeep


class Services:
    """Each service is built on its thread, by the first request to it."""

    def __init__(
        self,
        config: EngineConfig,
        emit: Listener,
        begin: Callable[..., Request[Any]],
        doors: OwnDoors,
        precedence: Precedence,
    ) -> None:
        self._config = config
        self._listener = emit
        self._served = Served(begin, doors)
        self.hosting = Hosting(config.data_dir, self._served)
        self.clients = Clients(config.data_dir)
        self._begin = begin
        self._doors = doors
        self._precedence = precedence
        self._repository: Lazy[Repository] = Lazy(lambda: opening.open_repository(config), self._erase_deleted)
        self._quiet: Lazy[Quiet] = Lazy(_make_quiet)
        self.learning = LearningService(
            self._repository, config.learning, emit, ngrams=self._stored_ngrams, open_beside=_open_beside
        )
        self._recall: Lazy[Recall] = Lazy(self._build_recall)
        self.keeper: Lazy[MessageKeeper] = Lazy(self._build_keeper)
        self.prompt_cache: Lazy[PromptCache] = Lazy(self._build_prompt_cache)
        self.cache_keeper: Lazy[PromptCacheKeeper] = Lazy(self._build_cache_keeper)
        self.library: Lazy[LibraryService] = Lazy(self._build_library)
        self.downloads: Lazy[SavedDownloads] = Lazy(lambda: opening.saved_downloads(config))
        self.asking = Asking()
        self._tool_host: Lazy[ToolHost] = Lazy(lambda: opening.make_tool_host(config, emit, self.tool_keys()))
        self.tool_keys: Lazy[ToolKeys] = Lazy(lambda: opening.make_tool_keys(self._servers()))
        self._servers: Lazy[Servers] = Lazy(lambda: opening.open_servers(config))
        self.target: Lazy[TargetInUse] = Lazy(self._build_target)
        self._chats: Lazy[OpenChats] = Lazy(self._build_chats)
        self.chat: Lazy[ChatService] = Lazy(self._build_chat)
        self.answering: Lazy[Answering] = Lazy(self._build_answering)
        self.embedding: Lazy[Embedding] = Lazy(self._build_embedding)
        self.trials: Lazy[Trials] = Lazy(self._build_trials)
        self.counting: Lazy[Counting] = Lazy(self._build_counting)
        self.files: Lazy[FileService] = Lazy(self._build_files)
        self.hub: Lazy[HubService] = Lazy(self._build_hub)
        self.tools: Lazy[ToolService] = Lazy(self._build_tools)
        self.presets: Lazy[PresetService] = Lazy(self._build_presets)
        self.remote: Lazy[RemoteService] = Lazy(self._build_remote)
        self.chats: Lazy[ChatReader] = Lazy(self._build_reader)
        self.editor: Lazy[ChatEditor] = Lazy(self._build_editor)
        self.ahead: Lazy[PromptsAhead] = Lazy(self._build_ahead)
        self.ngrams: Lazy[NgramKeeper] = Lazy(self._build_ngrams)
        self.erasing: Lazy[ErasingService] = Lazy(self._build_erasing)
        self.models: Lazy[ModelFetcher] = Lazy(self._build_models)
        self.drafters: Lazy[DrafterFetcher] = Lazy(self._build_drafters)
        self.inspector: Lazy[Inspector] = Lazy(self._build_inspector)
        self.tuning: Lazy[TuningService] = Lazy(self._build_tuning)
        self.personal: Lazy[PersonalService] = Lazy(self._build_personal)
        self.forgetting: Lazy[Forgetting] = Lazy(self._build_forgetting)
        self.upkeep: Lazy[Upkeep] = Lazy(self._build_upkeep)

    @contextmanager
    def at_work(self, door: Door) -> Iterator[None]:
        """Nothing is measured or learned inside if someone waits for the target."""
        if door.thread != "chat" or door.waits is Waits.NOBODY:
            yield
            return
        with self._quiet().broken(), self.learning.pause():
            yield

    def close_chat(self) -> None:
        if self.embedding.built is not None:
            self.embedding.built.close()
        if self.target.built is not None:
            self.target.built.close()

    def acquit_target(self) -> None:
        if self.target.built is not None:
            self.target.built.acquit()

    def end_learning(self) -> None:
        self.learning.close()

    def end_waiting(self) -> None:
        """Tries once more to store what the store refused, and no longer waits for a locked store."""
        if self.keeper.built is not None:
            self.keeper.built.close()
        if self._repository.built is not None:
            self._repository.built.end_waiting()

    def end_tools(self) -> None:
        if self._tool_host.built is not None:
            self._tool_host.built.close()

    def close_store(self, timeout_s: float) -> bool:
        """False if the learner was still busy after `timeout_s`; the store then stays open."""
        if not self.learning.join(timeout_s):
            return False
        if self._repository.built is not None:
            self._repository.built.close()
        return True

    def _erase(self) -> None:
        self._do(self._doors.erasing.erase)

    def _catch_up(self, restarts: bool = False) -> None:
        self._do(self._doors.upkeep.catch_up, restarts)

    def _do(self, method: Callable[..., object], *args: object) -> None:
        """Asks for the engine's own sake: no caller waits, so a failure is an event."""
        request = self._begin(method, args, {})
        request.future.add_done_callback(lambda _settled: self._tell_trouble(request))

    def _tell_trouble(self, request: Request[Any]) -> None:
        if (failure := request.failure) and not failure.is_stopped:
            self._emit(OwnWorkFailed(failure.sentence))

    def _emit(self, event: Event) -> None:
        self._served.note(event)
        self._listener(event)

    def _erase_deleted(self, repository: Repository) -> None:
        """Erases chats that were deleted before this start. A failure is reported, and tried again, with the rest."""
        with suppress(StoreUnusable):
            repository.purge_deleted()
        self._erase()

    def _build_target(self) -> TargetInUse:
        from engine.backend.chats.target_in_use import TargetInUse
        from engine.backend.remote.targets import RemoteTargets
        from engine.loading import load_target

        shared = self._repository(), self._recall(), self.learning
        remote = RemoteTargets(self._servers())
        cache = self.prompt_cache()
        return TargetInUse(*shared, load_target, self._speculate, self._emit, self._catch_up, cache, remote)

    def _build_chats(self) -> OpenChats:
        from engine.backend.chats.open_chats import OpenChats

        return OpenChats(self._repository(), self.keeper(), self.target())

    def _build_chat(self) -> ChatService:
        from engine.backend.chats.calling import Calling
        from engine.backend.chats.chat_service import ChatService

        calling = Calling(self._repository(), self.keeper(), self._tool_host, self.asking, self._emit)
        return ChatService(
            self._repository(),
            self._recall(),
            self.learning,
            self.target(),
            self.keeper(),
            self._chats(),
            self.cache_keeper(),
            calling,
            keep_part=partial(self._do, self._doors.keeper.keep),
            emit=self._emit,
            catch_up=self._catch_up,
        )

    def _build_answering(self) -> Answering:
        from engine.backend.chats.answering import Answering
        from engine.backend.chats.remembering import Remembering

        target, keeper = self.target(), self.keeper()
        remembering = Remembering(self._repository(), keeper, self._emit)
        told = self._emit, self._catch_up
        return Answering(self._recall(), self.learning, target, keeper, remembering, self._precedence, *told)

    def _build_embedding(self) -> Embedding:
        from engine.backend.chats.embedding import Embedding
        from engine.loading import load_embedder

        return Embedding(load_embedder, self._precedence)

    def _build_trials(self) -> Trials:
        from engine.backend.chats.trials import Trials

        return Trials(self._repository(), self._recall(), self.target(), self._chats(), self.cache_keeper())

    def _build_counting(self) -> Counting:
        from engine.backend.chats.counting import Counting

        return Counting(lambda: self.target.built)

    def _build_reader(self) -> ChatReader:
        from engine.backend.chats.chat_reader import ChatReader

        return ChatReader(self._repository(), self.keeper(), self._emit)

    def _build_editor(self) -> ChatEditor:
        from engine.backend.chats.chat_editor import ChatEditor

        shared = self._repository(), self._recall(), self.learning
        return ChatEditor(*shared, self.keeper(), self.prompt_cache(), self._emit, self._erase)

    def _build_ahead(self) -> PromptsAhead:
        from engine.backend.chats.prompts_ahead import PromptsAhead

        return PromptsAhead(self._repository(), self.keeper(), self._emit)

    def _build_ngrams(self) -> NgramKeeper:
        from engine.backend.chats.ngram_keeper import NgramKeeper

        return NgramKeeper(self._repository(), self.learning.era)

    def _build_erasing(self) -> ErasingService:
        from engine.backend.chats.erasing import ErasingService

        return ErasingService(self._repository(), self.prompt_cache(), self._emit)

    def _build_keeper(self) -> MessageKeeper:
        from engine.backend.chats.message_keeper import MessageKeeper

        try_again = partial(self._do, self._doors.keeper.store_held)
        return MessageKeeper(self._repository(), self._emit, try_again)

    def _build_library(self) -> LibraryService:
        return opening.make_library(self._config, self._repository(), self._emit, lambda: self._served.loaded)

    def _build_tuning(self) -> TuningService:
        rest = self.learning.pause
        return opening.make_tuning(self._config, self._repository(), self.library, self._quiet(), rest)

    def _build_tools(self) -> ToolService:
        from engine.backend.tools.tool_service import ToolService

        return ToolService(self._tool_host(), self.tool_keys(), self._emit)

    def _build_remote(self) -> RemoteService:
        from engine.backend.remote.remote_service import RemoteService

        return RemoteService(self._servers(), self._emit)

    def _build_personal(self) -> PersonalService:
        from engine.backend.profile.personal_service import PersonalService

        shared = self._repository(), self._recall(), self.learning
        return PersonalService(*shared, self._emit, self._catch_up, self._erase)

    def _build_forgetting(self) -> Forgetting:
        from engine.backend.profile.forgetting import Forgetting

        return Forgetting(self._repository(), self.personal(), self.prompt_cache(), self._servers(), self._emit)

    def _build_files(self) -> FileService:
        from engine.backend.exchange.file_service import FileService

        def count(text: str) -> int | None:
            target = self.target.built
            return None if target is None else target.count_tokens(text)

        return FileService(self._repository, self.presets, self.learning, self._emit, self._catch_up, count)

    def _build_presets(self) -> PresetService:
        from engine.backend.exchange.preset_service import PresetService

        return PresetService(self._repository(), self._emit)

    def _build_hub(self) -> HubService:
        from engine.backend.hub.hub_service import HubService

        return HubService(self.library)

    def _build_models(self) -> ModelFetcher:
        from engine.backend.hub.fetcher import ModelFetcher

        return ModelFetcher(self.downloads(), self.library)

    def _build_drafters(self) -> DrafterFetcher:
        from engine.backend.hub.fetcher import DrafterFetcher

        return DrafterFetcher(self._config.data_dir, self.downloads(), self.library)

    def _build_inspector(self) -> Inspector:
        from engine.backend.library.inspector import Inspector

        return Inspector(self._config.data_dir)

    def _build_prompt_cache(self) -> PromptCache:
        from engine.speculation.model.files.prompt_cache import PromptCache

        return PromptCache(self._config.data_dir, self._config.prompt_cache)

    def _build_cache_keeper(self) -> PromptCacheKeeper:
        from engine.backend.chats.prompt_cache_keeper import PromptCacheKeeper

        write_all = partial(self._do, self._doors.prompt_cache_keeper.write_all)
        return PromptCacheKeeper(
            self.prompt_cache(), write_all, lambda: self._begin(self._doors.upkeep.next_part, (), {})
        )

    def _build_upkeep(self) -> Upkeep:
        from engine.backend.chats.upkeep import Upkeep

        return Upkeep(self._recall(), self.target(), self.cache_keeper(), self._emit, self._catch_up)

    def _build_recall(self) -> Recall:
        from engine.backend.teaching.recall import Recall

        return Recall(self._repository())

    def _stored_ngrams(self) -> StoredNgrams:
        from engine.backend.chats.ngram_keeper import StoredNgrams

        return StoredNgrams(self._repository(), partial(self._do, self._doors.ngrams.save), self.learning.era.number)

    def _speculate(self, target: Target, stop: StopSignal, drafter: str, identity: str) -> Speculation:
        from engine.backend.chats.stored_policy import StoredPolicy
        from engine.backend.chats.target_in_use import speculation_changed
        from engine.loading import speculate
        from engine.speculation.proposers.supply import DrafterSupply, Known

        name = target.description.name

        def show(speculation: Speculation) -> None:
            self._emit(speculation_changed(name, speculation))

        config = self._config
        if drafter != AUTOMATIC:
            config = replace(config, speculation=replace(config.speculation, drafter=drafter))
        ngrams, repository = self._stored_ngrams(), self._repository()
        supply = DrafterSupply(
            config,
            target,
            identity,
            Known(ngrams, repository, repository.list_targets),
            on_drafting=lambda drafting: self._use_drafting(drafting, ngrams.era),
            on_choice=lambda choice: self._emit(DrafterChosen(name, choice)),
        )
        memory = StoredPolicy(repository, identity, opening.llama_cpp_build(), target.description.threads)
        return speculate(config, target, stop, supply, self._recall().indexes, show, memory=memory)

    def _use_drafting(self, drafting: Drafting | None, era: int) -> None:
        if drafting is None:
            self.learning.detach()
        else:
            self.learning.open(drafting, era)


def _open_beside(target: Target, num_slots: int, context_size: int) -> ParallelTarget:
    from engine.loading import open_beside

    return open_beside(target, num_slots, context_size)


def _make_quiet() -> Quiet:
    from engine.backend.quiet import Quiet

    return Quiet()
