"""The sidebar: past conversations in their order, a search, a filter, and buttons that begin a new chat."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QModelIndex, QPoint, QSize, Qt, Signal, SignalInstance, Slot
from PySide6.QtWidgets import QMenu, QStackedLayout, QWidget

from app.models.conversation_rows import ChatFilter
from app.models.conversations import ConversationsModel
from app.theme import ThemeKeeper
from app.widgets.chats.chat_filter import FilterLine, FilterPopup
from app.widgets.chats.conversation_menu import Act, SelectionBar, chats_menu, empty_menu, folder_menu
from app.widgets.chats.conversation_view import ConversationView
from app.widgets.chats.folder_picker import FolderPicker
from app.widgets.chats.search_results import SearchResults
from app.widgets.icon_button import IconButton
from app.widgets.layouts import Part, Placed, in_column, in_row
from app.widgets.parts import button
from app.widgets.search_field import SearchField
from engine.values.conversations import ConversationSummary, SearchHit
from engine.values.order import Folder

NEW_ICON_PX = 16


class ConversationList(QWidget):
    """Pinned conversations, folders, and the others by day, last used first; in their place, the results of a search.
    Ids of several conversations are a tuple."""

    chosen = Signal(int)  # open the conversation with this id
    new_requested = Signal()  # begin a new chat
    incognito_requested = Signal()  # one that leaves no trace
    renamed = Signal(int, str)  # the user has given a conversation another title; the list shows it already
    deleted = Signal(object)  # (ids) delete conversations; they stay in the list until `remove`
    export_requested = Signal(object)  # (ids) write conversations to a file
    forget_requested = Signal(object)  # (ids) delete conversations for good
    pinned = Signal(object, bool)  # (ids, bool) pin them, or no longer
    archived = Signal(object, bool)  # (ids, bool) archive them, or no longer
    moved = Signal(object, object)  # (ids, folder id) move conversations into a folder, or with None out of theirs
    # (ids, str) make a folder with them in it, and with this name if it is not empty
    folder_requested = Signal(object, str)
    new_in_folder_requested = Signal(int)  # begin a chat in a folder
    folder_settings_requested = Signal(int)  # show what its chats begin with
    folder_deleted = Signal(int)  # delete it
    folder_renamed = Signal(int, str)  # give a folder another name
    left = Signal()  # the user is done with searching, or has opened what was found; the keyboard may go elsewhere
    has_current_changed = Signal(bool)  # whether there is a conversation for `rename_current` and the like

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self.chosen_id: int | None = None  # of the conversation that is shown as open
        self._hits: tuple[SearchHit, ...] = ()
        self._moving: tuple[int, ...] = ()  # what the folder picker is open for
        self.setObjectName("sidebar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._make_head()
        self._make_list()
        self._arrange()
        keeper.changed.connect(self._draw_icons)
        self._draw_icons()

    # What is shown

    def set_conversations(self, summaries: tuple[ConversationSummary, ...]) -> None:
        with self.view.keeping_place():
            self.model.set_all(summaries)
        if not self.view.selected_ids():
            self.set_chosen(self.chosen_id)
        self._note_changed()

    def set_folders(self, folders: Sequence[Folder]) -> None:
        with self.view.keeping_place():
            self.model.set_folders(folders)
        self.results.set_folders(folders)
        self._note_changed()

    def upsert(self, *summaries: ConversationSummary) -> None:
        with self.view.keeping_place():
            self.model.upsert(*summaries)
        self._note_changed()

    def remove(self, *conversation_ids: int) -> None:
        with self.view.keeping_place():
            self.model.remove(*conversation_ids)
        if self.chosen_id in conversation_ids:
            self.set_chosen(None)
        self._note_changed()

    def set_chosen(self, conversation_id: int | None) -> None:
        """Selects the open conversation, without a signal; None for a new chat, which is not listed yet."""
        if conversation_id is not None and conversation_id != self.chosen_id:
            with self.view.keeping_place():
                self.model.reveal(conversation_id)
        self.chosen_id = self.view.delegate.chosen_id = conversation_id
        self.view.select(() if conversation_id is None else (conversation_id,))
        current = self.view.currentIndex()
        if current.isValid():
            self.view.scrollTo(current)
        self._note_selected()
        self.view.viewport().update()

    def set_written(self, conversation_id: int | None) -> None:
        """Marks the conversation in which a reply is being written."""
        self.model.set_written(conversation_id)

    def show_hits(self, hits: tuple[SearchHit, ...]) -> None:
        """Shows hits in place of the conversations until the search field is empty."""
        self._hits = hits
        self._show_hits()
        self._lists.setCurrentWidget(self.results)

    def set_filter(self, chosen: ChatFilter) -> None:
        with self.view.keeping_place():
            self.model.set_filter(chosen)
        self.filter_button.set_icon("filter", "accent" if chosen.is_on else "quiet")
        self._show_hits()
        self._note_changed()

    def acted_on(self) -> tuple[int, ...]:
        """The conversations that actions apply to: those selected, else the open one."""
        selected = self.view.selected_ids()
        if not selected and self.chosen_id is not None and self.model.find(self.chosen_id) is not None:
            return (self.chosen_id,)
        return selected

    # What the window's actions do

    @Slot()
    def begin_search(self) -> None:
        self.show()
        self.search.setFocus()
        self.search.selectAll()

    @Slot()
    def open_filter(self) -> None:
        self.show()
        self.filter_popup.open_below(self.search, self.model.filter, self.model.target_names())

    @Slot()
    def clear_filter(self) -> None:
        self.set_filter(ChatFilter())

    @Slot()
    def request_folder(self) -> None:
        self.folder_requested.emit((), "")

    @Slot()
    def move_current(self) -> None:
        self.open_folder_picker(self.acted_on())

    @Slot()
    def pin_current(self) -> None:
        """Pins the selected chats, or unpins them if all are pinned."""
        chosen = self._found(self.acted_on())
        if chosen:
            self.pinned.emit(tuple(each.id for each in chosen), not all(each.is_pinned for each in chosen))

    @Slot()
    def archive_current(self) -> None:
        """Archives the selected chats, or takes them out if all are archived."""
        chosen = self._found(self.acted_on())
        if chosen:
            self.archived.emit(tuple(each.id for each in chosen), not all(each.is_archived for each in chosen))

    @Slot()
    def export_current(self) -> None:
        self._emit_current(self.export_requested)

    @Slot()
    def forget_current(self) -> None:
        self._emit_current(self.forget_requested)

    @Slot()
    def delete_current(self) -> None:
        self._emit_current(self.deleted)

    @Slot()
    def rename_current(self) -> None:
        """Renames the open conversation, or the folder that the keyboard is on."""
        index = self.view.currentIndex()
        if self.view.current_folder() is None or not self.view.hasFocus():
            row = None if self.chosen_id is None else self.model.row_of(self.chosen_id)
            index = QModelIndex() if row is None else self.model.index(row)
        if index.isValid():
            self.view.edit(index)

    def open_folder_picker(self, conversation_ids: tuple[int, ...]) -> None:
        """Asks where to move these chats; incognito ones stay where they are."""
        chosen = [each for each in self._found(conversation_ids) if not each.incognito]
        self._moving = tuple(each.id for each in chosen)
        if not chosen:
            return
        self.show()
        numbers = dict.fromkeys((folder.id for folder in self.model.folders), 0)
        for each in self.model.summaries:
            if each.folder_id in numbers:
                numbers[each.folder_id] += 1
        folders = [(folder, numbers[folder.id]) for folder in self.model.folders]
        has_out = any(each.folder_id is not None for each in chosen)
        self.folder_picker.open_below(self.search, len(chosen), folders, has_out)

    # Arrangement

    def _make_head(self) -> None:
        keeper = self._keeper
        new = self.tr("New chat  (Ctrl+N)")
        self.new_button = button(self.tr("New chat"), "new", self, self.new_requested, tip=new, has_hand=True)
        incognito = self.tr("Begin a new incognito chat  (Ctrl+Shift+N)")
        self.incognito_button = IconButton(
            keeper, "incognito", incognito, self.incognito_requested, kind="beside", parent=self
        )
        self.search = SearchField(keeper, self)
        self.search.searched.connect(self._on_searched)
        self.search.left.connect(self.left)
        self.search.entered.connect(self.left)
        self.search.down_pressed.connect(self._enter_list)
        self.filter_button = IconButton(keeper, "filter", self.tr("Filter chats"), self.open_filter, parent=self)
        new_folder = self.tr("New folder")
        self.new_folder_button = IconButton(keeper, "folder-new", new_folder, self.request_folder, parent=self)
        self.filter_line = FilterLine(keeper, self)
        self.filter_line.cleared.connect(self.clear_filter)
        self.filter_popup = FilterPopup(self)
        self.filter_popup.chosen.connect(self.set_filter)
        self.folder_picker = FolderPicker(keeper, self)
        self.folder_picker.chosen.connect(lambda folder_id: self.moved.emit(self._moving, folder_id))
        self.folder_picker.new_requested.connect(lambda name: self.folder_requested.emit(self._moving, name))

    def _make_list(self) -> None:
        self.results = SearchResults(self._keeper, self)
        self.results.left.connect(self.search.leave)
        self.results.up_pressed.connect(self.search.setFocus)
        self.search.entered.connect(self.results.open_current)
        self.view = ConversationView(self._keeper, self.tr("Chats"), self)
        self.model: ConversationsModel = self.view.conversations
        self.model.renamed.connect(self.renamed)
        self.model.folder_renamed.connect(self.folder_renamed)
        self.view.delegate.delete_requested.connect(lambda conversation_id: self.deleted.emit((conversation_id,)))
        self.view.delete_pressed.connect(self._on_delete_pressed)
        self.view.forget_pressed.connect(self.forget_current)
        self.view.customContextMenuRequested.connect(self._show_menu)
        self.view.chosen.connect(self._on_chosen)
        self.view.selected.connect(self._note_selected)
        self.view.new_in_folder_requested.connect(self.new_in_folder_requested)
        self.view.dropped.connect(self.moved)
        self.view.left.connect(self._leave)
        self.view.takes_escape = lambda: self.model.filter.is_on or len(self.view.selected_ids()) > 1
        self.selection_bar = SelectionBar(self._keeper, self)
        self.selection_bar.move_requested.connect(self.move_current)
        self.selection_bar.archive_requested.connect(self.archive_current)
        self.selection_bar.export_requested.connect(self.export_current)
        self.selection_bar.delete_requested.connect(self.delete_current)
        self.selection_bar.ended.connect(self._select_one)

    def _arrange(self) -> None:
        lists = QWidget(self)
        self._lists = QStackedLayout(lists)
        self._lists.addWidget(self.view)
        self._lists.addWidget(self.results)
        first = in_row([Placed(self.new_button, 1), self.incognito_button], spacing=6)
        second = in_row([Placed(self.search, 1), self.filter_button, self.new_folder_button], spacing=2)
        parts: list[Part] = [first, second, self.filter_line, Placed(lists, 1), self.selection_bar]
        in_column(parts, inside=self, margins=(10, 10, 10, 6), spacing=6)

    # What happens

    def _found(self, conversation_ids: Sequence[int]) -> list[ConversationSummary]:
        return [found for each in conversation_ids if (found := self.model.find(each)) is not None]

    def _emit_current(self, signal: SignalInstance) -> None:
        ids = self.acted_on()
        if ids:
            signal.emit(ids)

    @Slot()
    def _note_changed(self) -> None:
        if self.model.filter.is_on:
            takes = self.model.taking()
            self.filter_line.show_filter(self.model.filter, sum(map(takes, self.model.summaries)))
        else:
            self.filter_line.show_filter(self.model.filter, 0)
        self._note_selected()

    @Slot()
    def _note_selected(self) -> None:
        found = self._found(self.view.selected_ids())
        num_incognito = sum(each.incognito for each in found)
        self.selection_bar.show_selected(len(found), num_incognito, all(each.is_archived for each in found))
        self.has_current_changed.emit(bool(self.acted_on()))

    @Slot(int)
    def _on_chosen(self, conversation_id: int) -> None:
        if conversation_id != self.chosen_id:
            self.chosen_id = self.view.delegate.chosen_id = conversation_id
            self.view.viewport().update()
            self.chosen.emit(conversation_id)

    @Slot()
    def _on_delete_pressed(self) -> None:
        folder = self.view.current_folder()
        if folder is not None and not self.view.selected_ids():
            self.folder_deleted.emit(folder)
        else:
            self.delete_current()

    @Slot()
    def _leave(self) -> None:
        """Leaves the selection first, then the filter."""
        if len(self.view.selected_ids()) > 1:
            self._select_one()
        else:
            self.clear_filter()

    @Slot()
    def _select_one(self) -> None:
        self.set_chosen(self.chosen_id)

    @Slot(QPoint)
    def _show_menu(self, position: QPoint) -> None:
        menu = self._menu_at(self.view.indexAt(position))
        menu.exec(self.view.viewport().mapToGlobal(position))
        menu.deleteLater()

    def _menu_at(self, index: QModelIndex) -> QMenu:
        """The menu for the whole selection."""
        if not index.isValid():
            return empty_menu(self, partial(self._do_with_folder, 0))
        folder_id = self.view.folder_at(index)
        if folder_id is not None:
            return folder_menu(self, partial(self._do_with_folder, folder_id))
        conversation_id = index.data(ConversationsModel.IdRole)
        selected = self.view.selected_ids()
        ids = selected if conversation_id in selected else (conversation_id,)
        return chats_menu(self, self._found(ids), partial(self._do_with_chats, ids))

    def _do_with_chats(self, ids: tuple[int, ...], act: Act) -> None:
        match act:
            case Act.RENAME:
                self._edit(self.model.row_of(ids[0]))
            case Act.PIN | Act.UNPIN:
                self.pinned.emit(ids, act is Act.PIN)
            case Act.MOVE:
                self.open_folder_picker(ids)
            case Act.ARCHIVE | Act.UNARCHIVE:
                self.archived.emit(ids, act is Act.ARCHIVE)
            case Act.EXPORT:
                self.export_requested.emit(ids)
            case Act.DELETE:
                self.deleted.emit(ids)
            case Act.FORGET:
                self.forget_requested.emit(ids)

    def _do_with_folder(self, folder_id: int, act: Act) -> None:
        match act:
            case Act.BEGIN:
                self.new_in_folder_requested.emit(folder_id)
            case Act.RENAME:
                self._edit(self.model.row_of_folder(folder_id))
            case Act.SETTINGS:
                self.folder_settings_requested.emit(folder_id)
            case Act.DELETE:
                self.folder_deleted.emit(folder_id)
            case Act.NEW_FOLDER:
                self.request_folder()
            case Act.FILTER:
                self.open_filter()

    def _edit(self, row: int | None) -> None:
        """`row` is None if it disappeared while the menu was open."""
        if row is not None:
            self.view.edit(self.model.index(row))

    @Slot(str)
    def _on_searched(self, words: str) -> None:
        if not words:
            self._lists.setCurrentWidget(self.view)
            self._hits = ()
            self.results.show_hits(())

    def _show_hits(self) -> None:
        """Shows hits, also from the archive, that match the filter's model and days."""
        takes = self.model.taking(anywhere=True)
        self.results.show_hits(tuple(hit for hit in self._hits if takes(hit.conversation)))

    @Slot()
    def _enter_list(self) -> None:
        if self._lists.currentWidget() is self.results:
            self.results.enter()
        else:
            self.view.setFocus()

    @Slot()
    def _draw_icons(self) -> None:
        self.new_button.setIcon(self._keeper.icon("new", "accent"))
        icon_px = self._keeper.px(NEW_ICON_PX)
        self.new_button.setIconSize(QSize(icon_px, icon_px))
        self.view.scheduleDelayedItemsLayout()  # rows may have another height
        self.view.viewport().update()
