from __future__ import annotations

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QHelpEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.models.conversations import ConversationsModel
from app.theme import ThemeKeeper

HEADING_PX = 34
ROW_PX = 36
CROSS_PX = 24
SIGN_PX = 16  # of incognito
_Index = QModelIndex | QPersistentModelIndex


class ConversationDelegate(QStyledItemDelegate):
    """Draws a conversation, with the heading of its group above it where one begins and a cross while hovered.

    Signals:
        delete_requested(int): the cross of the conversation with this id was clicked.
    """

    delete_requested = Signal(int)

    def __init__(self, keeper: ThemeKeeper, parent: QWidget) -> None:
        super().__init__(parent)
        self._keeper = keeper

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:  # noqa: ARG002
        heading = HEADING_PX if index.data(ConversationsModel.GroupRole) else 0
        return QSize(80, self._keeper.px(ROW_PX) + self._keeper.px(heading))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        theme = self._keeper.theme
        area: QRect = option.rect
        state: QStyle.StateFlag = option.state
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        scale = self._keeper.scale
        row = row_area(area, scale)
        font = painter.font()
        if row.top() > area.top():
            heading = QRect(area.left() + 12, area.top() + 10, area.width() - 16, row.top() - area.top() - 12)
            small = painter.font()
            small.setPointSizeF(font.pointSizeF() * 0.9)
            small.setWeight(small.Weight.DemiBold)
            painter.setFont(small)
            painter.setPen(QColor(theme.faint))
            words = str(index.data(ConversationsModel.GroupRole))
            painter.drawText(heading, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)
            painter.setFont(font)
        selected = bool(state & QStyle.StateFlag.State_Selected)
        hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        if selected or hovered:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.selected if selected else theme.hover))
            painter.drawRoundedRect(QRectF(row).adjusted(0, 1, 0, -1), 8, 8)
        if bool(state & QStyle.StateFlag.State_HasFocus) and bool(state & QStyle.StateFlag.State_KeyboardFocusChange):
            painter.setPen(QColor(theme.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(row).adjusted(0.5, 1.5, -0.5, -1.5), 8, 8)
        words_area = row.adjusted(12, 0, -12 - (self._keeper.px(CROSS_PX) if hovered else 0), 0)
        if index.data(ConversationsModel.IncognitoRole):
            sign = QRect(words_area.left(), words_area.top(), SIGN_PX, words_area.height())
            self._keeper.icon("incognito").paint(painter, sign)
            words_area.setLeft(sign.right() + 6)
        words = painter.fontMetrics().elidedText(str(index.data()), Qt.TextElideMode.ElideRight, words_area.width())
        painter.setPen(QColor(theme.text))
        painter.drawText(words_area, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)
        if hovered:
            self._keeper.icon("delete").paint(painter, cross_area(area, scale).adjusted(4, 4, -4, -4))
        painter.restore()

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: _Index) -> QWidget:
        editor = super().createEditor(parent, option, index)
        editor.setAccessibleName(self.tr("Title of the chat"))
        return editor

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: _Index) -> None:  # noqa: ARG002
        area: QRect = option.rect
        editor.setGeometry(row_area(area, self._keeper.scale).adjusted(2, 2, -2, -2))

    def editorEvent(
        self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: _Index
    ) -> bool:
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

    def helpEvent(
        self, event: QHelpEvent, view: QAbstractItemView, option: QStyleOptionViewItem, index: _Index
    ) -> bool:
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
