"""The look of lists, and a list of rows in two lines that keeps its choice when the rows change."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from PySide6.QtCore import QModelIndex, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListView,
    QStackedWidget,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.models.rows import DrawnRow, Index, RowsModel
from app.text.unseen import one_line
from app.theme import Theme, ThemeKeeper
from app.widgets.appearance import KeyboardFrame
from app.widgets.layouts import Placed, Stretch, in_column
from app.widgets.parts import ENTER_KEYS, Sentences, button, set_up

_MARGIN_PX = 12
_GAP_PX = 10
_PADDING_PX = 8  # above and below the two lines
_SMALL = 0.92  # of the font


class ListView(QListView):
    """A list without a frame that scrolls up and down; its rows are drawn by a delegate."""

    def __init__(self, kind: str, name: str, parent: QWidget | None) -> None:
        """`kind` is the theme's, `name` is for screen readers."""
        super().__init__(parent)
        self.setProperty("kind", kind)
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setResizeMode(QListView.ResizeMode.Adjust)


class RowsView(KeyboardFrame, ListView):
    """Shows rows; a click or Enter uses one."""

    pointed_at = Signal(object)  # the row with this key is the current one now, or with None no row is
    used = Signal(object)  # the row with this key was clicked or Enter was pressed on it; never one that is dimmed
    delete_pressed = Signal()  # the Del key

    def __init__(self, keeper: ThemeKeeper, name: str, uses_on_click: bool = True, parent: QWidget | None = None):
        """`name` is for screen readers. Without `uses_on_click`, a click only points at a row and a double click uses
        it."""
        super().__init__("rows", name, parent)
        self.rows = RowsModel(self)
        self.current_key: Hashable | None = None
        self._is_filling = False
        self.setModel(self.rows)
        self.setItemDelegate(_RowDelegate(keeper, self))
        self.setUniformItemSizes(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        (self.clicked if uses_on_click else self.doubleClicked).connect(self._use)
        self.selectionModel().currentChanged.connect(self._on_current_changed)
        keeper.changed.connect(self.viewport().update)

    def set_rows(self, rows: Sequence[DrawnRow]) -> None:
        """Shows rows, keeping the current one while it is there."""
        before = self.current_key
        self._is_filling = True
        self.rows.set_rows(rows)
        self._is_filling = False
        if before is not None and self.rows.index_of(before).isValid():
            self.point_at(before)
        else:
            self._note(None)

    def point_at(self, key: Hashable | None) -> None:
        index = QModelIndex() if key is None else self.rows.index_of(key)
        self.setCurrentIndex(index)
        if index.isValid():
            self.scrollTo(index)

    def point_at_first(self) -> None:
        """Selects the first row that can be used, if none is current."""
        if self.current_key is None:
            first = next((row for row in self.rows.rows if not (row.dimmed or row.is_heading)), None)
            self.point_at(None if first is None else first.key)

    @Slot()
    def use_current(self) -> None:
        self._use(self.currentIndex())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in ENTER_KEYS:
            self.use_current()
        elif event.key() == Qt.Key.Key_Delete:
            self.delete_pressed.emit()
        else:
            super().keyPressEvent(event)

    @Slot(QModelIndex)
    def _use(self, index: QModelIndex) -> None:
        row = index.data(RowsModel.RowRole)
        if isinstance(row, DrawnRow) and not row.dimmed:
            self.used.emit(row.key)

    @Slot(QModelIndex, QModelIndex)
    def _on_current_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        if not self._is_filling:
            row = current.data(RowsModel.RowRole)
            self._note(row.key if isinstance(row, DrawnRow) else None)

    def _note(self, key: Hashable | None) -> None:
        if key != self.current_key:
            self.current_key = key
            self.pointed_at.emit(key)


class _RowDelegate(QStyledItemDelegate):
    def __init__(self, keeper: ThemeKeeper, parent: QWidget) -> None:
        super().__init__(parent)
        self._keeper = keeper

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: ARG002
        metrics = option.fontMetrics
        return QSize(120, 2 * metrics.height() + 2 * _PADDING_PX + 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = index.data(RowsModel.RowRole)
        if not isinstance(row, DrawnRow):
            return
        theme = self._keeper.theme
        area: QRect = option.rect
        state: QStyle.StateFlag = option.state
        painter.save()
        is_framed = bool(state & QStyle.StateFlag.State_Selected and state & QStyle.StateFlag.State_HasFocus)
        if row.is_heading and index.row():
            painter.setPen(QColor(theme.border))
            painter.drawLine(area.left() + _MARGIN_PX, area.top(), area.right() - _MARGIN_PX, area.top())
        draw_back(painter, QRectF(area).adjusted(2, 1, -2, -1), state, theme, is_framed)
        strong = QFont(option.font)
        strong.setWeight(QFont.Weight.DemiBold)
        small = QFont(option.font)
        small.setPointSizeF(small.pointSizeF() * _SMALL)
        inner = area.adjusted(_MARGIN_PX, _PADDING_PX, -_MARGIN_PX, -_PADDING_PX)
        upper = QRect(inner.left(), inner.top(), inner.width(), inner.height() // 2)
        lower = QRect(inner.left(), upper.bottom() + 1, inner.width(), inner.height() - upper.height())
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if row.tag:
            painter.setFont(small)
            painter.setPen(QColor(getattr(theme, row.tag_token)))
            painter.drawText(upper, right, row.tag)
            upper.setRight(upper.right() - painter.fontMetrics().horizontalAdvance(row.tag) - _GAP_PX)
        painter.setFont(strong)
        colour = theme.faint if row.dimmed else theme.quiet if row.is_heading else theme.text
        draw_line(painter, upper, colour, row.title, Qt.TextElideMode.ElideMiddle)  # the end says much
        painter.setFont(small)
        draw_line(painter, lower, theme.faint if row.dimmed else theme.quiet, row.subtitle)
        painter.restore()


def draw_back(painter: QPainter, area: QRectF, state: QStyle.StateFlag, theme: Theme, is_framed: bool) -> None:
    """Draws the background of a selected or hovered row, and the frame of one with the keyboard."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    selected = bool(state & QStyle.StateFlag.State_Selected)
    if selected or state & QStyle.StateFlag.State_MouseOver:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.selected if selected else theme.hover))
        painter.drawRoundedRect(area, 8, 8)
    if is_framed:
        painter.setPen(QColor(theme.accent))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(area.adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)


def has_keyboard(state: QStyle.StateFlag) -> bool:
    return bool(state & QStyle.StateFlag.State_HasFocus and state & QStyle.StateFlag.State_KeyboardFocusChange)


def draw_line(
    painter: QPainter, area: QRect, colour: str, words: str, elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight
) -> None:
    painter.setPen(QColor(colour))
    shown = painter.fontMetrics().elidedText(one_line(words), elide, area.width())
    painter.drawText(area, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)


class RowsOrWords(QStackedWidget):
    """A list, or a sentence in its place while there is nothing to list."""

    retry_requested = Signal()  # what failed is to be tried again

    def __init__(self, view: RowsView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.view = view
        page = QWidget(self)
        label = Sentences("", page)
        label.setMargin(16)
        self.words = set_up(label, kind="quiet")
        self.words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.retry_button = button(self.tr("Retry"), "outlined", page, self.retry_requested)
        middle = Qt.AlignmentFlag.AlignHCenter
        in_column([Stretch(), self.words, Placed(self.retry_button, 0, middle), Stretch()], inside=page)
        self.addWidget(view)
        self.addWidget(page)

    def show_rows(self, rows: Sequence[DrawnRow], words_without: str) -> None:
        self.view.set_rows(rows)
        if rows:
            self.setCurrentWidget(self.view)
        else:
            self.show_words(words_without)

    def show_words(self, words: str, can_retry: bool = False) -> None:
        self.words.setText(words)
        self.retry_button.setVisible(can_retry)
        self.setCurrentIndex(1)
