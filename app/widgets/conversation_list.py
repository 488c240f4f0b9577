"""The sidebar: past conversations, and the way to a new one."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QListView, QMenu, QPushButton, QVBoxLayout, QWidget

from app.models.conversations import ConversationsModel
from app.theme import ThemeKeeper
from app.widgets.conversation_delegate import ConversationDelegate
from app.widgets.keyboard_focus import show_keyboard_focus
from engine.records import ConversationSummary

NEW_ICON_PX = 16


class ConversationList(QWidget):
    """Conversations by day, last used first.

    Signals:
        chosen(int): the conversation with this id is to be opened.
        clicked(): a conversation was chosen with the mouse; the keyboard may go elsewhere.
        new_requested(): a new chat is to begin.
        renamed(int, str): the user has given a conversation another title; the list shows it already.
        deleted(int): a conversation is to be deleted; it stays in the list until `remove`.
    """

    chosen = Signal(int)
    clicked = Signal()
    new_requested = Signal()
    renamed = Signal(int, str)
    deleted = Signal(int)

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._chosen_id: int | None = None
        self.setObjectName("sidebar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.new_button = QPushButton("New chat", self)
        self.new_button.setProperty("kind", "new")
        self.new_button.setCursor(Qt.CursorShape.PointingHandCursor)
        self.new_button.setToolTip("Begin a new chat  (Ctrl+N)")
        self.new_button.clicked.connect(self._on_new)
        self.model = ConversationsModel(self)
        self.model.renamed.connect(self.renamed)
        self.view = _View(self)
        self.view.setModel(self.model)
        delegate = ConversationDelegate(keeper, self.view)
        delegate.delete_requested.connect(self.deleted)
        self.view.setItemDelegate(delegate)
        self.view.delete_pressed.connect(self.delete_current)
        self.view.customContextMenuRequested.connect(self._show_menu)
        self.view.clicked.connect(self._on_clicked)
        self.view.selectionModel().currentChanged.connect(self._on_current_changed)
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 10, 10, 6)
        column.setSpacing(6)
        column.addWidget(self.new_button)
        column.addWidget(self.view, 1)
        keeper.changed.connect(self._draw_icons)
        self._draw_icons()

    @property
    def chosen_id(self) -> int | None:
        """The conversation that is shown as open."""
        return self._chosen_id

    def set_conversations(self, summaries: tuple[ConversationSummary, ...]) -> None:
        chosen = self._chosen_id
        self.model.set_all(summaries)
        self.set_chosen(chosen)

    def upsert(self, summary: ConversationSummary) -> None:
        self.model.upsert(summary)
        self._after_change()

    def remove(self, conversation_id: int) -> None:
        chosen = None if conversation_id == self._chosen_id else self._chosen_id
        self.set_chosen(None)
        self.model.remove(conversation_id)
        self._after_change()
        self.set_chosen(chosen)

    def set_chosen(self, conversation_id: int | None) -> None:
        """Marks the open conversation, without a signal; None for a new chat that is in no list yet."""
        self._chosen_id = conversation_id
        row = None if conversation_id is None else self.model.row_of(conversation_id)
        if row is None:
            self.view.setCurrentIndex(QModelIndex())
            self.view.clearSelection()
        else:
            self.view.setCurrentIndex(self.model.index(row))

    @Slot()
    def rename_current(self) -> None:
        index = self.view.currentIndex()
        if index.isValid():
            self.view.edit(index)

    @Slot()
    def delete_current(self) -> None:
        index = self.view.currentIndex()
        if index.isValid():
            self.deleted.emit(index.data(ConversationsModel.IdRole))

    def _after_change(self) -> None:
        self.view.scheduleDelayedItemsLayout()  # headings come and go, and with them the heights

    @Slot(QModelIndex, QModelIndex)
    def _on_current_changed(self, current: QModelIndex, previous: QModelIndex) -> None:  # noqa: ARG002
        if not current.isValid():
            return
        conversation_id = current.data(ConversationsModel.IdRole)
        if conversation_id != self._chosen_id:
            self._chosen_id = conversation_id
            self.chosen.emit(conversation_id)

    @Slot(QModelIndex)
    def _on_clicked(self, _index: QModelIndex) -> None:
        if not self.view.is_editing():
            self.clicked.emit()

    @Slot()
    def _on_new(self) -> None:
        self.new_requested.emit()

    @Slot(QPoint)
    def _show_menu(self, position: QPoint) -> None:
        index = self.view.indexAt(position)
        if not index.isValid():
            return
        conversation_id = index.data(ConversationsModel.IdRole)
        menu = QMenu(self)
        rename = menu.addAction("Rename")
        delete = menu.addAction("Delete")
        action = menu.exec(self.view.viewport().mapToGlobal(position))
        menu.deleteLater()
        row = self.model.row_of(conversation_id)  # the list may have changed while the menu was open
        if action is delete and row is not None:
            self.deleted.emit(conversation_id)
        elif action is rename and row is not None:
            self.view.edit(self.model.index(row))

    @Slot()
    def _draw_icons(self) -> None:
        self.new_button.setIcon(self._keeper.icon("new", "accent"))
        icon_px = self._keeper.px(NEW_ICON_PX)
        self.new_button.setIconSize(QSize(icon_px, icon_px))
        self.view.scheduleDelayedItemsLayout()  # rows may be higher or lower now
        self.view.viewport().update()


class _View(QListView):
    """Signals: delete_pressed(): the Del key."""

    delete_pressed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("kind", "conversations")
        self.setAccessibleName("Conversations")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed | QAbstractItemView.EditTrigger.DoubleClicked)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.viewport().setAutoFillBackground(False)

    def is_editing(self) -> bool:
        return self.state() == QAbstractItemView.State.EditingState

    def keyboardSearch(self, search: str) -> None:
        """Letters do not jump to another conversation: whoever types here believes to be in the message box."""

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        show_keyboard_focus(self, event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        show_keyboard_focus(self, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and event.modifiers() in (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.KeypadModifier,
        ):
            self.delete_pressed.emit()
        else:
            super().keyPressEvent(event)
