"""What can be done with several conversations that are selected."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QWidget

from app.text.numbers import whole
from app.theme import ThemeKeeper
from app.widgets.fitting_label import FittingLabel
from app.widgets.icon_button import IconButton
from app.widgets.layouts import Placed, in_row
from app.widgets.parts import set_up


class SelectionBar(QFrame):
    """Below the list; hidden unless several are selected.

    Signals:
        move_requested(), archive_requested(), export_requested(), delete_requested(): its buttons were pressed.
        ended(): select them no more.
    """

    move_requested = Signal()
    archive_requested = Signal()
    export_requested = Signal()
    delete_requested = Signal()
    ended = Signal()

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "chip")
        self.words = set_up(FittingLabel(self), kind="quiet")
        move, export = self.tr("Move to a folder…"), self.tr("Export…")
        self.move_button = IconButton(keeper, "folder", move, self.move_requested, parent=self)
        self.archive_button = IconButton(keeper, "archive", "", self.archive_requested, parent=self)
        self.export_button = IconButton(keeper, "export", export, self.export_requested, parent=self)
        self.delete_button = IconButton(keeper, "delete", self.tr("Delete"), self.delete_requested, parent=self)
        self.end_button = IconButton(
            keeper, "close", self.tr("Clear the selection"), self.ended, icon_px=14, parent=self
        )
        buttons = [self.move_button, self.archive_button, self.export_button, self.delete_button, self.end_button]
        in_row([Placed(self.words, 1), *buttons], inside=self, margins=(10, 1, 2, 1), spacing=0)
        self.hide()

    def show_selected(self, num_chats: int, num_incognito: int, is_archive: bool) -> None:
        """`is_archive`: whether they are in the archive."""
        self.setVisible(num_chats > 1)
        number = whole(num_chats)
        self.words.set_words(self.tr("{number} selected", "", num_chats).format(number=number), number)
        self.archive_button.set_name(self.tr("Take out of the archive") if is_archive else self.tr("Archive"))
        for each in (self.move_button, self.archive_button):
            each.setEnabled(num_incognito < num_chats)
