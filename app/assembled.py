"""The window, the engine and all that stands between them, put together."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Slot

from app.controllers.attachments import AttachmentsController
from app.controllers.branch import BranchController
from app.controllers.chat import ChatController
from app.controllers.choosing_targets import connect_library
from app.controllers.compare import CompareController
from app.controllers.conversation import ConversationController
from app.controllers.draft_keeper import DraftKeeper
from app.controllers.drafter import DrafterController
from app.controllers.exchange import ExchangeController
from app.controllers.file_opening import FileOpening
from app.controllers.first_start import FirstStart
from app.controllers.forget import ForgetController
from app.controllers.help import HelpController
from app.controllers.history import HistoryController
from app.controllers.library import LibraryController
from app.controllers.notifier import Notifier
from app.controllers.personal import PersonalController
from app.controllers.remembering import Remembering
from app.controllers.search import SearchController
from app.controllers.settings import SettingsController
from app.controllers.store_trouble import StoreTrouble
from app.controllers.token_counting import TokenCounting
from app.controllers.update import UpdateController
from app.engine_bridge import EngineBridge
from app.settings.app_settings import SettingsFile, not_saved
from app.settings.keeper import SettingsKeeper
from app.startup.first_paint import OpenedWindow
from engine import EngineConfig, ReplySettings, SamplingSettings, TargetSettings, update_url
from engine.config import SpeculationSettings


class Assembled(QObject):
    """Gives a window its life, and wakes the engine when events are processed.

    Belongs to the window; `close` ends it, and so does closing the window.
    """

    def __init__(
        self,
        opened: OpenedWindow,
        folder: Path,
        speculation: SpeculationSettings,
        target: str | None = None,
        reply_settings: ReplySettings | None = None,
        make_bridge: Callable[[EngineConfig], EngineBridge] = EngineBridge,
    ) -> None:
        """`folder` is the one that everything is kept in. `target` and `reply_settings` hold this once; None: the
        user's own."""
        super().__init__(opened.window)
        settings_file = SettingsFile(folder)
        settings, complaint = settings_file.load()
        opened.theme.choose(settings.theme, settings.text_size)  # the same, unless the file was mended
        self._folder = folder
        self._target = target or settings.target
        self.theme = opened.theme
        self.window = window = opened.window
        window.version = version("slipstream")
        self.bridge = bridge = make_bridge(EngineConfig(folder, speculation, settings.learning_settings()))
        self.chat = chat = ChatController(
            window,
            bridge,
            reply_settings or settings.reply_settings(),
            settings.target_settings(),
            settings.system_prompt,
            window,
        )
        window.origins_action.setChecked(settings.colour_origins)
        BranchController(window, bridge, chat)
        self.conversation = ConversationController(window, bridge, chat)
        TokenCounting(window.prompt_box, bridge)

        self.keeper = SettingsKeeper(settings_file, settings, self)
        self._drafts = DraftKeeper(window.prompt_box, bridge, chat, settings.draft, self.keeper.keep_draft)
        self.drafters = DrafterController(window, bridge, folder, settings.drafter)
        self.personal = PersonalController(window, bridge, settings.learning_settings())
        self.history = HistoryController(window, bridge, self.theme)
        self.comparing = CompareController(
            window, bridge, lambda: chat.reply_settings, lambda: chat.system_prompt, lambda: chat.sampling
        )
        self.history.compare_requested.connect(self.comparing.open)
        chat.loading_begun.connect(self.comparing.stop)
        SearchController(window, bridge)
        self.attachments = AttachmentsController(window, bridge)
        self.exchange = ExchangeController(window, bridge, self.attachments)
        ForgetController(window, bridge)
        self.opening = FileOpening(window, self._use_model)
        HelpController(window, self.theme, bridge, folder)
        UpdateController(window, bridge, self.keeper, update_url())
        self.settings = SettingsController(window, self.theme, self.keeper, chat)
        self._remembering = Remembering(window, bridge, self.keeper, chat, self.drafters, self.personal)
        FirstStart(window, bridge, self.keeper)
        Notifier(window, bridge, self.keeper)
        if complaint:
            window.toasts.show_error(complaint)
        self.library: LibraryController | None = None  # until the engine is awake
        StoreTrouble(window, bridge, folder, self._begin)
        window.closing.connect(self._on_closing)
        QTimer.singleShot(0, self, self._begin)

    def close(self) -> None:
        """Does nothing when the window has been closed."""
        self.bridge.close()

    @Slot()
    def _begin(self) -> None:
        """Also once more, when the store could not be opened and is tried again."""
        self.drafters.start()
        self.chat.start(self._target)
        QTimer.singleShot(0, self, self._begin_library)  # much to build: a turn of its own

    @Slot()
    def _begin_library(self) -> None:
        if self.library is None:
            self.library = connect_library(
                self.window, self.theme, self.bridge, self.chat, self._folder, *self._for_all()
            )
            self.keeper.changed.connect(self._follow)
        self.library.start()

    def _for_all(self) -> tuple[TargetSettings, SamplingSettings]:
        settings = self.keeper.settings
        return settings.target_settings(), settings.reply_settings().sampling

    def _use_model(self, path: Path) -> None:
        """As if it had been chosen in the library, or dropped where there is none yet."""
        if self.library is not None:
            self.library.choose(path)
        else:
            self.chat.choose_target(str(path))

    @Slot()
    def _follow(self) -> None:
        if self.library is not None:
            self.library.set_for_all(*self._for_all())

    @Slot()
    def _on_closing(self) -> None:
        self._drafts.keep()
        self._remembering.remember()
        try:
            self.keeper.close()
        except OSError as error:
            print(not_saved(error), file=sys.stderr)
        self.bridge.close()
