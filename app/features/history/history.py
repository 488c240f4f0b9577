"""Opens the page of speed statistics, and keeps it up to date while it is visible."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from shiboken6 import isValid

from app.engine_bridge import EngineBridge
from app.features.controller import Controller
from app.main_window import MainWindow
from app.theme import ThemeKeeper
from app.widgets.dialog_parts import show_in_front
from engine.values.events import (
    ConversationForgotten,
    ConversationsDeleted,
    ConversationsImported,
    DrafterLearned,
    Event,
    EverythingForgotten,
    LearnedChanged,
    MessageDeleted,
    ReplyFinished,
)
from engine.values.history import History
from engine.values.outlook import ExpectedSpeeds
from engine.values.requests import Failure

_PAGE = "app.features.history.page"  # imports pyqtgraph, which nothing else in the window needs
_CHANGES: tuple[type[Event], ...] = (
    ReplyFinished,
    DrafterLearned,
    ConversationsDeleted,
    ConversationForgotten,
    ConversationsImported,
    EverythingForgotten,
    LearnedChanged,
    MessageDeleted,
)

if TYPE_CHECKING:
    from app.features.history.page import HistoryPage


class HistoryController(Controller):
    """Reads the statistics when the page is opened, and whenever they change while it is visible."""

    _imported = Signal()

    def __init__(self, window: MainWindow, bridge: EngineBridge, keeper: ThemeKeeper) -> None:
        super().__init__(window, bridge)
        self._keeper = keeper
        self._is_reading = False
        self._is_stale = False  # something has changed since the reading began
        self._importing: Thread | None = None
        self.page: HistoryPage | None = None
        self._imported.connect(self._show, Qt.ConnectionType.QueuedConnection)
        window.history_action.triggered.connect(self._open)
        for change in _CHANGES:
            bridge.listen(change, self._on_change)

    @Slot()
    def _open(self) -> None:
        """Shows the page. The first time it is imported on another thread, so that the window does not freeze."""
        if _PAGE in sys.modules and self._importing is None:
            self._show()
        elif self._importing is None:
            self._importing = Thread(target=self._import, name="importing", daemon=True)
            self._importing.start()

    def _import(self) -> None:
        try:
            import_module(_PAGE)
        finally:
            if isValid(self):
                self._imported.emit()

    @Slot()
    def _show(self) -> None:
        if self._importing is not None:
            self._importing.join()  # it has emitted its last signal
            self._importing = None
        if self.page is None:
            # Not at the top: it was imported by another thread.
            from app.features.history.page import HistoryPage

            self.page = HistoryPage(self._keeper, self._window)
            self.page.compare_requested.connect(self._window.compare_action.trigger)
            self.page.export_requested.connect(self._export)
        self._read()
        expecting = self._bridge.ask(self._bridge.engine.library.expect_speeds)
        expecting.is_quiet = True
        expecting.answered.connect(self._show_outlook)
        show_in_front(self.page)

    @Slot(str, str)
    def _export(self, path: str, text: str) -> None:
        assert self.page is not None
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            words = self.tr("{file} could not be written ({reason}); choose another place.")
            self.page.show_notice(words.format(file=Path(path).name, reason=error.strerror))
        else:
            self.page.show_notice(self.tr("The table was saved as {file}.").format(file=Path(path).name))

    @Slot(object)
    def _show_outlook(self, expected: ExpectedSpeeds) -> None:
        assert self.page is not None
        self.page.show_outlook(next((each for each in expected.outlooks if each.suggestion is None), None))

    def _on_change(self, _change: Event) -> None:
        if self.page is not None and self.page.isVisible():
            self._read()

    def _on_read(self, history: History) -> None:
        assert self.page is not None
        self._is_reading = False
        self.page.show_history(history)
        if self._is_stale:
            self._read()

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        assert self.page is not None
        self._is_reading = False
        self.page.show_failure(failure.sentence)

    def _read(self) -> None:
        """Reads the statistics, one reading at a time."""
        self._is_stale = self._is_reading
        if not self._is_reading:
            self._is_reading = True
            request = self._bridge.ask(self._bridge.engine.chats.history)
            request.answered.connect(self._on_read)
            request.failed.connect(self._on_failed)
