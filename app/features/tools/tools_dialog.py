"""Servers of tools in one window: which there are, what they offer, and what they are allowed."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QFileDialog, QWidget

from app.features.tools.allowed_page import AllowedPage
from app.features.tools.json_page import JsonPage
from app.features.tools.servers_page import ServersPage
from app.theme import ThemeKeeper
from app.widgets.dialog_parts import Dialog
from app.widgets.layouts import Placed, ScrollingPage, in_column, in_row
from app.widgets.parts import Tabs, button, words
from engine.values.places import expanded

_SIZE_PX = (640, 600)


class ToolsDialog(Dialog):
    """Three pages, and below them what came of the last action.

    Signals:
        file_chosen(str): add the servers of this file.
    """

    file_chosen = Signal(str)

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(_SIZE_PX, parent)
        self.setWindowTitle(self.tr("Tools"))
        self.servers = ServersPage(keeper, self)
        self.json = JsonPage(keeper, self)
        self.allowed = AllowedPage(self)
        self.tabs = Tabs(self)
        for page, name in (
            (self.servers, self.tr("Servers")),
            (self.json, self.tr("As JSON")),
            (self.allowed, self.tr("Always allowed")),
        ):
            self.tabs.addTab(page if page is self.json else ScrollingPage(name, page, self), name)
        self.words = words("", self, kind="quiet")
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        foot = in_row([Placed(self.words, 1), self.close_button], spacing=12)
        in_column([Placed(self.tabs, 1), foot], inside=self, margins=(18, 10, 18, 14), spacing=10)
        self.servers.import_requested.connect(self._choose_file)

    def show_words(self, text: str) -> None:
        """A sentence on what was done, or why it was not."""
        self.words.setText(text)
        if text:
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.words, text))

    @Slot()
    def _choose_file(self) -> None:
        kinds = self.tr("Servers as JSON (*.json);;All files (*)")
        chooser = QFileDialog(self, self.tr("Import servers"), str(expanded("~")), kinds)
        chooser.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        chooser.setFileMode(QFileDialog.FileMode.ExistingFile)
        chooser.fileSelected.connect(self.file_chosen)
        chooser.open()
