"""What was sent to a tool, or what came back: formatted where it is JSON, and else as it is."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QLabel, QWidget

from app.text.highlight import Lexing
from app.text.numbers import whole
from app.text.tool_calls import formatted
from app.theme import ThemeKeeper
from app.widgets.parts import button, discard, set_up
from app.widgets.transcript.message_view import beginning
from app.widgets.words.code_block import CodeBlockView
from app.widgets.words.folds import GAP_PX, PlainText
from app.widgets.words.joined_text import JoinedSelection, JoinedText

MOST_CHARACTERS = 60_000  # that are shown at all
_FIRST_CHARACTERS = 700
_FIRST_LINES = 14
_MOST_LINES = 5_000
_LONGEST_LINE = 100  # letters of a line of JSON; longer ones wrap, so that nothing is out of sight
_BELOW_PX = 10


class CallText(QWidget):
    """A heading, the text, and a button that shows all of it where only the beginning is shown. It is never read as
    HTML or Markdown: nothing in it is fetched or can be pressed.

    Signals:
        height_changed(): more of it is shown.
        copied(str): it was copied to the clipboard.
    """

    height_changed = Signal()
    copied = Signal(str)

    def __init__(self, keeper: ThemeKeeper, lexing: Lexing, selection: JoinedSelection, parent: QWidget) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._lexing = lexing
        self._selection = selection
        self._shown = ("", "")
        self._is_whole = False
        self._json = ""  # the text, formatted, where it is that and has short lines
        self._whole = ""
        self.heading = set_up(QLabel(self), kind="quiet")
        self._plain = PlainText(keeper, self.tr("Text of a tool call"), selection)
        self._code: CodeBlockView | None = None
        self.all_button = button("", "link", self, self._show_all)
        self.all_button.hide()

    @property
    def texts(self) -> Sequence[JoinedText]:
        return [*self._plain.texts, *([] if self._code is None else [self._code.body])]

    def set_text(self, heading: str, text: str) -> None:
        if (heading, text) == self._shown:
            return
        self._shown, self._is_whole = (heading, text), False
        json = formatted(text)
        self._whole = text if json is None else json
        is_short = max(map(len, self._whole.split("\n"))) <= _LONGEST_LINE
        self._json = json if json is not None and is_short else ""
        self.heading.setText(heading)
        all_words = self.tr("Show all {number} characters").format(number=whole(len(self._whole)))
        self.all_button.setText(all_words)
        self.all_button.setAccessibleName(f"{all_words} – {heading}")
        self._write()

    def arrange(self, width: int) -> int:
        """Takes this width and the height it needs, and returns the height."""
        self.heading.setGeometry(0, 0, width, self.heading.sizeHint().height())
        y = self._plain.arrange(self.heading.height() + GAP_PX, width)
        if self._code is not None:
            self._code.move(0, y + GAP_PX)
            y += self._code.arrange(width) + 2 * GAP_PX
        if not self.all_button.isHidden():
            size = self.all_button.sizeHint()
            self.all_button.setGeometry(0, y, min(width, size.width()), size.height())
            y += size.height()
        self.resize(width, y + _BELOW_PX)
        return y + _BELOW_PX

    def _write(self) -> None:
        limits = (MOST_CHARACTERS, _MOST_LINES) if self._is_whole else (_FIRST_CHARACTERS, _FIRST_LINES)
        text = beginning(self._whole, *limits)
        is_cut = len(text) < len(self._whole)
        self.all_button.setVisible(is_cut and not self._is_whole)
        note = self.tr("The rest is too long to be shown. Export the chat to read it.")
        note = note if is_cut and self._is_whole else ""
        if not self._json:
            if self._code is not None:
                discard(self._code)
                self._code = None
            self._plain.write(self, text or self.tr("(nothing)"), note)
            return
        if self._code is None:
            self._code = CodeBlockView(self._keeper, self._lexing, self)
            self._code.copied.connect(self.copied)
            self._code.body.joined = self._selection
            self._code.show()
        self._code.set_code("json", text, finished=True)
        self._plain.write(self, "", note)

    @Slot()
    def _show_all(self) -> None:
        self._is_whole = True
        self._write()
        self.height_changed.emit()
