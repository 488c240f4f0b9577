"""The QApplication of the window, which hears of files that macOS wants opened; and a sentence without a window."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication, QMessageBox

from app.startup.open_request import OpenRequest


class DesktopApplication(QApplication):
    """Files may come before anybody listens: `take_early` has them.

    Signals:
        opened(OpenRequest): a file was double-clicked, or dropped on the icon in the dock.
    """

    opened = Signal(object)

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        # What X11 knows the windows by (WM_CLASS: slipstream, Slipstream) does not depend on how it was started.
        super().__init__(["slipstream", *arguments])
        self.setApplicationName("Slipstream")
        self.setDesktopFileName("slipstream")
        self._early: list[Path] | None = []

    def take_early(self) -> tuple[Path, ...]:
        """What came until now; from now on files come with the signal."""
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


def show_sentence(sentence: str) -> None:
    """Returns when it was read."""
    application = QApplication.instance() or QApplication(["slipstream"])
    box = QMessageBox(QMessageBox.Icon.Warning, "Slipstream", sentence)
    box.exec()
    del application
