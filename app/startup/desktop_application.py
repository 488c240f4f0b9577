"""The QApplication of the window, which collects garbage and takes files that macOS wants opened; and a sentence
without a window."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication, QMessageBox

from app.startup.open_request import OpenRequest
from app.text.unseen import sentence

_COLLECT_MS = 1000
_BEGIN_MS = 10_000  # by then most is imported
_MANY_MODULES = 50  # imported since: torch comes late on slow machines, and other pages when they are opened


class DesktopApplication(QApplication):
    """Files may come before anything is connected: `take_early` has them."""

    opened = Signal(object)  # (OpenRequest) a file was double-clicked, or dropped on the icon in the dock

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        # The name by which X11 knows the windows (WM_CLASS: slipstream, Slipstream) is the same however it was started.
        super().__init__(["slipstream", *arguments])
        self.setApplicationName("Slipstream")
        self.setDesktopFileName("slipstream")
        self._early: list[Path] | None = []
        InterfaceGarbage(self)

    def take_early(self) -> tuple[Path, ...]:
        """The files so far; later ones come with the signal."""
        early, self._early = self._early, None
        return tuple(early or ())

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QFileOpenEvent) and event.file():
            file = Path(event.file())
            if self._early is None:
                self.opened.emit(OpenRequest((file,)))
            else:
                self._early.append(file)
            return True
        return super().event(event)


class InterfaceGarbage(QObject):
    """Keeps Python's cyclic garbage collection on the interface thread, driven by a timer.

    By itself it runs on whichever thread happens to allocate. If that frees a widget or a timer of another thread, Qt
    is left with a pointer to nothing: a crash seen when code was lexed on another thread. calibre does the same.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._thresholds = gc.get_threshold()
        self._num_modules = 0  # when the objects of that time were frozen
        self._timer = QTimer(self, interval=_COLLECT_MS)
        self._timer.timeout.connect(self._collect)
        QTimer.singleShot(_BEGIN_MS, self, self._begin)

    @Slot()
    def _begin(self) -> None:
        self._freeze()
        self._timer.start()

    def _freeze(self) -> None:
        """Freezes most objects so far, which are code and will stay: scanning them again would block the interface."""
        gc.freeze()
        self._num_modules = len(sys.modules)

    @Slot()
    def _collect(self) -> None:
        """Collects the oldest generation that is due by Python's own rule."""
        if len(sys.modules) > self._num_modules + _MANY_MODULES:
            self._freeze()
        counts = gc.get_count()
        for generation in (2, 1, 0):
            if counts[generation] > self._thresholds[generation]:
                gc.collect(generation)
                break


def show_sentence(words: str) -> None:
    """Shows a sentence and returns when the user has read it."""
    application = QApplication.instance() or QApplication(["slipstream"])
    box = QMessageBox(QMessageBox.Icon.Warning, "Slipstream", sentence(words))
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.exec()
    del application
