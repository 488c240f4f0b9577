"""The rows of the transcript, one for each message, with or without a widget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QWidget

from app.text.formula_drawing import Drawer
from app.text.highlight import Lexing
from app.text.markdown import Block, MarkdownStream, parsing
from app.text.origin_marks import marks_of
from app.theme import ThemeKeeper
from app.widgets.appearance import reading_font
from app.widgets.prompt_editor import is_too_long
from app.widgets.prompt_view import BUBBLE_SHARE, SHORTENED_LINES, PromptView
from app.widgets.reply_view import SHOWN_CHARACTERS, ReplyView, shown_of
from app.widgets.row_view import NoteView
from engine.messages.conversations import Message
from engine.messages.prompts import Attachment
from engine.messages.replies import OriginRun

NOTE_PX = 40
FRAME_PX = 60  # of a message, around its text
TYPICAL_PROMPT_CHARACTERS = 2_400  # a longer one is shortened


class TextMeasure:
    """Estimates the height of text from its numbers of characters and lines."""

    def __init__(self) -> None:
        self.refresh()

    def refresh(self) -> None:
        """The font has another size."""
        metrics = QFontMetrics(reading_font())
        self._character_px = metrics.averageCharWidth() * 1.05
        self._line_px = metrics.height() * 1.45

    def height(self, num_characters: int, num_lines: int, width: int) -> int:
        per_line = max(8.0, width / self._character_px)
        return ceil((num_characters / per_line + 0.6 * num_lines) * self._line_px)


@dataclass(frozen=True, slots=True)
class Stage:
    """What rows need in order to build their widgets."""

    keeper: ThemeKeeper
    lexing: Lexing
    drawer: Drawer
    measure: TextMeasure


class PromptRow:
    def __init__(self, stage: Stage, message: Message, siblings: Sequence[int] = ()) -> None:
        self.message = message
        self.siblings = siblings  # ids of all versions, if there are others
        self.revision: str | None = None  # what it is being changed to
        self._stage = stage
        self._num_lines = min(message.text.count("\n", 0, TYPICAL_PROMPT_CHARACTERS) + 1, SHORTENED_LINES)

    @property
    def is_revisable(self) -> bool:
        """A longer prompt would hold up the window with every key. Its attachments are edited with it, as text."""
        return not is_too_long(self.message.text)

    def estimate(self, width: int) -> int:
        num_characters = min(len(self.message.text), TYPICAL_PROMPT_CHARACTERS)
        return self._stage.measure.height(num_characters, self._num_lines, int(width * BUBBLE_SHARE)) + FRAME_PX

    def build(self, parent: QWidget) -> PromptView:
        view = PromptView(self._stage.keeper, self.message.text, parent)
        if self.revision is not None:
            view.revise(self.revision)
        return view


class NoteRow:
    def __init__(self, text: str) -> None:
        self._text = text

    def estimate(self, width: int) -> int:  # noqa: ARG002
        return NOTE_PX

    def build(self, parent: QWidget) -> NoteView:
        return NoteView(self._text, parent)


class ReplyRow:
    """A finished reply, parsed when it first comes near."""

    def __init__(
        self,
        stage: Stage,
        message: Message,
        siblings: Sequence[int] = (),
        colouring: bool = False,
        blocks: tuple[Block, ...] | None = None,
    ) -> None:
        """`siblings`: ids of all versions, if there are others. `blocks`: those of its text, coloured or not."""
        self.message = message
        self.siblings = siblings
        self.sources: tuple[Attachment, ...] | None = None  # passages that it was written from; None: not known yet
        self._colouring = colouring
        self._stage = stage
        self._blocks = blocks
        self._parsing: Iterator[tuple[tuple[Block, ...], bool]] | None = None  # while not all of them are known
        self._num_lines = message.text.count("\n", 0, SHOWN_CHARACTERS) + 1
        self._num_shown = 0  # characters

    def estimate(self, width: int) -> int:
        num_characters = min(len(self.message.text), SHOWN_CHARACTERS)
        return self._stage.measure.height(num_characters, self._num_lines, width) + FRAME_PX

    def build(self, parent: QWidget) -> ReplyView:
        view = ReplyView(self._stage.keeper, self._stage.lexing, self._stage.drawer, parent)
        self.show_in(view)
        return view

    def set_colouring(self, colouring: bool) -> None:
        self._colouring = colouring
        self._blocks = self._parsing = None

    def show_in(self, view: ReplyView) -> None:
        text = shown_of(self.message.text)
        self._num_shown = len(text)
        if self._blocks is None:
            origins = self._origins()
            self._parsing = parsing(text, marks_of(text, origins) if self._colouring and origins else "")
            self._go_on(view, at_once=True)
        else:
            self._show_blocks(view, self._blocks, at_once=True)
        view.set_message(self.message)
        view.set_legend(self._origins() if self._colouring else None)

    def _go_on(self, view: ReplyView, at_once: bool = False) -> None:
        """Parses the next slice: a long text would hold up the window."""
        if self._parsing is not None:  # else another view has seen to it
            self._blocks, is_done = next(self._parsing)
            self._parsing = None if is_done else self._parsing
        self._show_blocks(view, self._blocks or (), at_once)

    def _show_blocks(self, view: ReplyView, blocks: tuple[Block, ...], at_once: bool) -> None:
        is_done = self._parsing is None
        view.set_blocks(blocks, is_done, None if is_done else partial(self._go_on, view), at_once)
        view.show_cut(self._num_shown, len(self.message.text))

    def _origins(self) -> tuple[OriginRun, ...]:
        return self.message.statistics.origins if self.message.statistics else ()


class GrowingRow:
    """The reply that is being written."""

    def __init__(self, stage: Stage, colouring: bool = False) -> None:
        self._stage = stage
        self._colouring = colouring
        self._stream = MarkdownStream()
        self._text: list[str] = []
        self._origins: list[OriginRun] = []
        self._num_characters = self._num_shown = self._num_ends = 0  # all; shown of them; shown ends of lines
        self._words: str | None = ""  # shown until text is written; None: it is

    def estimate(self, width: int) -> int:  # noqa: ARG002
        return FRAME_PX

    def build(self, parent: QWidget) -> ReplyView:
        view = ReplyView(self._stage.keeper, self._stage.lexing, self._stage.drawer, parent)
        self.show_in(view)
        return view

    def wait_for(self, words: str) -> None:
        """Shown below what there is, until more comes."""
        self._words = words

    def feed(self, piece: str, origins: Sequence[OriginRun] = ()) -> None:
        self._words = None
        is_cut = self._num_shown < self._num_characters
        shown = "" if is_cut else shown_of(piece, self._num_shown, self._num_ends)
        self._text.append(piece)
        self._num_characters += len(piece)
        self._num_shown += len(shown)
        self._num_ends += shown.count("\n")
        self._origins += origins
        if shown:
            self._stream.feed(shown, marks_of(shown, origins) if self._colouring else "")

    def set_colouring(self, colouring: bool) -> None:
        self._colouring = colouring
        text, self._stream = shown_of("".join(self._text)), MarkdownStream()
        self._stream.feed(text, marks_of(text, self._origins) if colouring else "")

    def show_in(self, view: ReplyView) -> None:
        if self._stream.blocks:
            view.set_blocks(self._stream.blocks, finished=False)
        view.show_cut(self._num_shown, self._num_characters)
        if self._words is not None or not self._stream.blocks:
            view.show_waiting(self._words or "")
        else:
            view.end_waiting()

    def finished(self, message: Message, siblings: Sequence[int]) -> ReplyRow:
        """The row that replaces it; the text is parsed again only if the final one differs."""
        blocks = self._stream.finish() if message.text == "".join(self._text) else None
        return ReplyRow(self._stage, message, siblings, self._colouring, blocks)
