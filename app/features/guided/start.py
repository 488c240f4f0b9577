"""What happens at a start besides loading a model: a welcome or the last chat, and files to open."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Slot

from app.engine_bridge import EngineBridge
from app.features.controller import Controller
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from app.startup.open_request import OpenRequest
from app.widgets.prompt.dropped_files import DroppedFiles
from engine import STARTER
from engine.values.conversations import ConversationSummary
from engine.values.events import ConversationsListed, PromptStored, TargetReady


class FirstStart(Controller):
    """Shows a welcome until the first chat, and after that the last chat if the user wants it."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, keeper: SettingsKeeper) -> None:
        super().__init__(window, bridge)
        self._keeper = keeper
        self._was_listed = False
        self._is_starter = False  # the model in use
        self._welcome = window.transcript.welcome
        self._welcome.show_introduction(not keeper.settings.has_chatted)
        self._welcome.starter_requested.connect(self._use_starter)
        bridge.listen(ConversationsListed, self._on_listed)
        bridge.listen(PromptStored, self._on_prompt_stored)
        bridge.listen(TargetReady, self._on_ready)

    def _on_listed(self, event: ConversationsListed) -> None:
        if not self._was_listed:
            self._was_listed = True
            self._on_first_list(event.conversations)

    def _on_prompt_stored(self, _event: PromptStored) -> None:
        self._end_introduction()

    def _on_ready(self, event: TargetReady) -> None:
        self._is_starter = event.order.target == STARTER

    def resume(self, _kept: None) -> None:
        """Opens nothing by itself any more."""
        self._was_listed = True

    def _on_first_list(self, conversations: tuple[ConversationSummary, ...]) -> None:
        if not conversations:
            return
        self._end_introduction()
        nothing_begun = self._window.conversations.chosen_id is None and not self._window.transcript.messages
        if self._keeper.settings.open_last_chat and nothing_begun and not self._window.prompt_box.text:
            self._window.conversations.chosen.emit(conversations[0].id)

    def _end_introduction(self) -> None:
        if not self._keeper.settings.has_chatted:
            self._keeper.note(has_chatted=True)
            self._welcome.show_introduction(False)

    @Slot()
    def _use_starter(self) -> None:
        """Replaces the introduction by a new chat, which is ready or shows that the model is being loaded."""
        self._welcome.show_introduction(False)
        if not self._is_starter:
            self._window.starter_action.trigger()
        self._window.prompt_box.setFocus()


class FileOpening(QObject):
    """Opens the files of this start, of further starts, and on macOS of a double-click, as if they had been dropped on
    the window. `use_model` takes the reference of a model, which may be in use already."""

    def __init__(self, window: MainWindow, use_model: Callable[[str], None]) -> None:
        super().__init__(window)
        self._window = window
        self._use_model = use_model

    @Slot(object)
    def answer(self, request: OpenRequest) -> None:
        """Brings the window to the front and opens the files."""
        if request.token:
            os.environ["XDG_ACTIVATION_TOKEN"] = request.token  # where Qt looks for it
        self._window.come_forward()
        os.environ.pop("XDG_ACTIVATION_TOKEN", None)  # it is valid once
        self.open(request.files)

    def open(self, files: tuple[Path, ...]) -> None:
        if not files:
            return
        dropped = DroppedFiles.of_paths([str(file) for file in files])
        if dropped is None:
            self._window.toasts.show_error(
                self.tr("Open a model or a profile by itself; open these files one after the other.")
            )
        elif dropped.model:
            self._use_model(dropped.model)
        else:
            self._window.take_files(dropped)
