"""A call in a reply: a question while the user is asked, and one line that unfolds otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtWidgets import QWidget

from app.text.highlight import Lexing
from app.text.tool_calls import CallBlock, CallPhase, call_words, running_words
from app.theme import ThemeKeeper
from app.widgets.parts import discard
from app.widgets.transcript.call_question import CallQuestion
from app.widgets.transcript.call_text import CallText
from app.widgets.words.folds import BELOW_PX, GAP_PX, FoldButton
from app.widgets.words.joined_text import JoinedSelection, JoinedText
from engine.values.tools import Outcome

_TICK_MS = 1_000


class CallView(QWidget):
    """Signals:
    toggled(object): the call with this id is to be unfolded, or folded.
    answered(str, object): the user has answered its question; a `Permission`.
    height_changed(): it shows more.
    copied(str): a part of it was copied to the clipboard.
    """

    toggled = Signal(object)
    answered = Signal(str, object)
    height_changed = Signal()
    copied = Signal(str)

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
        self.button = FoldButton(keeper, self._on_clicked, self)
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
        """Takes this width and the height it needs, and returns the height."""
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
        self.question.answered.connect(self._on_answered)
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
    def _on_clicked(self) -> None:
        self.toggled.emit(self.call_id)

    @Slot(object)
    def _on_answered(self, permission: object) -> None:
        self.answered.emit(self.call_id, permission)

    @Slot()
    def _tell_time(self) -> None:
        """A screen reader is not told of every second."""
        if self._block is not None and self._block.phase is CallPhase.RUNNING:
            self.button.set_words(running_words(self._block, monotonic()))
