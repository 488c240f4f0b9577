"""Keeps what the app remembers by itself: the model and the drafter in use, how it learns, and where the window was."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Slot

from app.controllers.chat import ChatController
from app.controllers.drafter import DrafterController
from app.controllers.personal import PersonalController
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from engine.messages.events import Event, TargetReady


class Remembering(QObject):
    """Hands all of it to the keeper of the settings when some of it has changed."""

    def __init__(
        self,
        window: MainWindow,
        bridge: EngineBridge,
        keeper: SettingsKeeper,
        chat: ChatController,
        drafters: DrafterController,
        personal: PersonalController,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._keeper = keeper
        self._chat = chat
        self._drafters = drafters
        self._personal = personal
        drafters.changed.connect(self.remember)
        personal.dialog.learning.changed.connect(self.remember)
        window.origins_action.toggled.connect(self.remember)
        bridge.happened.connect(self._on_event, Qt.ConnectionType.QueuedConnection)

    @Slot()
    def remember(self) -> None:
        settings = self._keeper.settings.model_copy()
        settings.target = self._chat.chosen_target or settings.target
        settings.drafter = self._drafters.choice
        settings.keep_learning(self._personal.settings)
        settings.colour_origins = self._window.origins_action.isChecked()
        settings.window = self._window.state()
        self._keeper.keep(settings)

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        if isinstance(event, TargetReady):
            self.remember()
