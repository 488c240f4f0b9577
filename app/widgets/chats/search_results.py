"""The results of a search, each with the words where they were found."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPointF, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QKeyEvent, QPainter, QTextCharFormat, QTextLayout, QTextOption
from PySide6.QtWidgets import (
    QLabel,
    QListView,
    QStackedLayout,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.models.conversations import title_words
from app.models.rows import Index
from app.models.search_hits import SearchHitsModel
from app.text.unseen import utf16_length
from app.theme import ThemeKeeper
from app.widgets.parts import ENTER_KEYS, set_up
from app.widgets.rows_view import ListView, draw_back, draw_line, has_keyboard
from engine.values.conversations import SearchHit
from engine.values.order import Folder

SNIPPET_LINES = 2
_PADDING_PX = 12
_ABOVE_PX = 8
_GAP_PX = 6
_MOST_PLACE = 0.4  # of a line, for the folder of a chat
_SMALLER = 0.92


class SearchResults(QWidget):
    opened = Signal(SearchHit)  # show this one
    left = Signal()  # the user is done
    up_pressed = Signal()  # the keyboard goes back to the field above

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = SearchHitsModel(self)
        self.view = _View("conversations", self.tr("Search results"), self)
        self.view.viewport().setAutoFillBackground(False)
        self.view.setModel(self.model)
        self.view.setItemDelegate(_HitDelegate(keeper, self.view))
        self.view.left.connect(self.left)
        self.view.up_pressed.connect(self.up_pressed)
        self.view.clicked.connect(self._open)
        self.nothing = set_up(QLabel(self.tr("No chat contains these words."), self, wordWrap=True), kind="quiet")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self.nothing.setContentsMargins(8, 18, 8, 0)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.view)
        self._stack.addWidget(self.nothing)
        keeper.changed.connect(self.view.viewport().update)

    def set_folders(self, folders: Sequence[Folder]) -> None:
        self.model.set_folders({folder.id: folder.name for folder in folders})

    def show_hits(self, hits: tuple[SearchHit, ...]) -> None:
        """Shows hits, keeping the current one if it is still there."""
        index = self.view.currentIndex()
        current = self.model.hits[index.row()].conversation.id if index.isValid() else None
        self.model.set_hits(hits)
        row = next((row for row, hit in enumerate(hits) if hit.conversation.id == current), None)
        if row is not None:
            self.view.setCurrentIndex(self.model.index(row))
        self._stack.setCurrentWidget(self.view if hits else self.nothing)

    def enter(self) -> None:
        """Takes the keyboard, at the current hit or the first."""
        if self.model.hits:
            if not self.view.currentIndex().isValid():
                self.view.setCurrentIndex(self.model.index(0))
            self.view.setFocus()

    def open_current(self) -> None:
        """Opens the current hit, or the first."""
        index = self.view.currentIndex()
        if self.model.hits:
            self._open(index if index.isValid() else self.model.index(0))

    @Slot(QModelIndex)
    def _open(self, index: QModelIndex) -> None:
        self.view.setCurrentIndex(index)
        self.opened.emit(index.data(SearchHitsModel.HitRole))


class _View(ListView):
    left = Signal()
    up_pressed = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        elif event.key() == Qt.Key.Key_Up and self.currentIndex().row() <= 0:
            self.up_pressed.emit()
        elif event.key() in ENTER_KEYS and self.currentIndex().isValid():
            self.clicked.emit(self.currentIndex())  # `activated` differs between platforms
        else:
            super().keyPressEvent(event)


class _HitDelegate(QStyledItemDelegate):
    def __init__(self, keeper: ThemeKeeper, view: QListView) -> None:
        super().__init__(view)
        self._keeper = keeper
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        hit: SearchHit = index.data(SearchHitsModel.HitRole)
        height = 2 * _ABOVE_PX + option.fontMetrics.height()
        if hit.snippet:
            width = self._view.viewport().width() - 2 * _PADDING_PX
            height += 3 + _height(self._lay_out(hit, option.font, width))
        return QSize(80, height)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = self._keeper.theme
        hit: SearchHit = index.data(SearchHitsModel.HitRole)
        area: QRect = option.rect
        state: QStyle.StateFlag = option.state
        painter.save()
        draw_back(painter, QRectF(area).adjusted(0, 1, 0, -1), state, theme, has_keyboard(state))
        line = option.fontMetrics.height()
        title = QRect(area.left() + _PADDING_PX, area.top() + _ABOVE_PX, area.width() - 2 * _PADDING_PX, line)
        if hit.conversation.incognito:
            self._keeper.icon("incognito").paint(painter, QRect(title.left(), title.top(), 16, line))
            title.setLeft(title.left() + 21)
        place = str(index.data(SearchHitsModel.PlaceRole))
        if place:
            width = min(painter.fontMetrics().horizontalAdvance(place), int(title.width() * _MOST_PLACE))
            beside = QRect(title.right() - width, title.top(), width + 1, line)
            draw_line(painter, beside, theme.faint, place)
            title.setRight(beside.left() - _GAP_PX)
        draw_line(painter, title, theme.text, title_words(hit.conversation.title))
        if hit.snippet:
            painter.setPen(QColor(theme.quiet))
            layout = self._lay_out(hit, option.font, area.width() - 2 * _PADDING_PX)
            layout.draw(painter, QPointF(area.left() + _PADDING_PX, title.bottom() + 4))
        painter.restore()

    def _lay_out(self, hit: SearchHit, font: QFont, width: int) -> QTextLayout:
        """The snippet in at most two lines, with the found words marked."""
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
    """A format range, in UTF-16 units as Qt counts."""
    found = QTextLayout.FormatRange()
    found.start = utf16_length(text[:start])
    found.length = utf16_length(text[start : start + length])
    found.format = marked
    return found


def _height(layout: QTextLayout) -> int:
    return round(sum(layout.lineAt(number).height() for number in range(layout.lineCount())))
