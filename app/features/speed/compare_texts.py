"""The two texts of a comparison: equal words stand beside each other, and the first ones that differ are marked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette, QTextCharFormat
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from app.text.unseen import shown
from app.widgets.parts import set_up
from app.widgets.throttle import Throttle
from app.widgets.words.code_block import utf16_length
from engine.values.comparison import Side

_WORD = re.compile(r"\s*\S+")


class ComparedTexts:
    """Two fields of the same width, whose lines are broken alike and scroll together."""

    def __init__(self, names: Mapping[Side, str], parent: QWidget) -> None:
        self.fields = {side: _field(name, parent) for side, name in names.items()}
        self._pending: dict[Side, list[str]] = {side: [] for side in names}
        self._texts = dict.fromkeys(names, "")  # as they were written
        self._shown = dict.fromkeys(names, "")
        self._repaint = Throttle(self._show_pending, parent=parent)
        self._is_following = False
        first, second = self.fields.values()
        for field, other in ((first, second), (second, first)):
            field.verticalScrollBar().valueChanged.connect(partial(self._follow, other))
            field.verticalScrollBar().rangeChanged.connect(self._show_bars)

    def clear(self) -> None:
        self._repaint.cancel()
        for side, field in self.fields.items():
            self._pending[side].clear()
            self._texts[side] = self._shown[side] = ""
            field.clear()
            field.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            field.setExtraSelections([])

    def add(self, side: Side, text: str) -> None:
        self._pending[side].append(text)
        self._repaint.request()

    def finish(self) -> None:
        """Nothing more is written: where one text ends, the other one differs. Scrolls to what differs."""
        self._show_pending()
        begin = self._mark(are_whole=True)
        if begin is None:
            return
        for field in self.fields.values():
            cursor = field.textCursor()
            cursor.setPosition(begin)
            field.setTextCursor(cursor)
        field.centerCursor()
        bars = [field.verticalScrollBar() for field in self.fields.values()]
        line = min(bars[-1].value(), *(bar.maximum() for bar in bars))  # as far as the shorter one goes
        for bar in bars:
            bar.setValue(line)

    def _show_pending(self) -> None:
        for side, pieces in self._pending.items():
            if pieces:
                field = self.fields[side]
                self._texts[side] += "".join(pieces)
                before, self._shown[side] = self._shown[side], shown(self._texts[side])
                if not self._shown[side].startswith(before):  # what follows a sign may change whether it gets a mark
                    field.clear()
                    before = ""
                cursor = field.textCursor()
                cursor.movePosition(cursor.MoveOperation.End)
                cursor.insertText(self._shown[side][len(before) :])
                bar = field.verticalScrollBar()
                bar.setValue(bar.maximum())
                pieces.clear()
        self._mark()

    def _mark(self, are_whole: bool = False) -> int | None:
        """Where the marks begin, in both; None: there are none."""
        one, other = (field.toPlainText() for field in self.fields.values())
        written, other_written = self._texts.values()
        is_different = first_difference(written, other_written, are_whole) is not None
        begin = first_difference(one, other, are_whole) if is_different else None
        for field, text in zip(self.fields.values(), (one, other), strict=True):
            word = None if begin is None else _WORD.match(text, begin)
            field.setExtraSelections([] if word is None else [_marked(field, text, *word.span())])
        return None if begin is None else utf16_length(one[:begin])

    def _show_bars(self, least: int, most: int) -> None:  # noqa: ARG002
        """In both or in none, so that they have the same width."""
        for field in self.fields.values() if most else ():
            field.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)

    def _follow(self, other: QPlainTextEdit, value: int) -> None:
        if not self._is_following:  # the shorter text stays at its end, and the longer one where it is
            self._is_following = True
            other.verticalScrollBar().setValue(value)
            self._is_following = False


def first_difference(one: str, other: str, are_whole: bool) -> int | None:
    """Where the first word that differs begins; None where there is none, or none yet: unless both `are_whole`, one
    of them may still become what the other is."""
    shorter = min(len(one), len(other))
    place = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), shorter)
    if one == other or (place == shorter and not are_whole):
        return None
    while place and not one[place - 1].isspace():  # a pattern would look from every letter of a long word
        place -= 1
    return place


def _field(name: str, parent: QWidget) -> QPlainTextEdit:
    return set_up(QPlainTextEdit(parent, readOnly=True, tabChangesFocus=True), kind="field", name=name)


def _marked(field: QPlainTextEdit, text: str, begin: int, end: int) -> QTextEdit.ExtraSelection:
    marked = QTextEdit.ExtraSelection()
    marked.cursor = field.textCursor()
    marked.cursor.setPosition(utf16_length(text[:begin]))
    marked.cursor.setPosition(utf16_length(text[:end]), marked.cursor.MoveMode.KeepAnchor)
    marked.format = QTextCharFormat()
    marked.format.setBackground(field.palette().color(QPalette.ColorRole.Highlight))
    marked.format.setFontUnderline(True)
    return marked
