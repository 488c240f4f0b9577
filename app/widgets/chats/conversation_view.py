"""The rows of the sidebar: chosen and selected, opened and closed, dragged and dropped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from PySide6.QtCore import (
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QMimeData,
    QModelIndex,
    QPoint,
    QRect,
    Qt,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtGui import (
    QColor,
    QDrag,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPixmap,
)
from PySide6.QtWidgets import QAbstractItemDelegate, QAbstractItemView, QWidget

from app.models.conversation_rows import FolderEntry
from app.models.conversations import ConversationsModel
from app.theme import ThemeKeeper
from app.widgets.appearance import KeyboardFrame
from app.widgets.chats.conversation_delegate import ConversationDelegate, cross_area
from app.widgets.parts import ENTER_KEYS
from app.widgets.rows_view import ListView, draw_line

CHATS = "application/x-slipstream-chats"  # ids as JSON
_MOST_BYTES = 1 << 20
_SIZE_PX = (200, 32)
_EDGE_PX = 12


def chats_data(ids: Sequence[int]) -> QMimeData:
    data = QMimeData()
    data.setData(CHATS, json.dumps(list(ids)).encode())
    return data


def dragged_ids(data: QMimeData) -> tuple[int, ...]:
    """Ids of dragged chats; empty for anything else, as drops may come from other programs."""
    raw = data.data(CHATS)
    if not 0 < raw.size() <= _MOST_BYTES:
        return ()
    try:
        found = json.loads(bytes(raw.data()))
    except (ValueError, RecursionError):
        return ()
    return tuple(each for each in found if type(each) is int) if isinstance(found, list) else ()


def dragged_pixmap(keeper: ThemeKeeper, words: str, widget: QWidget) -> QPixmap:
    """The picture under the pointer while dragging."""
    theme, ratio = keeper.theme, widget.devicePixelRatioF()
    width, height = map(keeper.px, _SIZE_PX)
    pixmap = QPixmap(round(width * ratio), round(height * ratio))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setFont(widget.font())
    painter.setBrush(QColor(theme.surface))
    painter.setPen(QColor(theme.accent))
    painter.drawRoundedRect(1, 1, width - 2, height - 2, 8, 8)
    draw_line(painter, QRect(_EDGE_PX, 0, width - 2 * _EDGE_PX, height), theme.text, words)
    painter.end()
    return pixmap


_HOVER_MS = 700  # over a closed folder, until it opens
_FOLDER_KEYS = (*ENTER_KEYS, Qt.Key.Key_Space)


class ConversationView(KeyboardFrame, ListView):
    """One conversation that is selected alone is chosen; Ctrl and Shift select several, which are chosen by nothing."""

    chosen = Signal(int)  # the user has come to this conversation
    selected = Signal()  # other conversations are selected
    new_in_folder_requested = Signal(int)  # begin a chat in this folder
    dropped = Signal(object, object)  # these conversations were dragged into a folder, or with None out of theirs
    delete_pressed = Signal()  # the Del key
    forget_pressed = Signal()  # Shift+Del
    left = Signal()  # Esc, where `takes_escape` says that there is something to leave

    def __init__(self, keeper: ThemeKeeper, name: str, parent: QWidget) -> None:
        super().__init__("conversations", name, parent)
        self._keeper = keeper
        self.takes_escape: Callable[[], bool] = lambda: False
        self._is_filling = False  # what changes is not the user's choice
        self._is_held = False  # a mouse button is down, and may begin to drag
        self._pressed_folder: int | None = None
        self._selected: tuple[int, ...] | None = ()  # None: to be looked up
        self.conversations = ConversationsModel(self)
        self.setModel(self.conversations)
        self.delegate = ConversationDelegate(keeper, self.conversations, self)
        self.setItemDelegate(self.delegate)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed | QAbstractItemView.EditTrigger.DoubleClicked)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setDragEnabled(True)
        self.setAcceptDrops(True)
        self.setDropIndicatorShown(False)
        self.viewport().setAutoFillBackground(False)
        self._hovering = QTimer(self, singleShot=True, interval=_HOVER_MS)
        self._hovering.timeout.connect(self._open_hovered)
        self.selectionModel().currentChanged.connect(self._on_selection)
        self.selectionModel().selectionChanged.connect(self._on_selection)

    # What is selected

    def selected_ids(self) -> tuple[int, ...]:
        """The selected chats, from top to bottom."""
        if self._selected is None:
            rows = sorted(index.row() for index in self.selectionModel().selectedIndexes())
            self._selected = tuple(self.conversations.summary(row).id for row in rows)
        return self._selected

    def current_folder(self) -> int | None:
        """The folder whose row is the current one."""
        return self.folder_at(self.currentIndex())

    def select(self, conversation_ids: Sequence[int], current: QModelIndex | None = None) -> None:
        """Selects those that are shown, without a signal; `current` is the last of them unless given."""
        rows = sorted(row for each in conversation_ids if (row := self.conversations.row_of(each)) is not None)
        last = self.conversations.row_of(conversation_ids[-1]) if conversation_ids else None
        if current is None:
            current = QModelIndex() if last is None else self.conversations.index(last)
        was_filling, self._is_filling = self._is_filling, True
        self.selectionModel().setCurrentIndex(current, QItemSelectionModel.SelectionFlag.NoUpdate)
        self.selectionModel().select(self._ranges(rows), QItemSelectionModel.SelectionFlag.ClearAndSelect)
        self._is_filling = was_filling

    @contextmanager
    def keeping_place(self) -> Iterator[None]:
        """Keeps the selection and the current row while rows change, as far as they are still shown."""
        selected, folder = self.selected_ids(), self.current_folder()
        current_id = self.currentIndex().data(ConversationsModel.IdRole)
        self._is_filling = True
        try:
            yield
            self._selected = None
            self.scheduleDelayedItemsLayout()  # headings come and go, and with them the heights
            row = None
            if folder is not None:
                row = self.conversations.row_of_folder(folder)
            elif current_id is not None:
                row = self.conversations.row_of(current_id)
            self.select(selected, QModelIndex() if row is None else self.conversations.index(row))
        finally:
            self._is_filling = False
        if self.selected_ids() != selected:
            self.selected.emit()

    def _ranges(self, rows: Sequence[int]) -> QItemSelection:
        selection = QItemSelection()
        begin = 0
        for place in range(1, len(rows) + 1):
            if place == len(rows) or rows[place] != rows[place - 1] + 1:
                first, last = self.conversations.index(rows[begin]), self.conversations.index(rows[place - 1])
                selection.select(first, last)
                begin = place
        return selection

    @Slot()
    def _on_selection(self) -> None:
        self._selected = None
        if self._is_filling or self._is_held:
            return
        self.selected.emit()
        ids = self.selected_ids()
        if len(ids) == 1 and self.currentIndex().data(ConversationsModel.IdRole) == ids[0]:
            self.chosen.emit(ids[0])

    # Folders

    def set_open(self, folder_id: int, is_open: bool) -> None:
        with self.keeping_place():
            self.conversations.set_open(folder_id, is_open)

    def folder_at(self, index: QModelIndex) -> int | None:
        """The folder whose row this is."""
        entry = self.conversations.entry(index.row()) if index.isValid() else None
        return entry.folder.id if isinstance(entry, FolderEntry) else None

    def _toggle(self, folder_id: int) -> None:
        row = self.conversations.row_of_folder(folder_id)
        if row is not None:
            entry = self.conversations.entry(row)
            self.set_open(folder_id, not (isinstance(entry, FolderEntry) and entry.is_open))

    def _step_out(self) -> None:
        """Closes the current folder, or goes to the current conversation's folder."""
        index = self.currentIndex()
        if not index.isValid():
            return
        entry = self.conversations.entry(index.row())
        if isinstance(entry, FolderEntry):
            self.set_open(entry.folder.id, False)
        elif entry.is_inside and entry.summary.folder_id is not None:
            row = self.conversations.row_of_folder(entry.summary.folder_id)
            if row is not None:
                self.setCurrentIndex(self.conversations.index(row))

    def _step_in(self) -> None:
        """Opens the current folder, or goes to its first conversation."""
        index = self.currentIndex()
        entry = self.conversations.entry(index.row()) if index.isValid() else None
        if not isinstance(entry, FolderEntry):
            return
        if not entry.is_open:
            self.set_open(entry.folder.id, True)
        elif entry.num_chats:
            self.setCurrentIndex(self.conversations.index(index.row() + 1))

    # Keys

    def event(self, event: QEvent) -> bool:
        """Esc belongs to this list while there is something to leave, even if it would stop a reply."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            is_escape = event.matches(QKeySequence.StandardKey.Cancel)
            if is_escape and self.takes_escape():
                event.accept()
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, plain = (
            event.key(),
            event.modifiers()
            in (
                Qt.KeyboardModifier.NoModifier,
                Qt.KeyboardModifier.KeypadModifier,
            ),
        )
        folder = self.current_folder()
        if self.state() == QAbstractItemView.State.EditingState:
            super().keyPressEvent(event)  # what the field has left over
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and plain:
            self.delete_pressed.emit()
        elif key == Qt.Key.Key_Delete and event.modifiers() == Qt.KeyboardModifier.ShiftModifier:
            self.forget_pressed.emit()
        elif key == Qt.Key.Key_Escape and self.takes_escape():
            self.left.emit()
        elif key == Qt.Key.Key_Left and plain:
            self._step_out()
        elif key == Qt.Key.Key_Right and plain:
            self._step_in()
        elif folder is not None and key in _FOLDER_KEYS and plain:
            self._toggle(folder)
        elif folder is not None and key in ENTER_KEYS and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.new_in_folder_requested.emit(folder)
        else:
            super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Letters do not jump to another conversation: they were meant for the message box."""

    def closeEditor(self, editor: QWidget, hint: QAbstractItemDelegate.EndEditHint) -> None:
        super().closeEditor(editor, hint)
        self.clearFocus()  # to where the keyboard is at home

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Opens and closes folders, keeping the selection; the right button opens a menu."""
        self._pressed_folder = None
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed_folder = self.folder_at(self.indexAt(event.position().toPoint()))
            if self._pressed_folder is None:
                self._is_held = True
                super().mousePressEvent(event)
        elif event.button() != Qt.MouseButton.RightButton:
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed_folder is None:
            super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, self._pressed_folder = self._pressed_folder, None
        if pressed is not None:
            index = self.indexAt(event.position().toPoint())
            if self.folder_at(index) == pressed:
                sign = cross_area(self.visualRect(index), self._keeper.scale)
                if sign.contains(event.position().toPoint()):
                    self.new_in_folder_requested.emit(pressed)
                else:
                    self._toggle(pressed)
            return
        was_held, self._is_held = self._is_held, False
        super().mouseReleaseEvent(event)
        if was_held:
            self._on_selection()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self.folder_at(self.indexAt(event.position().toPoint())) is not None:
            self.mousePressEvent(event)
        else:
            super().mouseDoubleClickEvent(event)

    # Dragging

    def startDrag(self, _actions: Qt.DropAction) -> None:
        ids = [each for each in self.selected_ids() if not self._is_incognito(each)]
        if ids:
            drag = QDrag(self)
            drag.setMimeData(chats_data(ids))
            drag.setPixmap(dragged_pixmap(self._keeper, self._words_of(ids), self))
            drag.exec(Qt.DropAction.MoveAction)
        self._is_held = False
        self.setState(QAbstractItemView.State.NoState)
        self.select(() if self.delegate.chosen_id is None else (self.delegate.chosen_id,))
        self.selected.emit()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Leaves files to the window."""
        if event.mimeData().hasFormat(CHATS):
            event.acceptProposedAction()
        else:
            event.ignore()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        ids = dragged_ids(event.mimeData())
        super().dragMoveEvent(event)  # which scrolls near the edge
        place = self._drop_place(event.position().toPoint())
        self._show_drop(place[0] if place else None)
        if place is not None and any(self._folder_of(each) != place[0] for each in ids):
            event.acceptProposedAction()
        else:
            event.ignore()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        super().dragLeaveEvent(event)
        self._show_drop(None)

    def dropEvent(self, event: QDropEvent) -> None:
        ids, place = dragged_ids(event.mimeData()), self._drop_place(event.position().toPoint())
        self._show_drop(None)
        self.stopAutoScroll()
        known = tuple(
            each for each in ids if self.conversations.find(each) is not None and not self._is_incognito(each)
        )
        if place is not None and known:
            event.setDropAction(Qt.DropAction.MoveAction)
            event.accept()
            self.dropped.emit(known, place[0])

    def _drop_place(self, position: QPoint) -> tuple[int | None] | None:
        """The folder to drop into, or None inside for no folder; None if nothing can be dropped."""
        index = self.indexAt(position)
        if not index.isValid():
            return (None,)
        entry = self.conversations.entry(index.row())
        if isinstance(entry, FolderEntry):
            return (entry.folder.id,)
        if entry.summary.is_pinned:
            return None
        return (entry.summary.folder_id if entry.is_inside else None,)

    def _show_drop(self, folder_id: int | None) -> None:
        if folder_id != self.delegate.drop_folder:
            self.delegate.drop_folder = folder_id
            self._hovering.stop()
            if folder_id is not None:
                self._hovering.start()
            self.viewport().update()

    @Slot()
    def _open_hovered(self) -> None:
        if self.delegate.drop_folder is not None:
            self.set_open(self.delegate.drop_folder, True)

    def _folder_of(self, conversation_id: int) -> int | None:
        summary = self.conversations.find(conversation_id)
        return None if summary is None else summary.folder_id

    def _is_incognito(self, conversation_id: int) -> bool:
        summary = self.conversations.find(conversation_id)
        return summary is not None and summary.incognito

    def _words_of(self, ids: Sequence[int]) -> str:
        first = self.conversations.find(ids[0])
        if len(ids) == 1 and first is not None:
            return first.title
        return self.tr("%n chat(s)", "", len(ids))
