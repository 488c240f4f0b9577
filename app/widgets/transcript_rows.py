"""The rows of the transcript, one for each message, with or without a widget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil

from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QWidget

from app.text.formula_drawing import Drawer
from app.text.highlight import Lexing
from app.text.markdown import MarkdownStream, parsing
from app.text.origin_marks import marks_of
from app.theme import ThemeKeeper
from app.widgets.appearance import reading_font
from app.widgets.attached_pictures import height_of
from app.widgets.pictures import Pictures
from app.widgets.prompt_editor import is_too_long
from app.widgets.prompt_view import BUBBLE_PADDING_PX, BUBBLE_SHARE, SHORTENED_LINES, PromptView
from app.widgets.reply_view import SHOWN_CHARACTERS, ReplyBlock, ReplyView, shown_of
from app.widgets.row_view import NoteView
from app.widgets.thought_view import ThoughtBlock
from engine.messages.conversations import Message
from engine.messages.prompts import Attachment, split_pictures, split_prompt
from engine.messages.replies import OriginRun, Thought, ThoughtPiece

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
    pictures: Pictures
    lexing: Lexing
    drawer: Drawer
    measure: TextMeasure


class PromptRow:
    def __init__(self, stage: Stage, message: Message, siblings: Sequence[int] = ()) -> None:
        self.message = message
        self.siblings = siblings  # ids of all versions, if there are others
        self.revision: str | None = None  # what it is being changed to
        self._stage = stage
        pictures, words = split_pictures(message.text)
        self._num_pictures = len(pictures)
        self._num_characters = min(len(words), TYPICAL_PROMPT_CHARACTERS)
        self._num_lines = min(words.count("\n", 0, TYPICAL_PROMPT_CHARACTERS) + 1, SHORTENED_LINES)

    @property
    def is_revisable(self) -> bool:
        """A longer prompt would hold up the window with every key. Its attachments are edited with it, as text."""
        return not is_too_long(self.message.text)

    @property
    def files(self) -> tuple[Attachment, ...]:
        return tuple(each for each in split_prompt(self.message.text)[0] if isinstance(each, Attachment))

    def estimate(self, width: int) -> int:
        inner = int(width * BUBBLE_SHARE)
        height = self._stage.measure.height(self._num_characters, self._num_lines, inner) + FRAME_PX
        return height + height_of(self._num_pictures, inner - 2 * BUBBLE_PADDING_PX, self._stage.keeper)

    def build(self, parent: QWidget) -> PromptView:
        view = PromptView(self._stage.keeper, self._stage.pictures, self.message.text, parent)
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


class _Folds:
    """Which thoughts of a reply are unfolded; at first none is."""

    def __init__(self, unfolded: Sequence[int] = ()) -> None:
        self.unfolded = set(unfolded)

    def toggle(self, number: int) -> None:
        self.unfolded ^= {number}

    def applied(self, blocks: Sequence[ReplyBlock]) -> tuple[ReplyBlock, ...]:
        return tuple(
            replace(each, is_open=True) if isinstance(each, ThoughtBlock) and each.number in self.unfolded else each
            for each in blocks
        )


class ReplyRow:
    """A finished reply, parsed when it first comes near."""

    def __init__(
        self,
        stage: Stage,
        message: Message,
        siblings: Sequence[int] = (),
        colouring: bool = False,
        blocks: tuple[ReplyBlock, ...] | None = None,
        unfolded: Sequence[int] = (),
    ) -> None:
        """`siblings`: ids of all versions, if there are others. `blocks`: those of its text, coloured or not.
        `unfolded`: numbers of its thoughts."""
        self.message = message
        self.siblings = siblings
        self.sources: tuple[Attachment, ...] | None = None  # passages that it was written from; None: not known yet
        self._colouring = colouring
        self._stage = stage
        self._blocks = blocks
        self._folds = _Folds(unfolded)
        self._parsing: Iterator[tuple[tuple[ReplyBlock, ...], bool]] | None = None  # while not all of them are known
        self._num_lines = message.text.count("\n", 0, SHOWN_CHARACTERS) + 1
        self._num_shown = 0  # characters

    def estimate(self, width: int) -> int:
        num_characters = min(len(self.message.text), SHOWN_CHARACTERS)
        height = self._stage.measure.height(num_characters, self._num_lines, width)
        return height + FRAME_PX + NOTE_PX * len(self.message.thoughts)

    def build(self, parent: QWidget) -> ReplyView:
        view = ReplyView(self._stage.keeper, self._stage.lexing, self._stage.drawer, parent)
        self.show_in(view)
        return view

    def set_colouring(self, colouring: bool) -> None:
        self._colouring = colouring
        self._blocks = self._parsing = None

    def toggle_thought(self, number: int, view: ReplyView) -> None:
        self._folds.toggle(number)
        self._show_blocks(view, self._blocks or (), at_once=True)

    def show_in(self, view: ReplyView) -> None:
        self._num_shown = len(shown_of(self.message.text))
        if self._blocks is None:
            self._parsing = self._parsed()
            self._go_on(view, at_once=True)
        else:
            self._show_blocks(view, self._blocks, at_once=True)
        view.set_message(self.message)
        view.set_legend(self._origins() if self._colouring else None)

    def _parsed(self) -> Iterator[tuple[tuple[ReplyBlock, ...], bool]]:
        """The blocks so far, slice by slice, and whether these are all."""
        text, origins = shown_of(self.message.text), self._origins()
        marks = marks_of(text, origins) if self._colouring and origins else ""
        done: tuple[ReplyBlock, ...] = ()
        places = [*(thought.place for thought in self.message.thoughts), len(text)]
        begin = 0
        for number, place in enumerate(places):
            if text[begin:place].strip() or number == len(places) - 1:
                for blocks, is_done in parsing(text[begin:place], marks[begin:place]):
                    yield (*done, *blocks), is_done and number == len(places) - 1
                done = (*done, *blocks)
            begin = max(begin, place)
            if number < len(self.message.thoughts):
                thought = self.message.thoughts[number]
                done = (*done, ThoughtBlock(number, thought.text, thought.seconds))

    def _go_on(self, view: ReplyView, at_once: bool = False) -> None:
        """Parses the next slice: a long text would hold up the window."""
        if self._parsing is not None:  # else another view has seen to it
            self._blocks, is_done = next(self._parsing)
            self._parsing = None if is_done else self._parsing
        self._show_blocks(view, self._blocks or (), at_once)

    def _show_blocks(self, view: ReplyView, blocks: tuple[ReplyBlock, ...], at_once: bool) -> None:
        is_done = self._parsing is None
        shown = self._folds.applied(blocks)
        view.set_blocks(shown, is_done, None if is_done else partial(self._go_on, view), at_once)
        view.show_cut(self._num_shown, len(self.message.text))

    def _origins(self) -> tuple[OriginRun, ...]:
        return self.message.statistics.origins if self.message.statistics else ()


class _AnswerPart:
    """Answer without a thought in it."""

    def __init__(self, colouring: bool) -> None:
        self.text: list[str] = []
        self._origins: list[OriginRun] = []
        self._stream = MarkdownStream()
        self._colouring = colouring

    @property
    def blocks(self) -> tuple[ReplyBlock, ...]:
        return self._stream.blocks

    def finish(self) -> tuple[ReplyBlock, ...]:
        return self._stream.finish()

    def feed(self, shown: str, origins: Sequence[OriginRun]) -> None:
        self.text.append(shown)
        self._origins += origins
        self._stream.feed(shown, marks_of(shown, origins) if self._colouring else "")

    def set_colouring(self, colouring: bool) -> None:
        self._colouring, self._stream = colouring, MarkdownStream()
        text = "".join(self.text)
        self._stream.feed(text, marks_of(text, self._origins) if colouring else "")


class _ThoughtPart:
    def __init__(self, number: int) -> None:
        self._number = number
        self._pieces: list[str] = []
        self._seconds = 0.0
        self.is_whole = False

    @property
    def blocks(self) -> tuple[ReplyBlock, ...]:
        return (ThoughtBlock(self._number, "".join(self._pieces), self._seconds, is_growing=not self.is_whole),)

    def finish(self) -> tuple[ReplyBlock, ...]:
        self.is_whole = True
        return self.blocks

    def feed(self, piece: ThoughtPiece) -> None:
        self._pieces.append(piece.text)
        self._seconds += piece.seconds
        self.is_whole = piece.is_last


class GrowingRow:
    """The reply that is being written."""

    def __init__(self, stage: Stage, colouring: bool = False) -> None:
        self._stage = stage
        self._colouring = colouring
        self._parts: list[_AnswerPart | _ThoughtPart] = []
        self._folds = _Folds()
        self._text: list[str] = []
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
        if not shown:
            return
        part = self._parts[-1] if self._parts else None
        if not isinstance(part, _AnswerPart):
            part = _AnswerPart(self._colouring)
            self._parts.append(part)
        part.feed(shown, origins)

    def think(self, piece: ThoughtPiece) -> None:
        self._words = None
        part = self._parts[-1] if self._parts else None
        if not isinstance(part, _ThoughtPart) or part.is_whole:
            part = _ThoughtPart(sum(isinstance(each, _ThoughtPart) for each in self._parts))
            self._parts.append(part)
        part.feed(piece)

    def begin_with(self, text: str, thoughts: Sequence[Thought], origin: str) -> None:
        """It goes on with a reply that was written by this origin, for all that is known."""
        place = 0
        for thought in (*thoughts, None):
            between = text[place : None if thought is None else thought.place]
            if between:
                self.feed(between, (OriginRun(len(between), origin),))
            if thought is not None:
                place = thought.place
                self.think(ThoughtPiece(thought.text, thought.origins, thought.seconds, 0, thought.is_whole))

    def set_colouring(self, colouring: bool) -> None:
        self._colouring = colouring
        for part in self._parts:
            if isinstance(part, _AnswerPart):
                part.set_colouring(colouring)

    def toggle_thought(self, number: int, view: ReplyView) -> None:
        self._folds.toggle(number)
        self.show_in(view)

    def show_in(self, view: ReplyView) -> None:
        blocks = [block for part in self._parts for block in part.blocks]
        if blocks:
            view.set_blocks(self._folds.applied(blocks), finished=False)
        view.show_cut(self._num_shown, self._num_characters)
        if self._words is not None or not blocks:
            view.show_waiting(self._words or "")
        else:
            view.end_waiting()

    def finished(self, message: Message, siblings: Sequence[int]) -> ReplyRow:
        """The row that replaces it; the text is parsed again only if the final one differs."""
        blocks = None
        thoughts = [each for each in self._parts if isinstance(each, _ThoughtPart)]
        if message.text == "".join(self._text) and len(message.thoughts) == len(thoughts):
            blocks = tuple(block for part in self._parts for block in part.finish())
        unfolded = tuple(self._folds.unfolded)
        return ReplyRow(self._stage, message, siblings, self._colouring, blocks, unfolded)
