from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QHelpEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.models.conversations import ConversationsModel
from app.models.rows import Index
from app.theme import ThemeKeeper
from app.widgets.rows_view import draw_back, draw_line, has_keyboard

HEADING_PX = 34
ROW_PX = 36
CROSS_PX = 24
SIGN_PX = 16  # of incognito


class ConversationDelegate(QStyledItemDelegate):
    """Draws a conversation, with the heading of its group above it where one begins and a cross while hovered.

    Signals:
        delete_requested(int): the cross of the conversation with this id was clicked.
    """

    delete_requested = Signal(int)

    def __init__(self, keeper: ThemeKeeper, parent: QWidget) -> None:
        super().__init__(parent)
        self._keeper = keeper

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: ARG002
        heading = HEADING_PX if index.data(ConversationsModel.GroupRole) else 0
        return QSize(80, self._keeper.px(ROW_PX) + self._keeper.px(heading))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = self._keeper.theme
        area: QRect = option.rect
        state: QStyle.StateFlag = option.state
        scale = self._keeper.scale
        row = row_area(area, scale)
        hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        painter.save()
        if row.top() > area.top():
            heading = QRect(area.left() + 12, area.top() + 10, area.width() - 16, row.top() - area.top() - 12)
            self._draw_heading(painter, heading, str(index.data(ConversationsModel.GroupRole)))
        draw_back(painter, QRectF(row).adjusted(0, 1, 0, -1), state, theme, has_keyboard(state))
        words_area = row.adjusted(12, 0, -12 - (self._keeper.px(CROSS_PX) if hovered else 0), 0)
        if index.data(ConversationsModel.IncognitoRole):
            sign = QRect(words_area.left(), words_area.top(), SIGN_PX, words_area.height())
            self._keeper.icon("incognito").paint(painter, sign)
            words_area.setLeft(sign.right() + 6)
        draw_line(painter, words_area, theme.text, str(index.data()))
        if hovered:
            self._keeper.icon("delete").paint(painter, cross_area(area, scale).adjusted(4, 4, -4, -4))
        painter.restore()

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
        editor.setAccessibleName(self.tr("Title of the chat"))
        return editor

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:  # noqa: ARG002
        area: QRect = option.rect
        editor.setGeometry(row_area(area, self._keeper.scale).adjusted(2, 2, -2, -2))

    def editorEvent(self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: Index) -> bool:
        area: QRect = option.rect
        if (
            isinstance(event, QMouseEvent)
            and event.type() in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonRelease)
            and event.button() == Qt.MouseButton.LeftButton
            and cross_area(area, self._keeper.scale).contains(event.position().toPoint())
        ):
            if event.type() == QEvent.Type.MouseButtonRelease:
                self.delete_requested.emit(index.data(ConversationsModel.IdRole))
            return True
        return super().editorEvent(event, model, option, index)

    def helpEvent(self, event: QHelpEvent, view: QAbstractItemView, option: QStyleOptionViewItem, index: Index) -> bool:
        area: QRect = option.rect
        position: QPoint = event.pos()
        if cross_area(area, self._keeper.scale).contains(position):
            view.setToolTip(self.tr("Delete"))
        return super().helpEvent(event, view, option, index)


def row_area(area: QRect, scale: float = 1.0) -> QRect:
    """The part of an item's area below its heading, where text is `scale` times its usual size."""
    height = round(ROW_PX * scale)
    return QRect(area.left(), area.bottom() - height + 1, area.width(), height)


def cross_area(area: QRect, scale: float = 1.0) -> QRect:
    row = row_area(area, scale)
    side = round(CROSS_PX * scale)
    return QRect(row.right() - side - 5, row.top() + (row.height() - side) // 2, side, side)
