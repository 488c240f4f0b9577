"""The menu of a row of the sidebar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMenu

from app.text.translation import translate
from engine.messages.conversations import ConversationSummary

if TYPE_CHECKING:
    from app.widgets.conversation_list import ConversationList

_Does = Callable[[], object]


def chats_menu(sidebar: ConversationList, chosen: Sequence[ConversationSummary], rename: _Does) -> QMenu:
    """For one conversation or several."""
    ids = tuple(each.id for each in chosen)
    is_pinned, is_archived = all(each.is_pinned for each in chosen), all(each.is_archived for each in chosen)
    is_kept = not all(each.incognito for each in chosen)  # what is not can be in no folder
    pin = translate("ConversationMenu", "Unpin") if is_pinned else translate("ConversationMenu", "Pin")
    archive = translate("ConversationMenu", "Archive")
    if is_archived:
        archive = translate("ConversationMenu", "Take out of the archive")
    menu = QMenu(sidebar)
    if len(chosen) == 1:
        _add(menu, translate("ConversationMenu", "Rename"), rename)
    _add(menu, pin, lambda: sidebar.pinned.emit(ids, not is_pinned))
    _add(menu, translate("ConversationMenu", "Move to a folder…"), lambda: sidebar.open_folder_picker(ids), is_kept)
    _add(menu, archive, lambda: sidebar.archived.emit(ids, not is_archived), is_kept)
    _add(menu, translate("ConversationMenu", "Export…"), lambda: sidebar.export_requested.emit(ids))
    menu.addSeparator()
    _add(menu, translate("ConversationMenu", "Delete"), lambda: sidebar.deleted.emit(ids))
    forget = translate("ConversationMenu", "Delete permanently…")
    _add(menu, forget, lambda: sidebar.forget_requested.emit(ids))
    return menu


def folder_menu(sidebar: ConversationList, folder_id: int, rename: _Does) -> QMenu:
    menu = QMenu(sidebar)
    begin = translate("ConversationMenu", "New chat in this folder")
    _add(menu, begin, lambda: sidebar.new_in_folder_requested.emit(folder_id))
    _add(menu, translate("ConversationMenu", "Rename"), rename)
    settings = translate("ConversationMenu", "Settings of this folder…")
    _add(menu, settings, lambda: sidebar.folder_settings_requested.emit(folder_id))
    menu.addSeparator()
    _add(menu, translate("ConversationMenu", "New folder…"), lambda: sidebar.folder_requested.emit((), ""))
    delete = translate("ConversationMenu", "Delete this folder…")
    _add(menu, delete, lambda: sidebar.folder_deleted.emit(folder_id))
    return menu


def empty_menu(sidebar: ConversationList) -> QMenu:
    """Where there is no row."""
    menu = QMenu(sidebar)
    _add(menu, translate("ConversationMenu", "New folder…"), lambda: sidebar.folder_requested.emit((), ""))
    _add(menu, translate("ConversationMenu", "Filter chats…"), sidebar.open_filter)
    return menu


def _add(menu: QMenu, words: str, does: _Does, is_enabled: bool = True) -> None:
    action = menu.addAction(words)
    action.setEnabled(is_enabled)
    action.triggered.connect(does)
