"""Code of a reply: its language and a Copy button above, colours once they are known."""

from __future__ import annotations

from itertools import accumulate
from math import ceil

from PySide6.QtCore import QEvent, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextLayout,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QLabel, QPlainTextEdit, QToolTip, QWidget

from app.text.highlight import Lexing, Line, formats
from app.text.origin_marks import spans_of
from app.text.unseen import STAND_IN, names_of, stand_ins, utf16_length
from app.theme import ThemeKeeper
from app.widgets.appearance import code_font
from app.widgets.icon_button import CopyButton
from app.widgets.layouts import Stretch, in_row
from app.widgets.parts import set_up
from app.widgets.words.folds import FoldButton
from app.widgets.words.joined_text import JoinedText

HEADER_PX = 34
_DIAGRAM = "mermaid"  # a language
PADDING_PX = 12
LINES_PER_SLICE = 100  # coloured in one go; about 3 ms …
_PARTS_PER_SLICE = 4_000  # … or by this many parts of fewer lines
LINES_LEXED_AGAIN = 40  # of a block that still grows
_SCROLL_KEYS = frozenset(
    {Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Home, Qt.Key.Key_End}
)


class CodeBlockView(QFrame):
    """One block of code; long lines scroll sideways. Colours come line by line as they are known, a slice at a time."""

    copied = Signal(str)  # the code was copied to the clipboard
    height_changed = Signal()  # it was unfolded, or folded

    def __init__(self, keeper: ThemeKeeper, lexing: Lexing, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "code")
        self._keeper = keeper
        self._lexing = lexing
        self._language = ""
        self.code = ""
        self._shown = ""  # the same, with marks for invisible signs
        self._marks = ""  # who guessed it, see `app.text.origin_marks`
        self._line_marks: list[str] = []  # the same, line by line
        self._num_marked_lines = 0  # that have such colours or had them
        self._request: int | None = None
        self._first_requested_line = 0
        self._lines: list[Line] = []  # spans, as far as they are known
        self._next_line = 0  # the first without its colours
        self._longest_px = 0
        self._header = set_up(QWidget(self), kind="code-header")
        self._name = set_up(QLabel(self._header), kind="quiet")
        self.fold_button = FoldButton(keeper, self._on_fold, self._header)
        self.fold_button.set_words(self.tr("Diagram (mermaid)"))
        self.fold_button.set_open(False)
        self.fold_button.hide()
        self.copy_button = CopyButton(keeper, self.tr("Copy code"), self._header)
        self.copy_button.pressed_for_text.connect(self._copy)
        in_row([self._name, self.fold_button, Stretch(0), self.copy_button], inside=self._header, margins=(14, 2, 6, 0))
        self.body = _Body(self)
        self._slicer = QTimer(self, interval=0)
        self._slicer.timeout.connect(self._colour_slice)
        lexing.done.connect(self._on_lexed)
        keeper.changed.connect(self._colour_again)

    def set_code(self, language: str, code: str, finished: bool, marks: str = "") -> None:
        """Shows the code. While it grows only its end is coloured again; once `finished`, all of it. `marks`: the
        origin of each character, if shown."""
        if language != self._language:
            self._language = language
            self._name.setText(language or self.tr("text"))
            is_diagram = language == _DIAGRAM
            self._name.setVisible(not is_diagram)
            self.fold_button.setVisible(is_diagram)
            self.body.setVisible(not self.is_folded)
        if code != self.code:
            self._write(code)
        if marks != self._marks:
            if not marks.startswith(self._marks) or not self._marks:
                self._next_line = 0
            self._marks = marks
            self._line_marks = _by_line(code, marks)
            self._num_marked_lines = max(self._num_marked_lines, len(self._line_marks))
            self._colour_slice()
        self._lex(finished)

    @property
    def is_folded(self) -> bool:
        """True for a diagram, which few read as text, unless the user has unfolded it."""
        return self._language == _DIAGRAM and not self.fold_button.isChecked()

    def arrange(self, width: int) -> int:
        inner = width - 2
        if self.is_folded:
            self._header.setGeometry(1, 1, inner, self._keeper.px(HEADER_PX))
            self.resize(width, self._header.height() + 2)
            return self.height()
        scrolls = self._longest_px + 2 * PADDING_PX > inner
        policy = Qt.ScrollBarPolicy.ScrollBarAlwaysOn if scrolls else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.body.setHorizontalScrollBarPolicy(policy)
        height = self.body.lines_px() + 2 * PADDING_PX + 1  # without the 1, the last line would count as cut off
        if scrolls:
            height += self.body.horizontalScrollBar().sizeHint().height()
        header_px = self._keeper.px(HEADER_PX)
        self._header.setGeometry(1, 1, inner, header_px)
        self.body.setGeometry(1, 1 + header_px, inner, height)
        total = height + header_px + 2
        self.resize(width, total)
        return total

    def _write(self, code: str) -> None:
        shown = stand_ins(code)
        if shown.startswith(self._shown) and self._shown:
            added = shown[len(self._shown) :]
            cursor = QTextCursor(self.body.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.insertText(added)
            last_line = self._shown.rfind("\n") + 1
            self._longest_px = max(self._longest_px, self.body.longest_line_px(shown[last_line:]))
        else:
            self.body.setPlainText(shown)
            self.body.forget_heights()
            self._lines = []
            self._next_line = 0
            self._longest_px = self.body.longest_line_px(shown)
        self._shown = shown
        self.code = self.body.code = code
        self.body.is_ascii = code.isascii()

    def _lex(self, finished: bool) -> None:
        if self._request is not None and not finished:
            return  # the end is lexed with the next piece
        first = 0 if finished else _line_to_start_from(self.code)
        code = "\n".join(self.code.split("\n")[first:]) if first else self.code
        lines = self._lexing.lex_now(self._language, code)
        if lines is None:
            self._first_requested_line = first
            self._request = self._lexing.request(self._language, code)
        else:
            self._request = None
            self._take(first, lines)

    @Slot(int, tuple)
    def _on_lexed(self, number: int, lines: tuple[Line, ...]) -> None:
        if number == self._request:
            self._request = None
            self._take(self._first_requested_line, lines)

    def _take(self, first: int, lines: tuple[Line, ...]) -> None:
        self._lines[first:] = lines
        self._next_line = min(self._next_line, first)
        self._colour_slice()

    @Slot()
    def _colour_again(self) -> None:
        self._next_line = 0
        self._colour_slice()

    @Slot()
    def _colour_slice(self) -> None:
        document = self.body.document()
        known = formats(self._keeper.theme)
        num_lines = min(max(len(self._lines), self._num_marked_lines), document.blockCount())
        first = self._next_line
        last = min(first + LINES_PER_SLICE, num_lines)
        block = document.findBlockByNumber(first)
        begin = end = block.position()
        num_parts = 0
        for number in range(first, last):
            line = self._lines[number] if number < len(self._lines) else ()
            ranges = self._origin_ranges(block)
            for span in line:
                part = QTextLayout.FormatRange()
                part.start, part.length, part.format = span.start, span.length, known[span.kind]
                ranges.append(part)
            block.layout().setFormats(ranges)
            end = block.position() + block.length()
            block = block.next()
            num_parts += len(ranges)
            if num_parts >= _PARTS_PER_SLICE:
                last = number + 1
                break
        if last > first:
            document.markContentsDirty(begin, end - begin)
        self._next_line = max(first, last)
        if self._next_line < num_lines:
            self._slicer.start()
        else:
            self._slicer.stop()

    def _origin_ranges(self, line: QTextBlock) -> list[QTextLayout.FormatRange]:
        text = line.text()
        number = line.blockNumber()
        ranges = []
        for span in spans_of(self._line_marks[number]) if number < len(self._line_marks) else ():
            part = QTextLayout.FormatRange()
            part.start = utf16_length(text[: span.start])
            part.length = utf16_length(text[span.start : span.start + span.length])
            part.format = QTextCharFormat()
            part.format.setBackground(QColor(self._keeper.theme.tint(span.origin)))
            ranges.append(part)
        return ranges

    @Slot()
    def _on_fold(self) -> None:
        self.fold_button.set_open(self.fold_button.isChecked())
        self.body.setVisible(not self.is_folded)
        self.height_changed.emit()

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.code)
        self.copied.emit(self.code)


class _Body(JoinedText, QPlainTextEdit):
    is_code = True

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, readOnly=True, undoRedoEnabled=False)
        self.is_ascii = True
        self._num_measured, self._measured_px = 0, 0  # lines from the first on, and their height
        self.setProperty("kind", "code")
        self.setAccessibleName(self.tr("Code"))
        self.setAcceptDrops(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setFont(code_font())
        self.document().setDocumentMargin(PADDING_PX)
        option = self.document().defaultTextOption()
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)  # whatever a comment begins with
        self.document().setDefaultTextOption(option)
        self.setTabStopDistance(4 * self.fontMetrics().horizontalAdvance(" "))
        self.viewport().setAutoFillBackground(False)

    def lines_px(self) -> int:
        """The height of all lines. Those in other alphabets may be higher and are measured one by one."""
        ordinary = ceil(self._line_px())
        if self.is_ascii:
            return self.blockCount() * ordinary
        block = self.document().findBlockByNumber(self._num_measured)
        height = 0
        while block.isValid():
            self._measured_px += height  # the last line may still grow
            self._num_measured = block.blockNumber()
            height = ordinary if block.text().isascii() else ceil(self.blockBoundingRect(block).height())
            block = block.next()
        return self._measured_px + height

    def forget_heights(self) -> None:
        self._num_measured, self._measured_px = 0, 0

    def _line_px(self) -> float:
        """The height of a line as laid out; the font's metrics are rounded differently."""
        block = self.document().lastBlock()
        self.blockBoundingRect(block)
        return block.layout().lineAt(0).height()

    def longest_line_px(self, code: str) -> int:
        longest = max((line.expandtabs(4) for line in code.split("\n")), key=lambda line: len(line.encode()))
        return self.fontMetrics().horizontalAdvance(longest) + 8

    def viewportEvent(self, event: QEvent) -> bool:
        """Names an invisible sign."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            near = self.cursorForPosition(event.pos()).position()
            place = next((at for at in (near, near - 1) if self.document().characterAt(at) == STAND_IN), None)
            QToolTip.showText(event.globalPos(), "" if place is None else names_of(self._sign_at(place)), self)
            return True
        return super().viewportEvent(event)

    def _sign_at(self, place: int) -> str:
        """`place` counts UTF-16 units."""
        until = self.code.encode("utf-16-le", "surrogatepass")[: 2 * place + 2].decode("utf-16-le", "replace")
        return self.code[len(until) - 1]

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _SCROLL_KEYS:
            event.ignore()
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if abs(event.angleDelta().x()) > abs(event.angleDelta().y()):
            super().wheelEvent(event)
        else:
            event.ignore()


def _by_line(code: str, marks: str) -> list[str]:
    """The marks of each line, if any."""
    lines = code.split("\n") if marks else []
    starts = accumulate((len(line) + 1 for line in lines), initial=0)
    return [marks[start : start + len(line)] for line, start in zip(lines, starts, strict=False)]


def _line_to_start_from(code: str) -> int:
    """A blank line some way before the end, from where most languages can be lexed alone."""
    lines = code.split("\n")
    line = max(0, len(lines) - LINES_LEXED_AGAIN)
    while line and lines[line].strip():
        line -= 1
    return line
