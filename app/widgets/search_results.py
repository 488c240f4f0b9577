"""What a search has found, each with the words in their place."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QKeyEvent, QPainter, QTextCharFormat, QTextLayout, QTextOption
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QLabel,
    QListView,
    QStackedLayout,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.models.search_hits import SearchHitsModel
from app.theme import ThemeKeeper
from engine.messages.conversations import SearchHit

_Index = QModelIndex | QPersistentModelIndex
SNIPPET_LINES = 2
_PADDING_PX = 12
_ABOVE_PX = 8
_SMALLER = 0.92
_ENTER_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class SearchResults(QWidget):
    """Signals:
    opened(SearchHit): this one is to be shown.
    left(): the user is done.
    up_pressed(): the keyboard is to go back to the field above.
    """

    opened = Signal(SearchHit)
    left = Signal()
    up_pressed = Signal()

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = SearchHitsModel(self)
        self.view = _View(self)
        self.view.setModel(self.model)
        self.view.setItemDelegate(_HitDelegate(keeper, self.view))
        self.view.left.connect(self.left)
        self.view.up_pressed.connect(self.up_pressed)
        self.view.clicked.connect(self._open)
        self.nothing = QLabel(self.tr("No chat has these words."), self)
        self.nothing.setProperty("kind", "quiet")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self.nothing.setContentsMargins(8, 18, 8, 0)
        self.nothing.setWordWrap(True)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.view)
        self._stack.addWidget(self.nothing)
        keeper.changed.connect(self.view.viewport().update)

    def show_hits(self, hits: tuple[SearchHit, ...]) -> None:
        """The one that is marked stays marked, if it is still there."""
        index = self.view.currentIndex()
        marked = self.model.hits[index.row()].conversation.id if index.isValid() else None
        self.model.set_hits(hits)
        row = next((row for row, hit in enumerate(hits) if hit.conversation.id == marked), None)
        if row is not None:
            self.view.setCurrentIndex(self.model.index(row))
        self._stack.setCurrentWidget(self.view if hits else self.nothing)

    def enter(self) -> None:
        """The keyboard comes, to the first."""
        if self.model.hits:
            if not self.view.currentIndex().isValid():
                self.view.setCurrentIndex(self.model.index(0))
            self.view.setFocus()

    def open_current(self) -> None:
        """The one that is marked, or the first."""
        index = self.view.currentIndex()
        if self.model.hits:
            self._open(index if index.isValid() else self.model.index(0))

    @Slot(QModelIndex)
    def _open(self, index: QModelIndex) -> None:
        self.view.setCurrentIndex(index)
        self.opened.emit(index.data(SearchHitsModel.HitRole))


class _View(QListView):
    left = Signal()
    up_pressed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("kind", "conversations")
        self.setAccessibleName(self.tr("What was found"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.viewport().setAutoFillBackground(False)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        elif event.key() == Qt.Key.Key_Up and self.currentIndex().row() <= 0:
            self.up_pressed.emit()
        elif event.key() in _ENTER_KEYS and self.currentIndex().isValid():
            self.clicked.emit(self.currentIndex())  # what `activated` tells differs between platforms
        else:
            super().keyPressEvent(event)


class _HitDelegate(QStyledItemDelegate):
    def __init__(self, keeper: ThemeKeeper, view: QListView) -> None:
        super().__init__(view)
        self._keeper = keeper
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        hit: SearchHit = index.data(SearchHitsModel.HitRole)
        height = 2 * _ABOVE_PX + option.fontMetrics.height()
        if hit.snippet:
            width = self._view.viewport().width() - 2 * _PADDING_PX
            height += 3 + _height(self._lay_out(hit, option.font, width))
        return QSize(80, height)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        theme = self._keeper.theme
        hit: SearchHit = index.data(SearchHitsModel.HitRole)
        area: QRect = option.rect
        state: QStyle.StateFlag = option.state
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        selected = bool(state & QStyle.StateFlag.State_Selected)
        if selected or state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.selected if selected else theme.hover))
            painter.drawRoundedRect(QRectF(area).adjusted(0, 1, 0, -1), 8, 8)
        if state & QStyle.StateFlag.State_HasFocus and state & QStyle.StateFlag.State_KeyboardFocusChange:
            painter.setPen(QColor(theme.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(area).adjusted(0.5, 1.5, -0.5, -1.5), 8, 8)
        line = option.fontMetrics.height()
        title = QRect(area.left() + _PADDING_PX, area.top() + _ABOVE_PX, area.width() - 2 * _PADDING_PX, line)
        if hit.conversation.incognito:
            self._keeper.icon("incognito").paint(painter, QRect(title.left(), title.top(), 16, line))
            title.setLeft(title.left() + 21)
        painter.setPen(QColor(theme.text))
        words = option.fontMetrics.elidedText(hit.conversation.title, Qt.TextElideMode.ElideRight, title.width())
        painter.drawText(title, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)
        if hit.snippet:
            painter.setPen(QColor(theme.quiet))
            layout = self._lay_out(hit, option.font, area.width() - 2 * _PADDING_PX)
            layout.draw(painter, QPointF(area.left() + _PADDING_PX, title.bottom() + 4))
        painter.restore()

    def _lay_out(self, hit: SearchHit, font: QFont, width: int) -> QTextLayout:
        """The snippet in at most two lines, with its words marked."""
        font = QFont(font)
        font.setPointSizeF(font.pointSizeF() * _SMALLER)
        marked = QTextCharFormat()
        marked.setForeground(QColor(self._keeper.theme.accent))
        marked.setFontWeight(QFont.Weight.DemiBold)
        layout = QTextLayout(hit.snippet, font)
        layout.setTextOption(_WRAPPED)
        layout.setFormats([_range(hit.snippet, start, length, marked) for start, length in hit.marks])
        layout.beginLayout()
        top = 0.0
        for _ in range(SNIPPET_LINES):
            line = layout.createLine()
            if not line.isValid():
                break
            line.setLineWidth(max(20, width))
            line.setPosition(QPointF(0, top))
            top += line.height()
        layout.endLayout()
        return layout


_WRAPPED = QTextOption()
_WRAPPED.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)


def _range(text: str, start: int, length: int, marked: QTextCharFormat) -> QTextLayout.FormatRange:
    """Qt counts UTF-16 units."""
    found = QTextLayout.FormatRange()
    found.start = _units(text[:start])
    found.length = _units(text[start : start + length])
    found.format = marked
    return found


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _height(layout: QTextLayout) -> int:
    return round(sum(layout.lineAt(number).height() for number in range(layout.lineCount())))
