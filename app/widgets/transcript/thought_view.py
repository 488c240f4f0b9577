"""A thought of a reply: one line with a clock, and below it, when it is unfolded, what the model thought."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QElapsedTimer, QTimer, Signal, Slot
from PySide6.QtWidgets import QWidget

from app.text.translation import Words
from app.theme import ThemeKeeper
from app.widgets.icon_button import CopyButton
from app.widgets.words.folds import BELOW_PX, GAP_PX, FoldButton, PlainText
from app.widgets.words.joined_text import JoinedSelection
from app.widgets.words.prose import Prose

_SHOWN_CHARACTERS = 60_000
_TICK_MS = 1_000
Thoughts = Words("Thoughts")


@dataclass(frozen=True, slots=True)
class ThoughtBlock:
    """What is shown of a thought, among the blocks of a reply."""

    number: int  # within the reply
    text: str
    seconds: float
    is_growing: bool = False
    is_open: bool = False


class ThoughtView(QWidget):
    toggled = Signal(object)  # the thought with this number is to be unfolded, or folded
    copy_requested = Signal()  # copy the reply with its thoughts

    def __init__(self, keeper: ThemeKeeper, selection: JoinedSelection, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._block = ThoughtBlock(0, "", 0.0)
        self._since = QElapsedTimer()  # the last piece came
        self._text = PlainText(keeper, self.tr("Thought"), selection)
        self.button = FoldButton(keeper, lambda: self.toggled.emit(self._block.number), self)
        about = self.tr("Shows or hides what the model thought before it answered")
        self.button.setAccessibleDescription(about)
        self.copy_button = CopyButton(keeper, self.tr("Copy the reply with its thoughts"), self, self.tr("Copy all"))
        self.copy_button.pressed_for_text.connect(self.copy_requested)
        self.copy_button.hide()
        self._clock = QTimer(self, interval=_TICK_MS)
        self._clock.timeout.connect(self._tell_time)

    @property
    def texts(self) -> list[Prose]:
        return self._text.texts

    def show_block(self, block: ThoughtBlock) -> None:
        if block.seconds != self._block.seconds or not self._since.isValid():
            self._since.start()
        self._block = block
        if block.is_growing != self._clock.isActive():
            (self._clock.start if block.is_growing else self._clock.stop)()
        self.button.set_open(block.is_open)
        self.copy_button.setVisible(block.is_open and not block.is_growing)
        self._tell_time()
        self._write(block.text if block.is_open else "")

    def arrange(self, width: int) -> int:
        """Takes this width, and returns the height it needs."""
        height = self.button.arrange(width)
        copy = self.copy_button.sizeHint()
        self.copy_button.setGeometry(self.button.width() + 6, 0, copy.width(), height)
        y = self._text.arrange(height + GAP_PX, width)
        y += BELOW_PX if self.texts else 0
        self.resize(width, y)
        return y

    @Slot()
    def _tell_time(self) -> None:
        block = self._block
        if block.is_growing:
            words = Thoughts.tr("Thinking… {seconds} s", seconds=int(block.seconds + self._since.elapsed() / 1000))
            self.button.set_name(Thoughts.tr("Thinking…"))  # a screen reader is not told of every second
        else:
            words = thought_words(block.seconds)
            self.button.set_name(words)
        self.button.set_words(words)

    def _write(self, text: str) -> None:
        is_cut = len(text) > _SHOWN_CHARACTERS
        note = self.tr("Only the beginning is shown. Copy the reply to read the rest.") if is_cut else ""
        self._text.write(self, text[:_SHOWN_CHARACTERS], note)


def thought_words(seconds: float) -> str:
    """`Thought for 12 s`."""
    whole = max(1, round(seconds))
    if whole < 60:
        return Thoughts.tr("Thought for {seconds} s", seconds=whole)
    return Thoughts.tr("Thought for {minutes} min {seconds} s", minutes=whole // 60, seconds=whole % 60)
