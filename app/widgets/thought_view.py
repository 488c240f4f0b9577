"""A thought of a reply: one line with a clock, and below it, when it is unfolded, what the model thought."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from PySide6.QtCore import QElapsedTimer, QTimer, Signal, Slot
from PySide6.QtWidgets import QWidget

from app.text.translation import Words
from app.theme import ThemeKeeper
from app.widgets.icon_button import CopyButton, IconButton
from app.widgets.joined_text import JoinedSelection
from app.widgets.parts import discard, set_up
from app.widgets.prose import Prose

_SHOWN_CHARACTERS = 60_000
_CHUNK = 2_000  # characters of a text widget: only the last one is written again while the thought grows
_TICK_MS = 1_000
_GAP_PX = 2
_BELOW_PX = 8
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
    """Signals:
    toggled(int): the thought with this number is to be unfolded, or folded.
    copy_requested(): copy the reply with its thoughts.
    """

    toggled = Signal(int)
    copy_requested = Signal()

    def __init__(self, keeper: ThemeKeeper, selection: JoinedSelection, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._selection = selection
        self._block = ThoughtBlock(0, "", 0.0)
        self._since = QElapsedTimer()  # the last piece came
        self._chunks: list[str] = []
        self.texts: list[Prose] = []
        self.button = IconButton(
            keeper, "later", "", self._on_clicked, words=" ", icon_px=14, kind="footer", parent=self
        )
        self.button.setCheckable(True)
        about = self.tr("Shows or hides what the model thought before it answered")
        self.button.setAccessibleDescription(about)
        self.copy_button = CopyButton(keeper, self.tr("Copy the reply with its thoughts"), self, self.tr("Copy all"))
        self.copy_button.pressed_for_text.connect(self.copy_requested)
        self.copy_button.hide()
        self._clock = QTimer(self, interval=_TICK_MS)
        self._clock.timeout.connect(self._tell_time)

    def show_block(self, block: ThoughtBlock) -> None:
        if block.seconds != self._block.seconds or not self._since.isValid():
            self._since.start()
        self._block = block
        if block.is_growing != self._clock.isActive():
            (self._clock.start if block.is_growing else self._clock.stop)()
        self.button.setChecked(block.is_open)
        self.button.set_icon("chevron" if block.is_open else "later")
        self.copy_button.setVisible(block.is_open and not block.is_growing)
        self._tell_time()
        self._write(block.text if block.is_open else "")

    def arrange(self, width: int) -> int:
        """Takes this width and the height it needs, and returns the height."""
        size = self.button.sizeHint()
        self.button.setGeometry(-5, 0, min(width, size.width()), size.height())  # its icon stands above the text
        copy = self.copy_button.sizeHint()
        self.copy_button.setGeometry(self.button.width() + 6, 0, copy.width(), size.height())
        y = size.height() + _GAP_PX
        for text in self.texts:
            height = text.arrange(width)
            text.move(0, y)
            y += height
        y += _BELOW_PX if self.texts else 0
        self.resize(width, y)
        return y

    @Slot()
    def _on_clicked(self) -> None:
        self.toggled.emit(self._block.number)

    @Slot()
    def _tell_time(self) -> None:
        block = self._block
        if block.is_growing:
            words = Thoughts.tr("Thinking… {seconds} s", seconds=int(block.seconds + self._since.elapsed() / 1000))
            self.button.set_name(Thoughts.tr("Thinking…"))  # a screen reader is not told of every second
        else:
            words = thought_words(block.seconds)
            self.button.set_name(words)
        if words != self.button.text():
            self.button.setText(words)
            self.button.resize(self.button.sizeHint())

    def _write(self, text: str) -> None:
        chunks = _chunks_of(text[:_SHOWN_CHARACTERS]) if text else []
        if len(text) > _SHOWN_CHARACTERS:
            chunks.append(self.tr("Only the beginning is shown. Copy the reply to read the rest."))
        for place, chunk in enumerate(chunks):
            if place == len(self.texts):
                self.texts.append(set_up(Prose(self._keeper, self), name=self.tr("Thought")))
                self.texts[-1].joined = self._selection
                self.texts[-1].show()
            elif self._chunks[place] == chunk:
                continue
            self.texts[place].set_html(
                f'<blockquote><div style="white-space:pre-wrap">{escape(chunk)}</div></blockquote>'
            )
        for gone in self.texts[len(chunks) :]:
            discard(gone)
        del self.texts[len(chunks) :]
        self._chunks = chunks


def thought_words(seconds: float) -> str:
    """`Thought for 12 s`."""
    whole = max(1, round(seconds))
    if whole < 60:
        return Thoughts.tr("Thought for {seconds} s", seconds=whole)
    return Thoughts.tr("Thought for {minutes} min {seconds} s", minutes=whole // 60, seconds=whole % 60)


def _chunks_of(text: str) -> list[str]:
    """Cut at the ends of lines, where there are some."""
    chunks, begin = [], 0
    while len(text) - begin > _CHUNK:
        end = text.find("\n", begin + _CHUNK // 2, begin + _CHUNK)
        chunks.append(text[begin : end if end >= 0 else begin + _CHUNK])
        begin = end + 1 if end >= 0 else begin + _CHUNK
    return [*chunks, text[begin:]]
