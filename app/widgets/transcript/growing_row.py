"""The row of the reply that is being written."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from app.text.markdown import MarkdownStream
from app.text.origin_marks import marks_of
from app.text.tool_calls import CallBlock
from app.widgets.transcript.reply_view import ReplyBlock, ReplyView, shown_of
from app.widgets.transcript.thought_view import ThoughtBlock
from app.widgets.transcript.transcript_rows import FRAME_PX, Folds, ReplyRow, Stage
from engine.values.conversations import Message
from engine.values.replies import OriginRun, Thought, ThoughtPiece


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
    """The reply that is being written, behind what there is of its answer."""

    def __init__(self, stage: Stage, colouring: bool = False, before: ReplyRow | None = None) -> None:
        self.before = before
        self._stage = stage
        self._colouring = colouring
        self._parts: list[_AnswerPart | _ThoughtPart] = []
        self.folds = Folds() if before is None else before.folds
        self._num_thoughts = 0 if before is None else len(before.message.thoughts)  # of what was before
        self._text: list[str] = []
        self._num_characters = self._num_shown = self._num_ends = 0  # all; shown of them; shown ends of lines
        self._words: str | None = ""  # shown until text is written; None: it is

    @property
    def ids(self) -> tuple[int, ...]:
        return () if self.before is None else self.before.ids

    def estimate(self, width: int) -> int:
        return FRAME_PX if self.before is None else self.before.estimate(width)

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
            part = _ThoughtPart(self._num_thoughts + sum(isinstance(each, _ThoughtPart) for each in self._parts))
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
        if self.before is not None:
            self.before.set_colouring(colouring)
        for part in self._parts:
            if isinstance(part, _AnswerPart):
                part.set_colouring(colouring)

    def toggle(self, number: int | str, view: ReplyView) -> None:
        """Unfolds or folds a thought or a call."""
        self.folds.toggle(number)
        self.show_in(view)

    def show_in(self, view: ReplyView) -> None:
        blocks = [block for part in self._parts for block in part.blocks]
        is_waiting = self._words is not None or not blocks
        blocks = [*self._blocks_before(), *blocks]
        if blocks:
            messages = () if self.before is None else self.before.messages
            view.set_blocks(self.folds.applied(blocks, self._stage.calls, messages), finished=False)
        view.show_cut(self._num_shown, self._num_characters)
        if is_waiting:
            view.show_waiting(self._words or "")
        else:
            view.end_waiting()

    def finished(self, message: Message, siblings: Sequence[int]) -> ReplyRow:
        """The row that replaces it; the text is parsed again only if the final one differs."""
        blocks: tuple[ReplyBlock, ...] | None = None
        thoughts = [each for each in self._parts if isinstance(each, _ThoughtPart)]
        if message.text == "".join(self._text) and len(message.thoughts) == len(thoughts):
            blocks = tuple(block for part in self._parts for block in part.finish())
            blocks = (*self._blocks_before(), *blocks, *map(CallBlock, message.calls))
        before = () if self.before is None else self.before.messages
        known = {} if self.before is None else self.before.siblings
        row = ReplyRow(
            self._stage,
            (*before, message),
            {**known, message.id: siblings},
            self._colouring,
            blocks,
            self.folds.unfolded,
        )
        row.is_under_way = bool(message.calls)
        return row

    def _blocks_before(self) -> tuple[ReplyBlock, ...]:
        return () if self.before is None else self.before.whole_blocks()
