"""Has text files read that go along with a prompt."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QFileDialog

from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from engine import ReadTextFile
from engine.messages.attachments import Attachment
from engine.messages.events import Event, TextFileRead

MOST_FILES = 10  # of one prompt


class AttachmentsController(QObject):
    """Connects the prompt box with one engine."""

    def __init__(self, window: MainWindow, bridge: EngineBridge) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        window.prompt_box.attach_requested.connect(self._choose)
        window.texts_dropped.connect(self.attach)
        bridge.happened.connect(self._on_event, Qt.ConnectionType.QueuedConnection)

    @Slot(list)
    def attach(self, paths: list[str]) -> None:
        room = MOST_FILES - len(self._window.prompt_box.chips.attachments)
        if len(paths) > room:
            self._window.toasts.show_info(self.tr("At most %n files go along with a message.", "", MOST_FILES))
        for path in paths[:room]:
            self._bridge.post(ReadTextFile(Path(path)))

    @Slot()
    def _choose(self) -> None:
        dialog = QFileDialog(self._window, self.tr("Attach text files"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.filesSelected.connect(self.attach)
        dialog.open()

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        if isinstance(event, TextFileRead):
            box = self._window.prompt_box
            box.chips.add(Attachment(event.file.path.name, event.file.text))
            box.setFocus()
