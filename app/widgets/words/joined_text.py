"""Selecting from one text of a message into another, and copying what is selected in all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QObject, QPoint, Qt, QTimer, Slot
from PySide6.QtGui import (
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QTextCursor,
    QTextDocument,
    QTextDocumentFragment,
    QTextFormat,
    QTextTable,
)
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QWidget

from app.text.unseen import APART, APART_END, MARK, STAND_IN, mark_of
from app.widgets.words.formulas import with_sources

if TYPE_CHECKING:

    class _Edit(QAbstractScrollArea):
        """What QTextEdit and QPlainTextEdit have in common."""

        def textCursor(self) -> QTextCursor: ...
        def setTextCursor(self, cursor: QTextCursor, /) -> None: ...
        def cursorForPosition(self, pos: QPoint, /) -> QTextCursor: ...
        def document(self) -> QTextDocument: ...
        def selectAll(self, /) -> None: ...
        def createMimeDataFromSelection(self, /) -> QMimeData: ...

else:
    _Edit = object  # a class has one of them among its bases

_SCROLL_MS = 30
_SCROLL_PX = 24  # in that time, while the pointer is held above or below what is visible
# What the theme brings into HTML; quotes of the text itself are escaped there.
_STYLE = re.compile(r'style="[^"]*"')
_COLOUR = re.compile(r'(?<![-\w])(?:background-)?color:[^;"]*;?')
_DROPPED = re.compile(r' bgcolor="[^"]*"|<!--(?:Start|End)Fragment-->')
_AS_TYPED = {0x2028: "\n", 0xA0: " ", 0xFFFC: None}  # what Qt writes for the end of a line, spaces and pictures
UNSEEN = QTextFormat.Property.UserProperty.value + 1  # of a mark: the signs that it is shown for, see `app.text.unseen`
_BODY = re.compile(r"<body[^>]*>(.*)</body>", re.DOTALL)


class JoinedText(_Edit):
    """Comes before the widget among the bases of a class. Its selection may go on in others, see `JoinedSelection`."""

    joined: JoinedSelection | None = None
    is_code = False
    has_formulas = False
    code = ""  # where it is code: as it is, while marks may be shown in it

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self.joined is not None:
            self.joined.begin(self, event)
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.joined is None or not self.joined.drag(event):
            super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if self.joined is not None:
            self.joined.end(self)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.joined is not None and event.matches(QKeySequence.StandardKey.SelectAll):
            self.joined.select_all()
        else:
            super().keyPressEvent(event)

    def createMimeDataFromSelection(self) -> QMimeData:
        return copied([self]) if self.joined is None else copied(self.joined.selected())


class JoinedSelection(QObject):
    """What is selected in the texts of one message, until something is selected in another one. A drag that leaves a
    text goes on in the others, and scrolls what they are in."""

    def __init__(self, texts: Callable[[], Sequence[JoinedText]], parent: QWidget) -> None:
        """`texts`: the present texts, from top to bottom."""
        super().__init__(parent)
        self._texts = texts
        self._held: JoinedText | None = None  # in which the drag began
        self._pointer = QPoint()  # on the screen
        self._scroller = QTimer(self, interval=_SCROLL_MS)
        self._scroller.timeout.connect(self._scroll)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._on_focus_changed)

    def selected(self) -> list[JoinedText]:
        return [text for text in self._texts() if text.textCursor().hasSelection()]

    def select_all(self) -> None:
        for text in self._texts():
            text.selectAll()

    def begin(self, text: JoinedText, event: QMouseEvent) -> None:
        """Begins at a press; a press on the selection may drag it elsewhere."""
        self._held = None
        if event.button() == Qt.MouseButton.LeftButton and not _is_selected(text, event.position().toPoint()):
            self._held = text
            self._clear_all_but(text)

    def drag(self, event: QMouseEvent) -> bool:
        """Extends the selection to another text; False while the pointer is still in the one where it was pressed."""
        if self._held is None or not event.buttons() & Qt.MouseButton.LeftButton:
            return False
        self._pointer = event.globalPosition().toPoint()
        if self._overhang():
            self._scroller.start()
        return self._extend(self._held)

    def end(self, text: JoinedText) -> None:
        self._scroller.stop()
        is_drag, self._held = self._held is not None, None
        if text.textCursor().hasSelection():
            return
        if not is_drag:  # a click on what was selected
            self._clear_all_but(text)
        elif selected := self.selected():  # it began at the end of this one, which has nothing to be copied
            selected[0].setFocus()

    def _extend(self, held: JoinedText) -> bool:
        """Selects from the beginning in `held` to the pointer; False if the pointer is within it."""
        texts = list(self._texts())
        if held not in texts:  # it was replaced while the reply grew
            return False
        begun, reached = texts.index(held), self._index_at(texts)
        low, high = min(begun, reached), max(begun, reached)
        for place, text in enumerate(texts):
            end = text.document().characterCount() - 1
            if place == begun != reached:
                _select(text, text.textCursor().anchor(), end if begun < reached else 0)
            elif place == reached != begun:
                _select(text, 0 if begun < reached else end, self._position_in(text))
            elif low < place < high:
                _select(text, 0, end)
            elif place != begun:
                _clear(text)
        return begun != reached

    def _position_in(self, text: JoinedText) -> int:
        return text.cursorForPosition(text.viewport().mapFromGlobal(self._pointer)).position()

    def _index_at(self, texts: Sequence[JoinedText]) -> int:
        """The text at the height of the pointer, else the one above it, else the first."""
        tops = [text.mapToGlobal(QPoint()).y() for text in texts]
        return max((place for place, top in enumerate(tops) if top <= self._pointer.y()), default=0)

    def _clear_all_but(self, text: JoinedText) -> None:
        for other in self._texts():
            if other is not text:
                _clear(other)

    @Slot(QWidget, QWidget)
    def _on_focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:  # noqa: ARG002
        if isinstance(new, JoinedText) and new.joined is not self:
            self._clear_all_but(new)

    def _overhang(self) -> int:
        """The pointer's distance below (or, if negative, above) the visible area, in pixels."""
        area = self._area()
        if area is None:
            return 0
        y = area.viewport().mapFromGlobal(self._pointer).y()
        return min(y, 0) + max(y - area.viewport().height(), 0)

    def _area(self) -> QAbstractScrollArea | None:
        """The area that scrolls the message."""
        widget = self.parent()
        while widget is not None and not isinstance(widget, QAbstractScrollArea):
            widget = widget.parent()
        return widget

    @Slot()
    def _scroll(self) -> None:
        overhang, area = self._overhang(), self._area()
        if self._held is None or area is None or not overhang:
            self._scroller.stop()
            return
        bar = area.verticalScrollBar()
        bar.setValue(bar.value() + (_SCROLL_PX if overhang > 0 else -_SCROLL_PX))
        if not self._extend(self._held):
            text = self._held
            _select(text, text.textCursor().anchor(), self._position_in(text))


def copied(texts: Sequence[JoinedText]) -> QMimeData:
    """The selections in order: as plain text with tabs between table cells, and as HTML without colours."""
    data = QMimeData()
    parts = [(_selected(text), text.is_code) for text in texts]
    data.setText("\n\n".join(part.toPlainText() if is_code else _plain(part) for part, is_code in parts))
    if not all(is_code for _, is_code in parts):
        html = "\n".join(_html(part, is_code) for part, is_code in parts)
        data.setHtml(f'<html><head><meta charset="utf-8"></head><body>{html}</body></html>')
    return data


def _selected(text: JoinedText) -> QTextDocumentFragment:
    """The selection with hidden characters in place of their marks, and LaTeX in place of drawings."""
    cursor = text.textCursor()
    part = cursor.selection()
    shown = part.toPlainText()
    if STAND_IN in shown and text.code:
        units = text.code.encode("utf-16-le", "surrogatepass")[2 * cursor.selectionStart() : 2 * cursor.selectionEnd()]
        return QTextDocumentFragment.fromPlainText(units.decode("utf-16-le", "surrogatepass"))
    if MARK not in shown and not text.has_formulas and APART not in shown and APART_END not in shown:
        return part
    document = QTextDocument()
    QTextCursor(document).insertFragment(part)
    _join(document)
    with_sources(document)
    found = document.find(MARK)
    while not found.isNull():
        signs = found.charFormat().property(UNSEEN)
        if isinstance(signs, str):  # else the same was typed
            found.setPosition(found.selectionStart())
            found.setPosition(found.position() + len(mark_of(signs)), QTextCursor.MoveMode.KeepAnchor)
            found.insertText(signs)
        found = document.find(MARK, found)
    return QTextDocumentFragment(document)


def _join(document: QTextDocument) -> None:
    """Removes the direction marks around code, before the text's own hidden characters are restored."""
    for sign in (APART, APART_END):
        found = document.find(sign)
        while not found.isNull():
            found.removeSelectedText()
            found = document.find(sign, found)


def _plain(part: QTextDocumentFragment) -> str:
    document = QTextDocument()
    QTextCursor(document).insertFragment(part)
    if not any(isinstance(frame, QTextTable) for frame in document.rootFrame().childFrames()):
        return part.toPlainText()
    lines: list[str] = []
    place = document.rootFrame().begin()
    while not place.atEnd():
        table = place.currentFrame()
        if isinstance(table, QTextTable):
            lines += ("\t".join(_cells(table, row)) for row in range(table.rows()))
        elif text := place.currentBlock().text():  # Qt has an empty one before and after a table
            lines.append(text.translate(_AS_TYPED))
        place += 1
    return "\n".join(lines)


def _cells(table: QTextTable, row: int) -> Iterator[str]:
    for column in range(table.columns()):
        cell = table.cellAt(row, column)
        cursor = cell.firstCursorPosition()
        cursor.setPosition(cell.lastCursorPosition().position(), QTextCursor.MoveMode.KeepAnchor)
        yield " ".join(cursor.selection().toPlainText().split())


def _html(part: QTextDocumentFragment, is_code: bool) -> str:
    if is_code:
        return f"<pre>{escape(part.toPlainText())}</pre>"
    html = _STYLE.sub(lambda style: _COLOUR.sub("", style[0]), _DROPPED.sub("", part.toHtml()))
    body = _BODY.search(html)
    return html if body is None else body[1]


def _is_selected(text: JoinedText, place: QPoint) -> bool:
    cursor, here = text.textCursor(), text.cursorForPosition(place).position()
    return cursor.hasSelection() and cursor.selectionStart() <= here < cursor.selectionEnd()


def _select(text: JoinedText, anchor: int, position: int) -> None:
    cursor = text.textCursor()
    if (cursor.anchor(), cursor.position()) == (anchor, position):
        return
    cursor.setPosition(anchor)
    cursor.setPosition(position, QTextCursor.MoveMode.KeepAnchor)
    text.setTextCursor(cursor)


def _clear(text: JoinedText) -> None:
    cursor = text.textCursor()
    if cursor.hasSelection():
        cursor.clearSelection()
        text.setTextCursor(cursor)
