"""The menus of the rows of the sidebar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import partial

from PySide6.QtWidgets import QMenu, QWidget

from app.text.translation import translate
from engine.messages.conversations import ConversationSummary


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
    """For one conversation or several."""
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
    """Where there is no row."""
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
