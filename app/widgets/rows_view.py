"""A list of rows in two lines, that keeps what is chosen when the rows change."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFocusEvent, QFont, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QLabel,
    QListView,
    QStackedWidget,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.models.rows import Row, RowsModel
from app.theme import ThemeKeeper
from app.widgets.appearance import show_keyboard_focus

_MARGIN_PX = 12
_GAP_PX = 10
_PADDING_PX = 8  # above and below the two lines
_SMALL = 0.92  # of the font
_Index = QModelIndex | QPersistentModelIndex


class RowsView(QListView):
    """Shows rows; a click or Enter uses one.

    Signals:
        pointed_at(object): the row with this key is the current one now; None: none is.
        used(object): the row with this key was clicked or Enter was pressed on it; never one that is dimmed.
        delete_pressed(): the Del key.
    """

    pointed_at = Signal(object)
    used = Signal(object)
    delete_pressed = Signal()

    def __init__(self, keeper: ThemeKeeper, name: str, uses_on_click: bool = True, parent: QWidget | None = None):
        """`name` is what a screen reader says. Without `uses_on_click` a click only points at a row, and a double click
        uses it."""
        super().__init__(parent)
        self.rows = RowsModel(self)
        self._pointed_at: Hashable | None = None
        self._is_filling = False
        self.setModel(self.rows)
        self.setItemDelegate(_RowDelegate(keeper, self))
        self.setProperty("kind", "rows")
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setUniformItemSizes(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        (self.clicked if uses_on_click else self.doubleClicked).connect(self._use)
        self.selectionModel().currentChanged.connect(self._on_current_changed)
        keeper.changed.connect(self.viewport().update)

    @property
    def current_key(self) -> Hashable | None:
        return self._pointed_at

    def set_rows(self, rows: Sequence[Row]) -> None:
        """The current row stays the current one while it is there; `pointed_at` is told if it is not."""
        before = self._pointed_at
        self._is_filling = True
        self.rows.set_rows(rows)
        self._is_filling = False
        if before is not None and self.rows.index_of(before).isValid():
            self.point_at(before)
        else:
            self._tell(None)

    def point_at(self, key: Hashable | None) -> None:
        index = QModelIndex() if key is None else self.rows.index_of(key)
        self.setCurrentIndex(index)
        if index.isValid():
            self.scrollTo(index)

    def point_at_first(self) -> None:
        """At the first that can be used, where nothing is pointed at yet."""
        if self._pointed_at is None:
            first = next((row for row in self.rows.rows if not row.dimmed), None)
            self.point_at(None if first is None else first.key)

    @Slot()
    def use_current(self) -> None:
        self._use(self.currentIndex())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.use_current()
        elif event.key() == Qt.Key.Key_Delete:
            self.delete_pressed.emit()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        show_keyboard_focus(self, event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        show_keyboard_focus(self, event)

    @Slot(QModelIndex)
    def _use(self, index: QModelIndex) -> None:
        row = index.data(RowsModel.RowRole)
        if isinstance(row, Row) and not row.dimmed:
            self.used.emit(row.key)

    @Slot(QModelIndex, QModelIndex)
    def _on_current_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        if not self._is_filling:
            row = current.data(RowsModel.RowRole)
            self._tell(row.key if isinstance(row, Row) else None)

    def _tell(self, key: Hashable | None) -> None:
        if key != self._pointed_at:
            self._pointed_at = key
            self.pointed_at.emit(key)


class _RowDelegate(QStyledItemDelegate):
    def __init__(self, keeper: ThemeKeeper, parent: QWidget) -> None:
        super().__init__(parent)
        self._keeper = keeper

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:  # noqa: ARG002
        metrics = option.fontMetrics
        return QSize(120, 2 * metrics.height() + 2 * _PADDING_PX + 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        row = index.data(RowsModel.RowRole)
        if not isinstance(row, Row):
            return
        theme = self._keeper.theme
        area: QRect = option.rect
        state: QStyle.StateFlag = option.state
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        back = QRectF(area).adjusted(2, 1, -2, -1)
        selected = bool(state & QStyle.StateFlag.State_Selected)
        if selected or state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.selected if selected else theme.hover))
            painter.drawRoundedRect(back, 8, 8)
        if selected and state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QColor(theme.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(back.adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)
        plain = QFont(option.font)
        strong = QFont(plain)
        strong.setWeight(QFont.Weight.DemiBold)
        small = QFont(plain)
        small.setPointSizeF(plain.pointSizeF() * _SMALL)
        inner = area.adjusted(_MARGIN_PX, _PADDING_PX, -_MARGIN_PX, -_PADDING_PX)
        upper = QRect(inner.left(), inner.top(), inner.width(), inner.height() // 2)
        lower = QRect(inner.left(), upper.bottom() + 1, inner.width(), inner.height() - upper.height())
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if row.tag:
            painter.setFont(small)
            painter.setPen(QColor(getattr(theme, row.tag_token)))
            painter.drawText(upper, right, row.tag)
            upper.setRight(upper.right() - painter.fontMetrics().horizontalAdvance(row.tag) - _GAP_PX)
        colour = theme.faint if row.dimmed else theme.text
        _draw_line(painter, upper, strong, colour, row.title, Qt.TextElideMode.ElideMiddle)  # its end tells much
        _draw_line(painter, lower, small, theme.faint if row.dimmed else theme.quiet, row.subtitle)
        painter.restore()


def _draw_line(
    painter: QPainter,
    area: QRect,
    font: QFont,
    colour: str,
    words: str,
    elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
) -> None:
    painter.setFont(font)
    painter.setPen(QColor(colour))
    shown = painter.fontMetrics().elidedText(words, elide, area.width())
    painter.drawText(area, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)


class RowsOrWords(QStackedWidget):
    """A list, or a sentence in its place while there is nothing to list."""

    def __init__(self, view: RowsView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.view = view
        self.words = QLabel(self)
        self.words.setProperty("kind", "quiet")
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        self.words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.words.setWordWrap(True)
        self.words.setMargin(16)
        self.addWidget(view)
        self.addWidget(self.words)

    def show_rows(self, rows: Sequence[Row], words_without: str) -> None:
        self.view.set_rows(rows)
        if rows:
            self.setCurrentWidget(self.view)
        else:
            self.show_words(words_without)

    def show_words(self, words: str) -> None:
        self.words.setText(words)
        self.setCurrentWidget(self.words)
