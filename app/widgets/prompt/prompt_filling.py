"""Variables of a prompt, filled in one after the other where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QColor, QTextCursor
from PySide6.QtWidgets import QTextEdit

from app.text.unseen import utf16_length
from app.theme import ThemeKeeper
from app.widgets.prompt.prompt_editor import PromptEditor

CLIPBOARD = "clipboard"
MOST_VARIABLES = 100  # that are filled in; more stay as they are written
_INNER = r"[^\W\d_][\w\- ]{0,39}"
_VARIABLE = re.compile(rf"\{{\{{({_INNER}(?::[^{{}}\n]*)?)\}}\}}|\{{({_INNER})(?::([^{{}}\n]*))?\}}")


@dataclass(frozen=True, slots=True)
class PromptPiece:
    """A part of a prompt as it is put into the message box."""

    text: str
    name: str = ""  # of the variable in whose place it stands
    is_open: bool = False  # it stands for a value that the user is to give


def has_clipboard(text: str) -> bool:
    """True if the prompt inserts the clipboard."""
    return any(piece.name == CLIPBOARD for piece in pieces(text))


def pieces(text: str, clipboard: str = "") -> tuple[PromptPiece, ...]:
    """Splits the prompt into parts. An empty clipboard becomes a variable."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return tuple(piece for piece in _pieces(text, clipboard) if piece.text or piece.name)


def _pieces(text: str, clipboard: str) -> Iterator[PromptPiece]:
    place = 0
    for found in islice(_VARIABLE.finditer(text), MOST_VARIABLES):
        yield PromptPiece(text[place : found.start()])
        place = found.end()
        plain, name, default = found.groups()
        if plain is not None:
            yield PromptPiece(f"{{{plain}}}")
        elif name == CLIPBOARD and clipboard:
            yield PromptPiece(clipboard, name)
        elif default is None or not default.strip():
            yield PromptPiece(f"{{{name}}}", name, is_open=True)
        else:
            yield PromptPiece(default.strip(), name)
    yield PromptPiece(text[place:])


_KEEP = QTextCursor.MoveMode.KeepAnchor
_LINE_BREAK = "\u2029"  # as Qt has it within a selection


class PromptFilling(QObject):
    """Tab goes from variable to variable. One of the same name further on gets the same value."""

    asked = Signal(str)  # the variable of this name is selected now, to be typed over
    ended = Signal()  # there is none to fill in any more

    def __init__(self, keeper: ThemeKeeper, editor: PromptEditor) -> None:
        super().__init__(editor)
        self._keeper = keeper
        self._editor = editor
        self._blanks: list[_Blank] = []
        self._first = self._last = QTextCursor()  # where what was put in begins and ends
        self._span = 0, 0  # these places, before the text changes
        self._is_changing = False
        editor.document().contentsChange.connect(self._on_changed)
        editor.textChanged.connect(self._on_text_changed)
        keeper.changed.connect(self._mark)

    @property
    def is_under_way(self) -> bool:
        return bool(self._blanks)

    def put_in(self, cursor: QTextCursor, prompt: Iterable[PromptPiece]) -> None:
        """Replaces the cursor's selection in one undoable step, and selects the first variable."""
        prompt = tuple(prompt)
        begin = cursor.selectionStart()
        self._is_changing = True
        self._editor.write(cursor, "".join(piece.text for piece in prompt))
        blanks, place = [], begin
        for piece in prompt:
            end = place + utf16_length(piece.text)
            if piece.name:
                blanks.append(_Blank(self._editor, piece, place, end))
            place = end
        self._blanks = blanks
        self._first, self._last = _at(self._editor, begin), _at(self._editor, place)
        self._first.setKeepPositionOnInsert(True)
        self._note_span()
        self._is_changing = False
        self._editor.setTextCursor(self._last)
        if any(blank.is_empty for blank in blanks):
            self._select(next(blank for blank in blanks if blank.is_empty))
        elif blanks:
            self._select(blanks[0])
        self._mark()

    def go_on(self, backwards: bool = False) -> None:
        """Moves to the next or previous variable; beyond the last one, filling in ends."""
        here = self._editor.textCursor().selectionStart()
        self._repeat(here)
        here = next((blank.begin for blank in self._blanks if blank.begin <= here <= blank.end), here)
        others = [blank for blank in self._blanks if (blank.begin < here if backwards else blank.begin > here)]
        if others:
            self._select(others[-1] if backwards else others[0])
        elif not backwards:
            last = self._last
            self.end()
            self._editor.setTextCursor(last)

    def ask_for_rest(self) -> bool:
        """Selects the first variable without a value before a prompt is sent; False if all have one."""
        self._repeat(self._editor.textCursor().selectionStart())
        left = next((blank for blank in self._blanks if blank.is_empty), None)
        if left is not None:
            self._select(left)
        return left is not None

    def end(self) -> None:
        """Ends filling in; what was typed stays."""
        if self._blanks:
            self._blanks = []
            self._mark()
            self.ended.emit()

    @Slot(int, int, int)
    def _on_changed(self, place: int, num_removed: int, _num_added: int) -> None:
        """Ends when the prompt is gone: the text is another one, or inserting it was undone."""
        if self._is_changing or not self._blanks:
            return
        begin, end = self._span
        if place <= begin and place + num_removed >= end:
            self._blanks = []
        self._note_span()

    @Slot()
    def _on_text_changed(self) -> None:
        if self._is_changing or not self._editor.extraSelections():
            return
        self._mark()
        if not self._blanks:
            self.ended.emit()

    def _note_span(self) -> None:
        self._span = self._first.position(), self._last.position()

    @Slot()
    def _mark(self) -> None:
        """Highlights the variables."""
        marks = []
        for blank in self._blanks:
            mark = QTextEdit.ExtraSelection()
            mark.cursor = blank.selected()
            mark.format.setBackground(QColor(self._keeper.theme.selected))
            marks.append(mark)
        self._editor.setExtraSelections(marks)

    def _select(self, blank: _Blank) -> None:
        self._editor.setTextCursor(blank.selected())
        self._editor.ensureCursorVisible()
        self.asked.emit(blank.name)

    def _repeat(self, place: int) -> None:
        """Copies the value of this variable to others of the same name."""
        given = next((each for each in self._blanks if each.begin <= place <= each.end and not each.is_empty), None)
        if given is None:
            return
        cursor = self._editor.textCursor()
        text = given.text
        self._is_changing = True
        for blank in self._blanks:
            if blank.name == given.name and blank.is_empty:
                blank.selected().insertText(text)
        self._note_span()
        self._is_changing = False
        self._editor.setTextCursor(cursor)
        self._mark()


class _Blank:
    """The place of one variable, which grows and moves with what is typed."""

    def __init__(self, editor: PromptEditor, piece: PromptPiece, begin: int, end: int) -> None:
        self.name = piece.name
        self._open = piece.text if piece.is_open else None  # what stands there until a value does
        self._begin, self._end = _at(editor, begin), _at(editor, end)
        self._begin.setKeepPositionOnInsert(True)

    @property
    def begin(self) -> int:
        return self._begin.position()

    @property
    def end(self) -> int:
        return self._end.position()

    @property
    def text(self) -> str:
        return self.selected().selectedText().replace(_LINE_BREAK, "\n")

    @property
    def is_empty(self) -> bool:
        return self._open is not None and self.text in ("", self._open)

    def selected(self) -> QTextCursor:
        cursor = QTextCursor(self._begin.document())
        cursor.setPosition(self.begin)
        cursor.setPosition(self.end, _KEEP)
        return cursor


def _at(editor: PromptEditor, place: int) -> QTextCursor:
    cursor = QTextCursor(editor.document())
    cursor.setPosition(place)
    return cursor
