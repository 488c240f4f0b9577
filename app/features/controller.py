"""What all controllers have in common."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices

from app.engine_bridge import EngineBridge
from app.main_window import MainWindow


class WindowPart(QObject):
    """Belongs to the main window, and decides something in it. When the window is made again (`WiredWindow.move_to`),
    the part of the same class there hears the lasting facts of the engine, and then takes over what this one has
    `kept`."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window

    @property
    def is_at_work(self) -> bool:
        """True if work other than requests is under way that another part could not continue."""
        return False

    def kept(self) -> Any:
        """State to carry over that no fact repeats: values, never words in the user's language."""
        return None

    def resume(self, kept: Any) -> None:
        """Goes on with what `kept` returned."""


class Controller(WindowPart):
    """Listens to the window and to the engine, and decides what follows."""

    def __init__(self, window: MainWindow, bridge: EngineBridge) -> None:
        super().__init__(window)
        self._bridge = bridge


def open_folder(folder: Path) -> None:
    """Opens the folder in the desktop's file manager."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))


def free_disk(folder: Path) -> int:
    """Free bytes on the disk of a folder, which need not exist yet."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free
