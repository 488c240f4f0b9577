"""What is shown before anything was said: a welcome until the first chat, and after that the last chat if that is
wanted."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Slot

from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from engine import STARTER
from engine.messages.conversations import ConversationSummary
from engine.messages.events import ConversationsListed, Event, PromptKept, TargetReady


class FirstStart(QObject):
    def __init__(self, window: MainWindow, bridge: EngineBridge, keeper: SettingsKeeper) -> None:
        super().__init__(window)
        self._window = window
        self._keeper = keeper
        self._has_listed = False
        self._is_starter = False  # the model in use
        self._welcome = window.transcript.welcome
        self._welcome.show_introduction(not keeper.settings.has_chatted)
        self._welcome.starter_requested.connect(self._use_starter)
        bridge.happened.connect(self._on_event, Qt.ConnectionType.QueuedConnection)

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        match event:
            case ConversationsListed(conversations) if not self._has_listed:
                self._has_listed = True
                self._on_first_list(conversations)
            case PromptKept():
                self._end_introduction()
            case TargetReady(_, command):
                self._is_starter = command.target == STARTER

    def _on_first_list(self, conversations: tuple[ConversationSummary, ...]) -> None:
        if not conversations:
            return
        self._end_introduction()
        nothing_begun = self._window.conversations.chosen_id is None and not self._window.transcript.messages
        if self._keeper.settings.open_last_chat and nothing_begun and not self._window.prompt_box.text:
            self._window.conversations.chosen.emit(conversations[0].id)

    def _end_introduction(self) -> None:
        if not self._keeper.settings.has_chatted:
            self._keeper.keep(self._keeper.settings.model_copy(update={"has_chatted": True}))
            self._welcome.show_introduction(False)

    @Slot()
    def _use_starter(self) -> None:
        if not self._is_starter:
            self._window.starter_action.trigger()
        self._window.prompt_box.setFocus()
