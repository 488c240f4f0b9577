"""Draws the rows of the sidebar."""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QHelpEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QToolTip, QWidget

from app.models.conversation_rows import ChatEntry, FolderEntry
from app.models.conversations import ConversationsModel
from app.models.rows import Index
from app.text.numbers import whole
from app.theme import ThemeKeeper
from app.widgets.rows_view import draw_back, draw_line, has_keyboard

HEADING_PX = 34
ROW_PX = 36
CROSS_PX = 24
SIGN_PX = 16  # of a folder, and of incognito
_DOT_PX = 8  # of a chat in which a reply is being written
_EDGE_PX = 12
_GAP_PX = 6
_INSIDE_PX = SIGN_PX + _GAP_PX  # by which chats stand below the name of their folder
_MOST_NAME = 0.4  # of a row, for the folder of a chat that is elsewhere


class ConversationDelegate(QStyledItemDelegate):
    """Draws conversations and folders, with the heading of their group above them where one begins. While hovered, a
    conversation has a cross, and a folder a sign that begins a chat in it."""

    delete_requested = Signal(int)  # the cross of the conversation with this id was clicked

    def __init__(self, keeper: ThemeKeeper, model: ConversationsModel, parent: QWidget) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._model = model
        self.chosen_id: int | None = None  # of the conversation that is open
        self.drop_folder: int | None = None  # that dragged conversations would be put into
        keeper.changed.connect(self._measure)
        self._measure()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: ARG002
        return self._sizes[bool(self._model.entry(index.row()).heading)]

    @Slot()
    def _measure(self) -> None:
        """Measures once, as thousands of rows are asked for their sizes."""
        row, heading = self._keeper.px(ROW_PX), self._keeper.px(HEADING_PX)
        self._sizes = QSize(80, row), QSize(80, row + heading)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        area: QRect = option.rect
        state: QStyle.StateFlag = option.state
        entry = self._model.entry(index.row())
        row = row_area(area, self._keeper.scale)
        hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        painter.save()
        if entry.heading:
            heading = QRect(area.left() + _EDGE_PX, area.top() + 10, area.width() - 16, row.top() - area.top() - 12)
            self._draw_heading(painter, heading, entry.heading)
        has_frame = has_keyboard(state)
        if isinstance(entry, FolderEntry):
            has_frame = has_frame or entry.folder.id == self.drop_folder
        elif entry.summary.id == self.chosen_id:
            state |= QStyle.StateFlag.State_Selected  # also while the keyboard is on a folder
        draw_back(painter, QRectF(row).adjusted(0, 1, 0, -1), state, self._keeper.theme, has_frame)
        words = row.adjusted(_EDGE_PX, 0, -_EDGE_PX - (self._keeper.px(CROSS_PX) if hovered else 0), 0)
        if isinstance(entry, FolderEntry):
            self._draw_folder(painter, words, entry, hovered)
        else:
            if index.data(ConversationsModel.WrittenRole):
                words = self._draw_written(painter, words)
            self._draw_chat(painter, words, entry)
        if hovered:
            sign = "new" if isinstance(entry, FolderEntry) else "delete"
            self._keeper.icon(sign).paint(painter, cross_area(area, self._keeper.scale).adjusted(4, 4, -4, -4))
        painter.restore()

    def _draw_folder(self, painter: QPainter, area: QRect, entry: FolderEntry, hovered: bool) -> None:
        theme = self._keeper.theme
        self._keeper.icon("folder-open" if entry.is_open else "folder").paint(painter, _sign_area(area))
        number = whole(entry.num_chats) if entry.num_chats and not hovered else ""
        width = painter.fontMetrics().horizontalAdvance(number)
        painter.setPen(QColor(theme.faint))
        painter.drawText(area, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, number)
        draw_line(painter, area.adjusted(_INSIDE_PX, 0, -width - _GAP_PX, 0), theme.text, entry.folder.name)

    def _draw_chat(self, painter: QPainter, area: QRect, entry: ChatEntry) -> None:
        theme = self._keeper.theme
        area = area.adjusted(_INSIDE_PX if entry.is_inside else 0, 0, 0, 0)
        if entry.summary.incognito:
            self._keeper.icon("incognito").paint(painter, _sign_area(area))
            area.setLeft(area.left() + _INSIDE_PX)
        if entry.folder_name:
            width = min(painter.fontMetrics().horizontalAdvance(entry.folder_name), int(area.width() * _MOST_NAME))
            beside = QRect(area.right() - width, area.top(), width + 1, area.height())
            draw_line(painter, beside, theme.faint, entry.folder_name)
            area.setRight(beside.left() - _GAP_PX)
        draw_line(painter, area, theme.text, entry.summary.title)

    def _draw_written(self, painter: QPainter, area: QRect) -> QRect:
        """Draws a dot at the end of the row and returns the remaining area."""
        side = self._keeper.px(_DOT_PX)
        dot = QRect(area.right() - side, area.center().y() - side // 2, side, side)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._keeper.theme.accent))
        painter.drawEllipse(dot)
        painter.restore()
        return area.adjusted(0, 0, -side - _GAP_PX, 0)

    def _draw_heading(self, painter: QPainter, area: QRect, words: str) -> None:
        font = painter.font()
        small = painter.font()
        small.setPointSizeF(font.pointSizeF() * 0.9)
        small.setWeight(small.Weight.DemiBold)
        painter.setFont(small)
        painter.setPen(QColor(self._keeper.theme.faint))
        painter.drawText(area, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)
        painter.setFont(font)

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        editor = super().createEditor(parent, option, index)
        is_folder = isinstance(self._model.entry(index.row()), FolderEntry)
        editor.setAccessibleName(self.tr("Folder name") if is_folder else self.tr("Chat title"))
        return editor

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:  # noqa: ARG002
        area: QRect = option.rect
        editor.setGeometry(row_area(area, self._keeper.scale).adjusted(2, 2, -2, -2))

    def editorEvent(self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: Index) -> bool:
        area: QRect = option.rect
        entry = self._model.entry(index.row())
        if (
            isinstance(entry, ChatEntry)
            and isinstance(event, QMouseEvent)
            and event.type() in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonRelease)
            and event.button() == Qt.MouseButton.LeftButton
            and cross_area(area, self._keeper.scale).contains(event.position().toPoint())
        ):
            if event.type() == QEvent.Type.MouseButtonRelease:
                self.delete_requested.emit(entry.summary.id)
            return True
        return super().editorEvent(event, model, option, index)

    def helpEvent(self, event: QHelpEvent, view: QAbstractItemView, option: QStyleOptionViewItem, index: Index) -> bool:
        area: QRect = option.rect
        position: QPoint = event.pos()
        if index.isValid() and cross_area(area, self._keeper.scale).contains(position):
            is_folder = isinstance(self._model.entry(index.row()), FolderEntry)
            words = self.tr("New chat in this folder") if is_folder else self.tr("Delete")
            QToolTip.showText(event.globalPos(), words, view)
            return True
        return super().helpEvent(event, view, option, index)


def row_area(area: QRect, scale: float = 1.0) -> QRect:
    """The part of an item below its heading, with text at `scale` times its usual size."""
    height = round(ROW_PX * scale)
    return QRect(area.left(), area.bottom() - height + 1, area.width(), height)


def cross_area(area: QRect, scale: float = 1.0) -> QRect:
    """The area of the cross at the end of a row."""
    row = row_area(area, scale)
    side = round(CROSS_PX * scale)
    return QRect(row.right() - side - 5, row.top() + (row.height() - side) // 2, side, side)


def _sign_area(area: QRect) -> QRect:
    return QRect(area.left(), area.top(), SIGN_PX, area.height())
