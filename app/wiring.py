"""Connects the window with the engine: makes every controller, and hands it what it needs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from shiboken6 import delete

from app.crash.watch import CrashWatch
from app.engine_bridge import EngineBridge
from app.features.chat.branch import BranchController
from app.features.chat.chat import ChatController
from app.features.chat.chat_settings import ChatSettingsController
from app.features.chat.chat_tools import ChatTools
from app.features.chat.consent import Consent
from app.features.chat.draft_keeper import DraftKeeper
from app.features.chat.notifier import Notifier, RepetitionController
from app.features.chat.pictures import PicturesController
from app.features.chat.prompt import PromptController
from app.features.chats.conversations import ConversationsController
from app.features.chats.exchange import ExchangeController
from app.features.chats.order import OrderController
from app.features.chats.search import SearchController
from app.features.chats.store_notice import StoreNotice, StoreTrouble
from app.features.controller import WindowPart
from app.features.drafter.drafter import DrafterController
from app.features.guided.guided import GuidedController
from app.features.guided.start import FileOpening, FirstStart
from app.features.guided.tour import TourController
from app.features.help.crash import CrashController
from app.features.help.help import HelpController
from app.features.help.update import UpdateController
from app.features.history.history import HistoryController
from app.features.library.hub import Nudge
from app.features.library.library import LibraryController, connect_library
from app.features.library.target import TargetController
from app.features.model_servers.model_servers import ModelServersController
from app.features.personalization.personal import PersonalController
from app.features.presets.chat_signs import ChatSigns
from app.features.presets.folder_start import FolderStart
from app.features.presets.preset_library import PresetLibraryController
from app.features.presets.presets import PresetsController
from app.features.server.server import ServerController
from app.features.settings.prompt_cache import PromptCacheController
from app.features.settings.settings import SettingsController
from app.features.speed.compare import CompareController, ProofOffer
from app.features.speed.speed_up import SpeedUpController
from app.features.tools.tool_calls import ToolCallsController
from app.features.tools.tools import ToolsController
from app.main_window import MainWindow
from app.settings.app_settings import SettingsFile, not_saved
from app.settings.keeper import SettingsKeeper
from app.startup.first_paint import OpenedWindow
from app.startup.open_request import OpenRequest
from engine import EngineConfig, update_url
from engine.values.config import SpeculationSettings
from engine.values.targets import HubFile


class WiredWindow(QObject):
    """A window with its controllers and its engine, which wakes when events are processed. The window can be made again
    around the same engine (`move_to`), and then the controllers are others, too.

    Belongs to the window; `close` ends it, and so does closing the window.
    """

    closing = Signal()  # the window is about to close

    def __init__(
        self,
        opened: OpenedWindow,
        folder: Path,
        speculation: SpeculationSettings,
        target: str | None = None,
        make_bridge: Callable[[EngineConfig], EngineBridge] = EngineBridge,
        has_tour: bool = False,
        watch: CrashWatch | None = None,
    ) -> None:
        """`folder` holds all files of the program. `target` is for this start only; None: the user's own. `has_tour`:
        shown at the first start. Crashes that `watch` reports are shown."""
        super().__init__(opened.window)
        settings_file = SettingsFile(folder)
        settings, complaint = settings_file.load()
        opened.theme.choose(settings.theme, settings.text_size)  # as painted, unless the file made no sense
        self._folder = folder
        self._watch = watch
        self._start_target = (target, "") if target else (settings.target, settings.target_identity)
        self.theme = opened.theme
        self.bridge = make_bridge(
            EngineConfig(folder, speculation, settings.learning_settings(), settings.prompt_cache_settings())
        )
        self.keeper = SettingsKeeper(settings_file, settings, self)
        self.keeper.changed.connect(self._follow)
        self._wire(opened.window, has_tour)
        if complaint:
            opened.window.toasts.show_error(complaint)
        QTimer.singleShot(0, self, self._begin)

    def _wire(self, window: MainWindow, has_tour: bool = False) -> None:
        bridge, keeper, folder = self.bridge, self.keeper, self._folder
        self.window = window
        window.version = version("slipstream")
        window.origins_action.setChecked(keeper.settings.colour_origins)
        bridge.unhandled.connect(window.toasts.show_error)
        self.conversations = ConversationsController(window, bridge)
        PicturesController(window, bridge, self.conversations)
        self.target = TargetController(window, bridge, keeper)
        tools = ChatTools(window, bridge, self.conversations, self.target, keeper)
        self.chat = chat = ChatController(window, bridge, self.conversations, self.target, keeper, tools)
        self.order = OrderController(window, bridge, self.conversations, self.target, keeper)
        ToolCallsController(window, bridge, self.conversations, chat)
        self.tools = ToolsController(window, self.theme, bridge, keeper)
        self.consent = Consent(window, bridge, self.conversations, self.target, chat)
        BranchController(window, bridge, self.conversations, chat, self.consent)
        RepetitionController(window, self.conversations, chat)
        StoreNotice(window, bridge)
        self.chat_settings = ChatSettingsController(window, bridge, self.conversations, chat)
        self.prompt = PromptController(window, bridge)
        self.presets = PresetsController(
            window,
            self.theme,
            bridge,
            self.conversations,
            chat,
            self.target,
            self.chat_settings.dialog,
            self._use_model,
        )
        ChatSigns(window, bridge, self.conversations, chat, self.presets)
        self.preset_library = PresetLibraryController(window, self.theme, bridge, chat, self.target)
        FolderStart(window, bridge, self.conversations, chat, self.presets)
        self.presets.manage_requested.connect(self.preset_library.open_presets)
        self._drafts = DraftKeeper(window, bridge, self.conversations, keeper)
        self.drafters = DrafterController(window, bridge, keeper)
        self.personal = PersonalController(window, bridge, keeper)
        self.history = HistoryController(window, bridge, self.theme)
        self.comparing = CompareController(window, bridge, chat)
        self.target.loading_begun.connect(self.comparing.stop)
        SearchController(window, bridge, self.conversations)
        ExchangeController(window, bridge, self.prompt.attach)
        self.opening = FileOpening(window, self._use_model)
        HelpController(window, self.theme, bridge, folder)
        UpdateController(window, bridge, keeper, update_url())
        self.server = ServerController(window, bridge, keeper)
        self.model_servers = ModelServersController(window, bridge, self.target)
        self.settings = SettingsController(window, self.theme, keeper, self.target)
        PromptCacheController(window, self.theme, bridge, keeper, self.settings)
        FirstStart(window, bridge, keeper)
        self.tour = TourController(window, self.theme, bridge, keeper, has_tour)
        self.guided = GuidedController(window, bridge, keeper, self.comparing.run, folder)
        self.guided.model_requested.connect(self._show_suggestion)
        self.tour.first_ended.connect(self.guided.offer)
        ProofOffer(window, bridge, keeper)
        Notifier(window, bridge, keeper, chat)
        Nudge(window, bridge, keeper)
        SpeedUpController(window, bridge, keeper)
        self.library: LibraryController | None = None  # until the engine is awake
        StoreTrouble(window, bridge, self.conversations, folder, self._begin)
        if self._watch is not None:
            CrashController(window, keeper, self._watch)
        window.origins_action.toggled.connect(lambda is_on: keeper.note(colour_origins=is_on))
        window.closing.connect(self._on_closing)

    @property
    def parts(self) -> list[WindowPart]:
        """The controllers, in the order of their creation."""
        return [each for each in self.window.children() if isinstance(each, WindowPart)]

    def move_to(self, window: MainWindow) -> None:
        """Replaces the window and its controllers, while the engine and its requests go on."""
        kept = {type(each): each.kept() for each in self.parts}
        self.window.closing.disconnect(self._on_closing)
        for each in self.parts:
            delete(each)  # others hear what the engine says next
        self.setParent(window)
        self._wire(window)
        self._make_library()
        self.bridge.repeat_facts()
        window.toasts.clear()  # these were shown before
        for each in self.parts:
            if type(each) in kept:
                each.resume(kept[type(each)])

    def close(self) -> None:
        """Ends everything; does nothing once the window is closed."""
        self.bridge.close()

    @Slot()
    def _begin(self) -> None:
        """Begins, or begins again if the store could not be opened."""
        self.drafters.start()
        self.order.list_all()
        self.model_servers.list_all()
        self.conversations.list_all()
        target, identity = self._start_target
        self.target.load(target, identity=identity, by_itself=True)
        self.server.follow()
        QTimer.singleShot(0, self, self._begin_library)  # much to build: a turn of its own

    @Slot()
    def _begin_library(self) -> None:
        (self.library or self._make_library()).list_all()

    def _make_library(self) -> LibraryController:
        sampling = self.keeper.settings.sampling
        self.library = connect_library(self.window, self.theme, self.bridge, self.target, self._folder, sampling)
        return self.library

    @Slot(object)
    def answer(self, request: OpenRequest) -> None:
        """Answers a further start, which asks for the window, and perhaps for files in it."""
        self.opening.answer(request)

    def _use_model(self, reference: str) -> None:
        """Uses the model as if the user had chosen it in the library or dropped it on the window."""
        if self.library is not None:
            self.library.choose(reference)
        else:
            self.target.choose(reference)

    @Slot(HubFile)
    def _show_suggestion(self, file: HubFile) -> None:
        if self.library is not None:
            self.library.dialog.show_suggestion(file)

    @Slot()
    def _follow(self) -> None:
        if self.library is not None:
            self.library.dialog.library.set_for_all(self.keeper.settings.sampling)

    @Slot()
    def _on_closing(self) -> None:
        self.closing.emit()
        self._drafts.save()
        self.keeper.note(window=self.window.state())
        try:
            self.keeper.close()
        except OSError as error:
            print(not_saved(error), file=sys.stderr)
        self.bridge.close()
