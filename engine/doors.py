"""Which services there are, and on which thread each of them works."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.values.requests import Waits, door_to

if TYPE_CHECKING:
    from engine.backend.chats.answering import Answering
    from engine.backend.chats.asking import Asking
    from engine.backend.chats.chat_editor import ChatEditor
    from engine.backend.chats.chat_reader import ChatReader
    from engine.backend.chats.chat_service import ChatService
    from engine.backend.chats.counting import Counting
    from engine.backend.chats.embedding import Embedding
    from engine.backend.chats.erasing import ErasingService
    from engine.backend.chats.message_keeper import MessageKeeper
    from engine.backend.chats.ngram_keeper import NgramKeeper
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
    from engine.backend.remote.remote_service import RemoteService
    from engine.backend.server.clients import Clients
    from engine.backend.server.hosting import Hosting
    from engine.backend.teaching.learning_service import LearningService
    from engine.backend.tools.keys import ToolKeys
    from engine.backend.tools.tool_service import ToolService
    from engine.factory import Services
    from engine.speculation.model.files.prompt_cache import PromptCache


class Doors:
    """See `engine/values/requests.py`. The first request to a service has its thread build it."""

    def __init__(self, services: Services) -> None:
        self.counting: Counting = door_to("store", services.counting)
        self.chats: ChatReader = door_to("store", services.chats)
        self.editor: ChatEditor = door_to("writing", services.editor, is_owed=True)
        self.keeper: MessageKeeper = door_to("writing", services.keeper, is_owed=True)
        self.ahead: PromptsAhead = door_to("writing", services.ahead, is_owed=True)
        self.ngrams: NgramKeeper = door_to("writing", services.ngrams)
        self.erasing: ErasingService = door_to("erasing", services.erasing, is_newest_only=True)
        self.files: FileService = door_to("files", services.files)
        self.hub: HubService = door_to("search", services.hub)
        self.presets: PresetService = door_to("writing", services.presets, is_owed=True)
        self.remote: RemoteService = door_to("servers", services.remote)
        self.chat: ChatService = door_to("chat", services.chat, goes_between=True)
        self.answering: Answering = door_to("chat", services.answering, Waits.PROGRAM)
        self.embedding: Embedding = door_to("chat", services.embedding, Waits.PROGRAM)
        self.target: TargetInUse = door_to("chat", services.target)
        self.trials: Trials = door_to("chat", services.trials, goes_between=True)
        self.server: Hosting = door_to("server", lambda: services.hosting)
        self.clients: Clients = door_to("server", lambda: services.clients)
        self.models: ModelFetcher = door_to("download", services.models)
        self.drafters: DrafterFetcher = door_to("hub", services.drafters)
        self.library: LibraryService = door_to("library", services.library)
        self.downloads: SavedDownloads = door_to("library", services.downloads)
        self.inspector: Inspector = door_to("library", services.inspector)
        self.tuning: TuningService = door_to("tuning", services.tuning)
        self.tools: ToolService = door_to("tools", services.tools)
        self.tool_keys: ToolKeys = door_to("servers", services.tool_keys)  # with what else asks the keyring
        self.asking: Asking = door_to("answers", lambda: services.asking)
        self.learning: LearningService = door_to("store", lambda: services.learning)
        self.personal: PersonalService = door_to("personal", services.personal)
        self.prompt_cache: PromptCache = door_to("personal", services.prompt_cache)
        self.prompt_cache_keeper: PromptCacheKeeper = door_to("caching", services.cache_keeper, is_newest_only=True)
        self.upkeep: Upkeep = door_to("chat", services.upkeep, Waits.NOBODY, goes_between=True)
        # What is being imported is forgotten with the rest.
        imports = self.files.import_conversations, self.files.import_presets, self.personal.import_profile
        self.forgetting: Forgetting = door_to("chat", services.forgetting, ends=imports)
