"""The sidebar: past conversations, a search, and buttons that begin a new chat."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPoint, QSize, Qt, Signal, SignalInstance, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemDelegate, QAbstractItemView, QMenu, QStackedLayout, QWidget

from app.models.conversations import ConversationsModel
from app.theme import ThemeKeeper
from app.widgets.appearance import KeyboardFrame
from app.widgets.conversation_delegate import ConversationDelegate
from app.widgets.icon_button import IconButton
from app.widgets.layouts import Placed, in_column, in_row
from app.widgets.parts import button
from app.widgets.rows_view import ListView
from app.widgets.search_field import SearchField
from app.widgets.search_results import SearchResults
from engine.messages.conversations import ConversationSummary, SearchHit

NEW_ICON_PX = 16


class ConversationList(QWidget):
    """Conversations by day, last used first; in their place, the results of a search.

    Signals:
        chosen(int): open the conversation with this id.
        new_requested(), incognito_requested(): begin a new chat; one that leaves no trace.
        renamed(int, str): the user has given a conversation another title; the list shows it already.
        deleted(int): delete a conversation; it stays in the list until `remove`.
        export_requested(int), forget_requested(int): write a conversation to a file; delete it for good.
        left(): the user is done with searching, or has opened what was found; the keyboard may go elsewhere.
        has_current_changed(bool): whether there is a conversation for `rename_current` and the like.
    """

    chosen = Signal(int)
    new_requested = Signal()
    renamed = Signal(int, str)
    deleted = Signal(int)
    incognito_requested = Signal()
    export_requested = Signal(int)
    forget_requested = Signal(int)
    left = Signal()
    has_current_changed = Signal(bool)

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self.chosen_id: int | None = None  # of the conversation that is shown as open
        self.setObjectName("sidebar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        new = self.tr("Begin a new chat  (Ctrl+N)")
        self.new_button = button(self.tr("New chat"), "new", self, self.new_requested, tip=new, has_hand=True)
        incognito = self.tr("Begin a new incognito chat  (Ctrl+Shift+N)")
        self.incognito_button = IconButton(
            keeper, "incognito", incognito, self.incognito_requested, kind="beside", parent=self
        )
        self.search = SearchField(keeper, self)
        self.search.searched.connect(self._on_searched)
        self.search.left.connect(self.left)
        self.search.entered.connect(self.left)
        self.results = SearchResults(keeper, self)
        self.results.left.connect(self.search.leave)
        self.results.up_pressed.connect(self.search.setFocus)
        self.search.down_pressed.connect(self._enter_list)
        self.search.entered.connect(self.results.open_current)
        self.model = ConversationsModel(self)
        self.model.renamed.connect(self.renamed)
        self.view = _View(self.tr("Chats"), self)
        self.view.setModel(self.model)
        delegate = ConversationDelegate(keeper, self.view)
        delegate.delete_requested.connect(self.deleted)
        self.view.setItemDelegate(delegate)
        self.view.delete_pressed.connect(self.delete_current)
        self.view.forget_pressed.connect(self.forget_current)
        self.view.customContextMenuRequested.connect(self._show_menu)
        self.view.selectionModel().currentChanged.connect(self._on_current_changed)
        lists = QWidget(self)
        self._lists = QStackedLayout(lists)
        self._lists.addWidget(self.view)
        self._lists.addWidget(self.results)
        first = in_row([Placed(self.new_button, 1), self.incognito_button], spacing=6)
        in_column([first, self.search, Placed(lists, 1)], inside=self, margins=(10, 10, 10, 6), spacing=6)
        keeper.changed.connect(self._draw_icons)
        self._draw_icons()

    def set_conversations(self, summaries: tuple[ConversationSummary, ...]) -> None:
        chosen = self.chosen_id
        self.model.set_all(summaries)
        self.set_chosen(chosen)

    def upsert(self, summary: ConversationSummary) -> None:
        self.model.upsert(summary)
        self.view.scheduleDelayedItemsLayout()  # headings come and go, and with them the heights

    def remove(self, conversation_id: int) -> None:
        chosen = None if conversation_id == self.chosen_id else self.chosen_id
        self.set_chosen(None)
        self.model.remove(conversation_id)
        self.view.scheduleDelayedItemsLayout()
        self.set_chosen(chosen)

    def set_chosen(self, conversation_id: int | None) -> None:
        """Selects the open conversation, without a signal; None for a new chat that is in no list yet."""
        self.chosen_id = conversation_id
        row = None if conversation_id is None else self.model.row_of(conversation_id)
        if row is None:
            self.view.setCurrentIndex(QModelIndex())
            self.view.clearSelection()
        else:
            self.view.setCurrentIndex(self.model.index(row))
        self.has_current_changed.emit(row is not None)

    def show_hits(self, hits: tuple[SearchHit, ...]) -> None:
        """Shows them in place of the conversations until the search field is empty again."""
        self.results.show_hits(hits)
        self._lists.setCurrentWidget(self.results)

    @Slot()
    def begin_search(self) -> None:
        self.show()
        self.search.setFocus()
        self.search.selectAll()

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
        index = self.view.currentIndex()
        if index.isValid():
            self.view.edit(index)

    def _emit_current(self, signal: SignalInstance) -> None:
        index = self.view.currentIndex()
        if index.isValid():
            signal.emit(index.data(ConversationsModel.IdRole))

    @Slot(QModelIndex, QModelIndex)
    def _on_current_changed(self, current: QModelIndex, previous: QModelIndex) -> None:  # noqa: ARG002
        self.has_current_changed.emit(current.isValid())
        if not current.isValid():
            return
        conversation_id = current.data(ConversationsModel.IdRole)
        if conversation_id != self.chosen_id:
            self.chosen_id = conversation_id
            self.chosen.emit(conversation_id)

    @Slot(QPoint)
    def _show_menu(self, position: QPoint) -> None:
        index = self.view.indexAt(position)
        if not index.isValid():
            return
        conversation_id = index.data(ConversationsModel.IdRole)
        menu = QMenu(self)
        rename = menu.addAction(self.tr("Rename"))
        signals = {menu.addAction(self.tr("Export…")): self.export_requested}
        menu.addSeparator()
        signals[menu.addAction(self.tr("Delete"))] = self.deleted
        signals[menu.addAction(self.tr("Forget at once…"))] = self.forget_requested
        action = menu.exec(self.view.viewport().mapToGlobal(position))
        menu.deleteLater()
        row = self.model.row_of(conversation_id)  # None where it has gone while the menu was open
        if action is rename and row is not None:
            self.view.edit(self.model.index(row))
        elif action in signals and row is not None:
            signals[action].emit(conversation_id)

    @Slot(str)
    def _on_searched(self, words: str) -> None:
        if not words:
            self._lists.setCurrentWidget(self.view)
            self.results.show_hits(())

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


class _View(KeyboardFrame, ListView):
    """Signals: delete_pressed(): the Del key. forget_pressed(): with Shift."""

    delete_pressed = Signal()
    forget_pressed = Signal()

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__("conversations", name, parent)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed | QAbstractItemView.EditTrigger.DoubleClicked)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.viewport().setAutoFillBackground(False)

    def closeEditor(self, editor: QWidget, hint: QAbstractItemDelegate.EndEditHint) -> None:
        super().closeEditor(editor, hint)
        self.clearFocus()  # to where the keyboard is at home

    def keyboardSearch(self, search: str) -> None:
        """Letters do not jump to another conversation: they were meant for the message box."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and event.modifiers() in (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.KeypadModifier,
        ):
            self.delete_pressed.emit()
        elif event.key() == Qt.Key.Key_Delete and event.modifiers() == Qt.KeyboardModifier.ShiftModifier:
            self.forget_pressed.emit()
        else:
            super().keyPressEvent(event)
