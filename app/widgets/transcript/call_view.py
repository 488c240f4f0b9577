"""A call in a reply: a question while the user is asked, and one line that unfolds otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import monotonic

from PySide6.QtCore import QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QWidget

from app.text.highlight import Lexing
from app.text.numbers import whole
from app.text.tool_calls import (
    CallBlock,
    CallPhase,
    call_words,
    formatted,
    name_of,
    question_words,
    redefined_words,
    running_words,
)
from app.text.unseen import one_line
from app.theme import ThemeKeeper
from app.widgets.parts import Sentences, button, discard, set_up
from app.widgets.transcript.message_view import beginning
from app.widgets.words.code_block import CodeBlockView
from app.widgets.words.folds import BELOW_PX, GAP_PX, FoldButton, PlainText
from app.widgets.words.joined_text import JoinedSelection, JoinedText
from engine.values.tools import Outcome, Permission

MOST_CHARACTERS = 60_000  # that are shown at all
_FIRST_CHARACTERS = 700
_FIRST_LINES = 14
_MOST_LINES = 5_000
_LONGEST_LINE = 100  # letters of a line of JSON; longer ones wrap, so that nothing is out of sight
_BELOW_PX = 10


class CallText(QWidget):
    """A heading, the text, and a button that shows all of it where only the beginning is shown. It is never read as
    HTML or Markdown: nothing in it is fetched or can be pressed."""

    height_changed = Signal()  # more of it is shown
    copied = Signal(str)  # it was copied to the clipboard

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
        """Takes this width, and returns the height it needs."""
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


_PADDING_PX = 12
_GAP_PX = 6
_TOLD_CHARACTERS = 300  # of the arguments, to a screen reader


class CallQuestion(QFrame):
    """A card with everything that would be sent, and four answers. The card itself takes the keyboard: no key that is
    typed by chance answers, as there is no default; Tab leads to the answers."""

    answered = Signal(object)  # a `Permission`
    height_changed = Signal()  # more of the arguments is shown
    copied = Signal(str)  # the arguments were copied to the clipboard

    def __init__(
        self, keeper: ThemeKeeper, lexing: Lexing, selection: JoinedSelection, block: CallBlock, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.call_id = block.call.id
        title = question_words(block.call)
        set_up(self, kind="call", name=title, about=block.call.arguments[:_TOLD_CHARACTERS])
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.title = set_up(Sentences(title, self), kind="title")
        asked = block.asked
        about = "" if asked is None else " ".join(asked.tool.description.split())
        self.about = set_up(Sentences("", self), kind="quiet")
        if about:
            self.about.setText(self.tr("The server describes it as: {about}").format(about=about))
        self.redefined = set_up(Sentences("", self), kind="problem")
        if asked is not None and asked.redefined is not None:
            self.redefined.setText(redefined_words(asked.redefined))
        self.arguments = CallText(keeper, lexing, selection, self)
        heading = self.tr("This will be sent to {server}:").format(server=one_line(block.call.server))
        self.arguments.set_text(heading, block.call.arguments)
        self.arguments.height_changed.connect(self.height_changed)
        self.arguments.copied.connect(self.copied)
        self.buttons = self._make_buttons(block)

    @property
    def texts(self) -> Sequence[JoinedText]:
        return self.arguments.texts

    def _make_buttons(self, block: CallBlock) -> tuple[QPushButton, ...]:
        what = name_of(block.call)
        answers = (
            (Permission.ONCE, self.tr("Once"), self.tr("Allow once")),
            (Permission.CHAT, self.tr("Allow in this chat"), self.tr("Allow {tool} in this chat without asking again")),
            (Permission.ALWAYS, self.tr("Always"), self.tr("Allow {tool} in all chats without asking again")),
            (Permission.REFUSED, self.tr("Don't allow"), self.tr("The model is told that you do not allow this call")),
        )
        made = []
        for permission, words, tip in answers:
            each = button(words, "outlined", self, partial(self._answer, permission), tip=tip.format(tool=what))
            each.setAccessibleDescription(tip.format(tool=what))
            made.append(each)
        return tuple(made)

    def _answer(self, permission: Permission) -> None:
        for each in self.buttons:
            each.setEnabled(False)  # it is answered once
        self.answered.emit(permission)

    def arrange(self, width: int) -> int:
        """Takes this width, and returns the height it needs."""
        inner, y = width - 2 * _PADDING_PX, _PADDING_PX
        for label in (self.title, self.redefined, self.about):
            y = self._place_label(label, y, inner)
        self.arguments.move(_PADDING_PX, y)
        y += self.arguments.arrange(inner)
        y = self._place_buttons(y, inner) + _PADDING_PX
        self.resize(width, y)
        return y

    def _place_label(self, label: QLabel, y: int, inner: int) -> int:
        label.setVisible(bool(label.text()))
        if not label.text():
            return y
        height = label.heightForWidth(inner)
        label.setGeometry(_PADDING_PX, y, inner, height)
        return y + height + _GAP_PX

    def _place_buttons(self, y: int, inner: int) -> int:
        """Wraps the buttons into as many lines as needed."""
        x = bottom = 0
        for each in self.buttons:
            size = each.sizeHint()
            if x and x + size.width() > inner:
                x, y = 0, bottom + _GAP_PX
            each.resize(min(size.width(), inner), size.height())
            each.move(QPoint(_PADDING_PX + x, y))
            x, bottom = x + size.width() + _GAP_PX, y + size.height()
        return bottom


_TICK_MS = 1_000


class CallView(QWidget):
    toggled = Signal(object)  # the call with this id is to be unfolded, or folded
    answered = Signal(str, object)  # the user has answered its question; a `Permission`
    height_changed = Signal()  # it shows more
    copied = Signal(str)  # a part of it was copied to the clipboard

    def __init__(
        self, keeper: ThemeKeeper, lexing: Lexing, selection: JoinedSelection, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._lexing = lexing
        self._selection = selection
        self._block: CallBlock | None = None
        self.question: CallQuestion | None = None  # while the user is asked
        self.parts: list[CallText] = []  # what was sent and what came back, while it is unfolded
        self.button = FoldButton(keeper, lambda: self.toggled.emit(self.call_id), self)
        self.button.setAccessibleDescription(self.tr("Shows or hides what was sent to the tool and what it answered"))
        self._clock = QTimer(self, interval=_TICK_MS)
        self._clock.timeout.connect(self._tell_time)

    @property
    def call_id(self) -> str:
        return "" if self._block is None else self._block.call.id

    @property
    def texts(self) -> Sequence[JoinedText]:
        if self.question is not None:
            return self.question.texts
        return [text for part in self.parts for text in part.texts]

    def show_block(self, block: CallBlock) -> None:
        self._block = block
        is_asked, is_running = block.phase is CallPhase.ASKED, block.phase is CallPhase.RUNNING
        if self.question is not None and (not is_asked or self.question.call_id != block.call.id):
            discard(self.question)
            self.question = None
        if is_asked and self.question is None:
            self._ask(block)
        if is_running != self._clock.isActive():
            (self._clock.start if is_running else self._clock.stop)()
        self.button.setVisible(not is_asked)
        self.button.set_open(block.is_open)
        words = call_words(block)
        self.button.set_name(words)
        self.button.set_words(words)
        self._tell_time()
        self._show_parts(self._parts_of(block) if block.is_open and not is_asked else [])

    def arrange(self, width: int) -> int:
        """Takes this width, and returns the height it needs."""
        if self.question is not None:
            y = self.question.arrange(width)
        else:
            y = self.button.arrange(width) + GAP_PX
            for part in self.parts:
                part.move(0, y)
                y += part.arrange(width)
        self.resize(width, y + (BELOW_PX if self.question is not None else 0))
        return self.height()

    def _ask(self, block: CallBlock) -> None:
        self.question = CallQuestion(self._keeper, self._lexing, self._selection, block, self)
        self.question.answered.connect(lambda permission: self.answered.emit(self.call_id, permission))
        self.question.height_changed.connect(self.height_changed)
        self.question.copied.connect(self.copied)
        self.question.show()

    def _parts_of(self, block: CallBlock) -> list[tuple[str, str]]:
        """Headings and texts."""
        parts = [(self.tr("What the model wrote:"), block.call.arguments)]
        if block.phase is CallPhase.ENDED:
            came = block.outcome in (Outcome.DONE, Outcome.FAILED)
            heading = self.tr("The tool answered:") if came else self.tr("The model was told:")
            parts.append((heading, block.text))
        return parts

    def _show_parts(self, wanted: list[tuple[str, str]]) -> None:
        for heading, text in wanted[len(self.parts) :]:
            part = CallText(self._keeper, self._lexing, self._selection, self)
            part.height_changed.connect(self.height_changed)
            part.copied.connect(self.copied)
            part.show()
            self.parts.append(part)
            part.set_text(heading, text)
        for part, (heading, text) in zip(self.parts, wanted, strict=False):
            part.set_text(heading, text)
        for gone in self.parts[len(wanted) :]:
            discard(gone)
        del self.parts[len(wanted) :]

    @Slot()
    def _tell_time(self) -> None:
        """Updates the seconds, but not for screen readers."""
        if self._block is not None and self._block.phase is CallPhase.RUNNING:
            self.button.set_words(running_words(self._block, monotonic()))
