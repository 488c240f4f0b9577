"""The menus of the rows of the sidebar, and the bar for several that are selected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QMenu, QWidget

from app.text.numbers import whole
from app.text.translation import translate
from app.theme import ThemeKeeper
from app.widgets.fitting_label import FittingLabel
from app.widgets.icon_button import IconButton
from app.widgets.layouts import Placed, in_row
from app.widgets.parts import set_up
from engine.values.conversations import ConversationSummary


class Act(Enum):
    """What can be chosen in a menu."""

    RENAME = auto()
    PIN = auto()
    UNPIN = auto()
    MOVE = auto()
    ARCHIVE = auto()
    UNARCHIVE = auto()
    EXPORT = auto()
    DELETE = auto()
    FORGET = auto()
    BEGIN = auto()  # a chat
    SETTINGS = auto()
    NEW_FOLDER = auto()
    FILTER = auto()


_Does = Callable[[Act], object]


def chats_menu(parent: QWidget, chosen: Sequence[ConversationSummary], does: _Does) -> QMenu:
    is_pinned, is_archived = all(each.is_pinned for each in chosen), all(each.is_archived for each in chosen)
    is_kept = not all(each.incognito for each in chosen)  # what is not can be in no folder
    menu = QMenu(parent)
    if len(chosen) == 1:
        _add(menu, translate("ConversationMenu", "Rename"), Act.RENAME, does)
    if is_pinned:
        _add(menu, translate("ConversationMenu", "Unpin"), Act.UNPIN, does)
    else:
        _add(menu, translate("ConversationMenu", "Pin"), Act.PIN, does)
    _add(menu, translate("ConversationMenu", "Move to a folder…"), Act.MOVE, does, is_kept)
    if is_archived:
        _add(menu, translate("ConversationMenu", "Take out of the archive"), Act.UNARCHIVE, does, is_kept)
    else:
        _add(menu, translate("ConversationMenu", "Archive"), Act.ARCHIVE, does, is_kept)
    _add(menu, translate("ConversationMenu", "Export…"), Act.EXPORT, does)
    menu.addSeparator()
    _add(menu, translate("ConversationMenu", "Delete"), Act.DELETE, does)
    _add(menu, translate("ConversationMenu", "Delete permanently…"), Act.FORGET, does)
    return menu


def folder_menu(parent: QWidget, does: _Does) -> QMenu:
    menu = QMenu(parent)
    _add(menu, translate("ConversationMenu", "New chat in this folder"), Act.BEGIN, does)
    _add(menu, translate("ConversationMenu", "Rename"), Act.RENAME, does)
    _add(menu, translate("ConversationMenu", "Settings of this folder…"), Act.SETTINGS, does)
    menu.addSeparator()
    _add(menu, translate("ConversationMenu", "New folder…"), Act.NEW_FOLDER, does)
    _add(menu, translate("ConversationMenu", "Delete this folder…"), Act.DELETE, does)
    return menu


def empty_menu(parent: QWidget, does: _Does) -> QMenu:
    """The menu below the rows."""
    menu = QMenu(parent)
    _add(menu, translate("ConversationMenu", "New folder…"), Act.NEW_FOLDER, does)
    _add(menu, translate("ConversationMenu", "Filter chats…"), Act.FILTER, does)
    return menu


def _add(menu: QMenu, words: str, act: Act, does: _Does, is_enabled: bool = True) -> None:
    action = menu.addAction(words)
    action.setEnabled(is_enabled)
    action.triggered.connect(partial(_do, does, act))


def _do(does: _Does, act: Act, _is_checked: bool = False) -> None:
    does(act)


class SelectionBar(QFrame):
    """The bar below the list, shown while several chats are selected."""

    move_requested = Signal()  # this and the next three: its buttons were pressed
    archive_requested = Signal()
    export_requested = Signal()
    delete_requested = Signal()
    ended = Signal()  # select them no more

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
        """`is_archive`: they are in the archive."""
        self.setVisible(num_chats > 1)
        number = whole(num_chats)
        self.words.set_words(self.tr("{number} selected", "", num_chats).format(number=number), number)
        self.archive_button.set_name(self.tr("Take out of the archive") if is_archive else self.tr("Archive"))
        for each in (self.move_button, self.archive_button):
            each.setEnabled(num_incognito < num_chats)
