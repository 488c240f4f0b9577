"""Opens what the system hands to the app: files of a start, of a further start, and on macOS of a double-click."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Slot

from app.main_window import MainWindow
from app.startup.open_request import OpenRequest
from app.widgets.dropped_files import DroppedFiles


class FileOpening(QObject):
    """Does with files what dropping them on the window does, but for a model that is in use already: `use_model` is
    told, and may leave it as it is."""

    def __init__(self, window: MainWindow, use_model: Callable[[Path], None]) -> None:
        super().__init__(window)
        self._window = window
        self._use_model = use_model

    @Slot(object)
    def answer(self, request: OpenRequest) -> None:
        """The window comes to the front, and opens the files."""
        if request.token:
            os.environ["XDG_ACTIVATION_TOKEN"] = request.token  # where Qt looks for it
        self._window.come_forward()
        os.environ.pop("XDG_ACTIVATION_TOKEN", None)  # it holds once
        self.open(request.files)

    def open(self, files: tuple[Path, ...]) -> None:
        if not files:
            return
        meant = DroppedFiles.of_paths([str(file) for file in files])
        if meant is None:
            self._window.toasts.show_error(
                self.tr("A model or a profile is opened alone; open these files one after the other.")
            )
        elif meant.model:
            self._use_model(Path(meant.model))
        else:
            self._window.take_files(meant)
