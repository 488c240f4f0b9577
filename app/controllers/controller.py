"""What all controllers have in common."""

from __future__ import annotations

import shutil
from pathlib import Path

from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices

from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from engine.messages.events import Event


class Controller(QObject):
    """Listens to the window and to the engine, and decides what follows. Belongs to the window.

    Every event of the engine comes to `_on_event`, in the order in which the controllers were made.
    """

    def __init__(self, window: MainWindow, bridge: EngineBridge) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        bridge.happened.connect(self._on_event)

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        """Does nothing unless a controller overrides it."""


def open_folder(folder: Path) -> None:
    """In the file manager of the desktop."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))


def free_disk(folder: Path) -> int:
    """Bytes, where the folder is or will be."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free
