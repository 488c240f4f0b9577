"""Stays with the user when the store of chats cannot be opened at the start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices

from app.dialogs.store_dialog import StoreDialog
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from engine import ListConversations
from engine.messages.events import ConversationsListed, Event, Failed


class StoreTrouble(QObject):
    """Shows a window of its own for the first list of conversations that fails; `begin` is the start once more."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, data_dir: Path, begin: Callable[[], None]) -> None:
        super().__init__(window)
        self._window = window
        self._data_dir = data_dir
        self._begin = begin
        self._is_over = False  # the store was opened once
        self.dialog: StoreDialog | None = None
        bridge.happened.connect(self._on_event, Qt.ConnectionType.QueuedConnection)

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        match event:
            case Failed(sentence, ListConversations()) if not self._is_over:
                self._show(sentence)
            case Failed(sentence) if self.dialog is not None and sentence == self.dialog.sentence.text():
                self._window.toasts.clear_errors()  # the model needs the store as well
            case ConversationsListed():
                self._is_over = True
                if self.dialog is not None:
                    self._window.toasts.clear_errors()
                    self.dialog.close()
                    self.dialog.deleteLater()
                    self.dialog = None

    def _show(self, sentence: str) -> None:
        if self.dialog is None:
            self.dialog = StoreDialog(self._window)
            self.dialog.retried.connect(self._retry)
            self.dialog.folder_requested.connect(self._open_folder)
            self.dialog.quit_requested.connect(self._window.close)
        self._window.toasts.clear_errors()  # it is said here, and better
        self.dialog.show_sentence(sentence)
        self.dialog.open()

    @Slot()
    def _retry(self) -> None:
        self._begin()

    @Slot()
    def _open_folder(self) -> None:
        folder = self._data_dir if self._data_dir.is_dir() else self._data_dir.parent
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
