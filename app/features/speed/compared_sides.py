"""Both replies of a comparison side by side, with their clocks, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPalette, QTextCharFormat
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QTextEdit, QWidget

from app.features.speed.compare_wording import HOW_IT_IS_FAIR, HOW_SPEED_IS_MEASURED
from app.text.translation import translate
from app.text.unseen import shown, utf16_length, wrapped
from app.widgets.layouts import Placed, in_column, in_grid
from app.widgets.parts import ProgressLine, keep_place, set_up, words
from app.widgets.throttle import Throttle
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
        """Ends both texts: where one ends, the other one differs. Scrolls to the difference."""
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
        """Marks the difference and returns its place; None: there is none."""
        one, other = (field.toPlainText() for field in self.fields.values())
        written, other_written = self._texts.values()
        is_different = first_difference(written, other_written, are_whole) is not None
        begin = first_difference(one, other, are_whole) if is_different else None
        for field, text in zip(self.fields.values(), (one, other), strict=True):
            word = None if begin is None else _WORD.match(text, begin)
            field.setExtraSelections([] if word is None else [_marked(field, text, *word.span())])
        return None if begin is None else utf16_length(one[:begin])

    def _show_bars(self, least: int, most: int) -> None:  # noqa: ARG002
        """Shows scroll bars in both fields or in none, to keep their widths equal."""
        for field in self.fields.values() if most else ():
            field.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)

    def _follow(self, other: QPlainTextEdit, value: int) -> None:
        if not self._is_following:  # the shorter text stays at its end, and the longer one where it is
            self._is_following = True
            other.verticalScrollBar().setValue(value)
            self._is_following = False


def first_difference(one: str, other: str, are_whole: bool) -> int | None:
    """The beginning of the first word that differs. None if there is none, or none yet: unless both `are_whole`, one
    may still become the other."""
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


class ComparedSides(QWidget):
    """Shows replies while they are written, their speeds, and the result."""

    running = Signal(bool)  # replies are being written, or no more

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("inside")
        names = {Side.PLAIN: self.tr("Plain reply"), Side.SPED_UP: self.tr("Sped-up reply")}
        self._written = ComparedTexts(names, self)
        self.texts = self._written.fields
        self.figures = {side: self._figures() for side in Side}
        self.progress = keep_place(ProgressLine(self.tr("Replies written"), self))
        fair = translate("Compare", HOW_IT_IS_FAIR)
        self.outcome = set_up(words("", self), kind="title", tip=wrapped(fair))
        self.reasons = words(fair, self, kind="quiet")
        sides = in_grid(
            [
                [words(self.tr("Plain"), self, kind="title"), words(self.tr("Sped up"), self, kind="title")],
                [self.texts[side] for side in Side],
                [self.figures[side] for side in Side],
            ],
            spacing=(14, 6),
            stretches=(1, 1),
        )
        sides.setRowStretch(1, 1)
        in_column([self.progress, Placed(sides, 1), self.outcome, self.reasons], inside=self, spacing=10)
        self.progress.hide()

    def clear(self) -> None:
        self._written.clear()
        for side in Side:
            self.figures[side].clear()
        self.show_progress(0.0)
        self.show_result("", ())

    def show_running(self, running: bool) -> None:
        self.progress.setVisible(running)
        self.running.emit(running)

    def add_text(self, side: Side, text: str) -> None:
        self._written.add(side, text)

    def show_figures(self, side: Side, sentence: str) -> None:
        self.figures[side].setText(sentence)

    def mark_difference(self) -> None:
        """Shows where the complete replies begin to differ."""
        self._written.finish()

    def show_progress(self, share: float) -> None:
        """0 … 1 of all replies."""
        self.progress.show_share(share)

    def show_result(self, sentence: str, reasons: tuple[str, ...]) -> None:
        """Shows the state, or the result."""
        self.outcome.setText(sentence)
        self.reasons.setText("\n".join((*reasons, translate("Compare", HOW_IT_IS_FAIR))))

    def _figures(self) -> QLabel:
        return set_up(words("", self), kind="quiet", tip=wrapped(translate("Compare", HOW_SPEED_IS_MEASURED)))
