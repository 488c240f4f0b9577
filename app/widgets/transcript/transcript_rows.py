"""The rows of the transcript, one for each message, with or without a widget."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QWidget

from app.text.formula_drawing import Drawer
from app.text.highlight import Lexing
from app.text.markdown import parsing
from app.text.origin_marks import marks_of
from app.text.tool_calls import CallBlock, CallPhase
from app.theme import ThemeKeeper
from app.widgets.appearance import reading_font
from app.widgets.prompt.attached_pictures import height_of
from app.widgets.prompt.pictures import Pictures
from app.widgets.prompt.prompt_editor import is_too_long
from app.widgets.transcript.answers import NO_SIBLINGS, Siblings, is_unfinished, joined, versions
from app.widgets.transcript.prompt_view import BUBBLE_PADDING_PX, BUBBLE_SHARE, SHORTENED_LINES, PromptView
from app.widgets.transcript.reply_view import SHOWN_CHARACTERS, ReplyBlock, ReplyView, shown_of
from app.widgets.transcript.row_view import NoteView
from app.widgets.transcript.thought_view import ThoughtBlock
from engine.values.conversations import Message, Role
from engine.values.prompts import Attachment, split_pictures, split_prompt
from engine.values.replies import OriginRun

if TYPE_CHECKING:  # not before the window is there
    from engine.values.events import ToolAsked


class CallStates(QObject):
    """Calls by their ids, which no two share. A call that is not known here has its result, or never got one."""

    changed = Signal(str)  # another phase of the call with this id
    answered = Signal(str, object)  # the user has answered the question for a call; a `Permission`

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._phases: dict[str, tuple[CallPhase, ToolAsked | None, float]] = {}  # the last: since when

    @property
    def asked(self) -> str | None:
        """The call that waits for the user."""
        return next((number for number, (phase, *_) in self._phases.items() if phase is CallPhase.ASKED), None)

    def set_phase(self, call_id: str, phase: CallPhase, asked: ToolAsked | None = None) -> None:
        """`asked`: what the user is asked for."""
        self._phases[call_id] = phase, asked, monotonic()
        self.changed.emit(call_id)

    def forget(self, call_id: str) -> None:
        if self._phases.pop(call_id, None) is not None:
            self.changed.emit(call_id)

    def clear(self) -> None:
        """Forgets all calls: the reply has ended."""
        for call_id in [*self._phases]:
            self.forget(call_id)

    def applied(self, block: CallBlock, result: Message | None, is_open: bool) -> CallBlock:
        """The block in its present state."""
        if result is not None and result.result is not None:
            came = result.result
            ended = (came.outcome, came.seconds, result.text)
            return CallBlock(block.call, CallPhase.ENDED, None, *ended, is_open=is_open)
        phase, asked, since_s = self._phases.get(block.call.id, (CallPhase.LEFT, None, 0.0))
        return replace(block, phase=phase, asked=asked, since_s=since_s, is_open=is_open)


NOTE_PX = 40
FRAME_PX = 60  # of a message, around its text
TYPICAL_PROMPT_CHARACTERS = 2_400  # a longer one is shortened


class TextMeasure:
    """Estimates the height of text from its numbers of characters and lines."""

    def __init__(self) -> None:
        self.refresh()

    def refresh(self) -> None:
        """Reads the font, whose size may have changed."""
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
    calls: CallStates


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
    def ids(self) -> tuple[int, ...]:
        return (self.message.id,)

    @property
    def is_revisable(self) -> bool:
        """True if the prompt with its attachments as text is short enough to edit: a longer one would freeze the
        window."""
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
    ids: tuple[int, ...] = ()

    def __init__(self, text: str) -> None:
        self._text = text

    def estimate(self, width: int) -> int:  # noqa: ARG002
        return NOTE_PX

    def build(self, parent: QWidget) -> NoteView:
        return NoteView(self._text, parent)


class Folds:
    """Which thoughts and calls of an answer are unfolded, by their numbers and ids; at first none is."""

    def __init__(self, unfolded: Collection[int | str] = ()) -> None:
        self.unfolded = set(unfolded)

    def toggle(self, number: int | str) -> None:
        self.unfolded ^= {number}

    def applied(
        self, blocks: Sequence[ReplyBlock], calls: CallStates, messages: Sequence[Message]
    ) -> tuple[ReplyBlock, ...]:
        """The blocks in their present state; `messages` have the results of the calls."""
        results = {each.result.call.id: each for each in messages if each.result is not None}
        return tuple(self._applied(each, calls, results) for each in blocks)

    def _applied(self, block: ReplyBlock, calls: CallStates, results: Mapping[str, Message]) -> ReplyBlock:
        if isinstance(block, CallBlock):
            return calls.applied(block, results.get(block.call.id), block.call.id in self.unfolded)
        if isinstance(block, ThoughtBlock) and block.number in self.unfolded:
            return replace(block, is_open=True)
        return block


class ReplyRow:
    """An answer, parsed when it first comes near: a reply, or several with the results of their calls between them."""

    def __init__(
        self,
        stage: Stage,
        messages: Sequence[Message],
        siblings: Siblings = NO_SIBLINGS,
        colouring: bool = False,
        blocks: tuple[ReplyBlock, ...] | None = None,
        unfolded: Collection[int | str] = (),
    ) -> None:
        """`blocks`: those of its text, coloured or not. `unfolded`: numbers of thoughts and ids of calls."""
        self.messages = tuple(messages)
        self.siblings = {each.id: siblings[each.id] for each in messages if each.id in siblings}
        self.sources: tuple[Attachment, ...] | None = None  # passages that it was written from; None: not known yet
        self.is_under_way = False  # its calls are being carried out, and more may follow
        self._colouring = colouring
        self._stage = stage
        self._blocks = blocks
        self.folds = Folds(unfolded)
        self._parsing: Iterator[tuple[tuple[ReplyBlock, ...], bool]] | None = None  # while not all of them are known
        self._note_messages()

    def _note_messages(self) -> None:
        self.message = joined(self.messages)
        self._num_lines = self.message.text.count("\n", 0, SHOWN_CHARACTERS) + 1
        self._num_calls = sum(len(each.calls) for each in self.messages)

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(each.id for each in self.messages)

    @property
    def versions(self) -> tuple[tuple[int, ...], int]:
        """The ids of all versions, if there are others, and of the shown one."""
        return versions(self.messages, self.siblings)

    @property
    def is_unfinished(self) -> bool:
        return is_unfinished(self.messages[-1])

    def add(self, message: Message, siblings: Sequence[int]) -> None:
        """Adds the result of one of its calls."""
        self.messages = (*self.messages, message)
        self.siblings[message.id] = siblings
        self._note_messages()

    def update(self, known_id: int, message: Message, siblings: Sequence[int]) -> None:
        """Updates a message that has another id, or other siblings."""
        self.messages = tuple(message if each.id == known_id else each for each in self.messages)
        self.siblings.pop(known_id, None)
        self.siblings[message.id] = siblings
        self._note_messages()

    def up_to(self, message_id: int) -> ReplyRow:
        """A row with the messages up to this one."""
        kept = self.messages[: self.ids.index(message_id) + 1]
        if kept == self.messages:
            return self
        return ReplyRow(self._stage, kept, self.siblings, self._colouring, unfolded=self.folds.unfolded)

    def estimate(self, width: int) -> int:
        num_characters = min(len(self.message.text), SHOWN_CHARACTERS)
        height = self._stage.measure.height(num_characters, self._num_lines, width)
        return height + FRAME_PX + NOTE_PX * (len(self.message.thoughts) + self._num_calls)

    def build(self, parent: QWidget) -> ReplyView:
        view = ReplyView(self._stage.keeper, self._stage.lexing, self._stage.drawer, parent)
        self.show_in(view)
        return view

    def set_colouring(self, colouring: bool) -> None:
        self._colouring = colouring
        self._blocks = self._parsing = None

    def toggle(self, number: int | str, view: ReplyView) -> None:
        """Unfolds or folds a thought or a call."""
        self.folds.toggle(number)
        self._show_blocks(view, self._blocks or (), at_once=True)

    def unfold(self, message_id: int) -> str | None:
        """Unfolds the call with this result, and returns its id."""
        results = (each.result for each in self.messages if each.id == message_id and each.result is not None)
        found = next((each.call.id for each in results), None)
        if found is not None:
            self.folds.unfolded.add(found)
        return found

    def show_in(self, view: ReplyView) -> None:
        if self._blocks is None:
            self._parsing = self._parsed()
            self._go_on(view, at_once=True)
        else:
            self._show_blocks(view, self._blocks, at_once=True)
        if not self.is_under_way:
            view.set_message(self.message)
            view.set_legend(self._origins() if self._colouring else None)

    def whole_blocks(self) -> tuple[ReplyBlock, ...]:
        """All blocks at once, as a reply continues after them."""
        if self._blocks is None or self._parsing is not None:
            *_, (self._blocks, _) = self._parsed()
            self._parsing = None
        return self._blocks or ()

    def _parsed(self) -> Iterator[tuple[tuple[ReplyBlock, ...], bool]]:
        """Yields the blocks so far, slice by slice, and whether they are all."""
        done: tuple[ReplyBlock, ...] = ()
        num_characters = num_ends = num_thoughts = 0
        replies = [each for each in self.messages if each.role is not Role.TOOL]
        for message in replies:
            has_room = num_characters < SHOWN_CHARACTERS
            text = shown_of(message.text, num_characters, num_ends) if has_room else ""
            is_end = message is replies[-1] and not message.calls
            blocks: tuple[ReplyBlock, ...] = ()
            for blocks, is_whole in self._parsed_reply(message, text, num_thoughts):
                if is_end or not is_whole:  # else what follows is soon found, too
                    yield (*done, *blocks), is_whole
            done = (*done, *blocks, *map(CallBlock, message.calls))
            num_characters, num_ends = num_characters + len(message.text), num_ends + text.count("\n")
            num_thoughts += len(message.thoughts)
        if not replies or replies[-1].calls:
            yield done, True

    def _parsed_reply(
        self, message: Message, text: str, first_thought: int
    ) -> Iterator[tuple[tuple[ReplyBlock, ...], bool]]:
        origins = message.statistics.origins if message.statistics else ()
        marks = marks_of(text, origins) if self._colouring and origins else ""
        done: tuple[ReplyBlock, ...] = ()
        places = [*(thought.place for thought in message.thoughts), len(text)]
        begin = 0
        for number, place in enumerate(places):
            is_last = number == len(places) - 1
            if text[begin:place].strip() or (is_last and not message.calls):
                for blocks, is_whole in parsing(text[begin:place], marks[begin:place]):
                    yield (*done, *blocks), is_whole and is_last
                done = (*done, *blocks)
            elif is_last:
                yield done, True
            begin = max(begin, place)
            if not is_last:
                thought = message.thoughts[number]
                done = (*done, ThoughtBlock(first_thought + number, thought.text, thought.seconds))

    def _go_on(self, view: ReplyView, at_once: bool = False) -> None:
        """Parses the next slice: a long text at once would freeze the window."""
        if self._parsing is not None:  # else another view has seen to it
            self._blocks, is_done = next(self._parsing)
            self._parsing = None if is_done else self._parsing
        self._show_blocks(view, self._blocks or (), at_once)

    def _show_blocks(self, view: ReplyView, blocks: tuple[ReplyBlock, ...], at_once: bool) -> None:
        is_done = self._parsing is None
        shown = self.folds.applied(blocks, self._stage.calls, self.messages)
        view.set_blocks(shown, is_done, None if is_done else partial(self._go_on, view), at_once)
        view.show_cut(len(shown_of(self.message.text)), len(self.message.text))

    def _origins(self) -> tuple[OriginRun, ...]:
        return self.message.statistics.origins if self.message.statistics else ()
