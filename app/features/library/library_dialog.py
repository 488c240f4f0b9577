"""The window of the library."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QHideEvent
from PySide6.QtWidgets import QWidget

from app.features.library.hub_page import HubPage
from app.features.library.library_page import LibraryPage
from app.theme import ThemeKeeper
from app.widgets.dialog_parts import Dialog, show_in_front
from app.widgets.layouts import Placed, ScrollArea, in_column, in_row
from app.widgets.parts import Tabs, button, words
from engine import SamplingSettings
from engine.values.targets import HubFile

_SIZE_PX = (920, 640)


class LibraryDialog(Dialog):
    """Two pages: the models that are here, and those on the hub. Files and folders can be dropped on it."""

    dropped = Signal(object)  # add these paths (a tuple)
    opened = Signal()  # it is shown now

    def __init__(
        self, keeper: ThemeKeeper, sampling_for_all: SamplingSettings, host: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(_SIZE_PX, parent)
        self.setWindowTitle(self.tr("Library"))
        self.setAcceptDrops(True)
        self.library = LibraryPage(keeper, sampling_for_all, self)
        self.library.find_requested.connect(self.show_hub)
        self.hub = HubPage(keeper, host, self)
        self.tabs = Tabs(self)
        for page, name in ((self.library, self.tr("Your models")), (self.hub, self.tr("Find models"))):
            frame, area = QWidget(self), ScrollArea("plain", self)
            page.setObjectName("inside")
            area.setWidget(page)
            in_column([area], inside=frame, margins=(0, 12, 0, 0))
            self.tabs.addTab(frame, name)
        self.words = words("", self, kind="quiet")
        self.tabs.currentChanged.connect(lambda: self.show_words(""))  # what was said concerns the page that is left
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        foot = in_row([Placed(self.words, 1), self.close_button], spacing=12)
        in_column([Placed(self.tabs, 1), foot], inside=self, margins=(16, 10, 16, 12), spacing=10)

    def show_words(self, text: str) -> None:
        """Shows the outcome of the last action."""
        self.words.setText(text)

    def open_library(self) -> None:
        self.tabs.setCurrentIndex(0)
        if not self.isVisible():
            self.library.point_at_in_use()
        self._open()
        self.library.view.setFocus()

    def open_hub(self) -> None:
        self._open()
        self.show_hub()

    def show_suggestion(self, file: HubFile) -> None:
        """Opens one of the suggested models."""
        self.open_hub()
        self.hub.show_suggestions()
        self.hub.suggestions.point_at(file)

    @Slot()
    def show_hub(self) -> None:
        self.tabs.setCurrentIndex(1)
        self.hub.focus_list()

    # Qt's own

    def hideEvent(self, event: QHideEvent) -> None:
        self.library.details.form.flush()
        super().hideEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _model_paths(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        paths = _model_paths(event)
        if paths:
            event.acceptProposedAction()
            self.tabs.setCurrentIndex(0)
            self.dropped.emit(paths)

    # What happens

    def _open(self) -> None:
        if not self.isVisible():
            self.show_words("")
        show_in_front(self)
        self.opened.emit()


def _model_paths(event: QDropEvent) -> tuple[Path, ...]:
    paths = (Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile())
    return tuple(path for path in paths if path.suffix.lower() == ".gguf" or path.is_dir())
