"""A reply while it is written.

Its writer, a target of this program or a server, feeds one `GrowingReply`. Everyone who follows it (the window, the
store, another program, a terminal) gets the same value, `ReplySoFar`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.values.clock import now
from engine.values.replies import OriginRun, ReplyStatistics, Thought, ThoughtPiece, TokenLog
from engine.values.requests import ignore
from engine.values.sentences import Told
from engine.values.speed import LiveFigures

_PART_S = 2.0  # between two parts that are worth storing: this much of a reply, and a little more, may be lost
_DIGITS = 3  # of seconds, as they are stored


@dataclass(frozen=True, slots=True)
class TextPiece:
    """What was added to the answer."""

    text: str  # never half a character
    origins: tuple[OriginRun, ...] = ()  # of the text; empty: not known
    logs: tuple[TokenLog, ...] = ()  # of its tokens, where the settings ask for them


Piece = TextPiece | ThoughtPiece


@dataclass(frozen=True, slots=True)
class ReplySoFar:
    """All values of one reply share a list of pieces, which only `GrowingReply` extends: making one takes the same time
    however long the reply is."""

    conversation_id: int = 0
    prompt_id: int = 0  # of the message that it answers: a prompt, or the result of a call
    waits_for: Told = ""  # why nothing happens: the target is in use, or its server is asked again; usually empty
    num_prompt_tokens: int = 0
    num_read: int = 0  # tokens of the prompt that were evaluated
    num_to_read: int = 0  # tokens of the prompt that had to be
    num_left_out: int = 0  # oldest messages that do not fit into the context
    num_pieces: int = 0
    is_calling: bool = False  # it is writing a call of a tool
    repeats: bool = False  # itself, without end
    figures: LiveFigures = LiveFigures()
    statistics: ReplyStatistics | None = None  # every two seconds: this much is worth storing
    _pieces: list[Piece] = field(default_factory=list, repr=False, compare=False)

    def since(self, num_pieces: int) -> Sequence[Piece]:
        """The pieces after the first `num_pieces`."""
        return self._pieces[num_pieces : self.num_pieces]

    @property
    def text(self) -> str:
        """The answer; thoughts and calls are no part of it."""
        return "".join(each.text for each in self.since(0) if isinstance(each, TextPiece))

    @property
    def thoughts(self) -> tuple[Thought, ...]:
        return thoughts_of(self.since(0))


class PieceReader:
    """Reads each piece of one reply, or of several one after the other, once."""

    def __init__(self) -> None:
        self._num_read = 0

    def new_in(self, so_far: ReplySoFar) -> Sequence[Piece]:
        if so_far.num_pieces < self._num_read:  # another reply has begun
            self._num_read = 0
        pieces = so_far.since(self._num_read)
        self._num_read = so_far.num_pieces
        return pieces


class GrowingReply:
    """Makes each `ReplySoFar` from the one before, and passes it on. One thread calls all methods."""

    def __init__(
        self,
        tell: Callable[[ReplySoFar], object] = ignore,
        conversation_id: int = 0,
        prompt_id: int = 0,
    ) -> None:
        self._tell = tell
        self._so_far = ReplySoFar(conversation_id, prompt_id)
        self._pieces = self._so_far._pieces
        self._is_thinking = False  # the last thought goes on
        self._thought_from = (0.0, 0)  # when the last piece of a thought came, and the tokens written until then
        self._part_at = math.inf

    @property
    def so_far(self) -> ReplySoFar:
        return self._so_far

    @property
    def text(self) -> str:
        return self._so_far.text

    @property
    def thoughts(self) -> tuple[Thought, ...]:
        return self._so_far.thoughts

    @property
    def is_part_due(self) -> bool:
        return now() >= self._part_at

    def begin(self, num_prompt_tokens: int, num_left_out: int) -> None:
        """The prompt is rendered, without the oldest messages that do not fit."""
        self._change(num_prompt_tokens=num_prompt_tokens, num_left_out=num_left_out)

    def wait(self, sentence: Told) -> None:
        self._change(waits_for=sentence)

    def read(self, num_read: int, num_to_read: int) -> None:
        """More of the prompt is evaluated."""
        self._change(num_read=num_read, num_to_read=num_to_read)

    def trim(self, num_left_out: int) -> None:
        """The context filled up: this many of the oldest messages are left out from now on."""
        self._change(num_left_out=num_left_out)

    def say(
        self,
        text: str,
        figures: LiveFigures,
        origins: tuple[OriginRun, ...] = (),
        logs: tuple[TokenLog, ...] = (),
    ) -> None:
        self._add(TextPiece(text, origins, logs), figures)

    def begin_thought(self, num_tokens: int = 0) -> None:
        """Counts time and tokens as those of a thought from now on. `num_tokens`: of the reply until now."""
        self._thought_from = now(), num_tokens

    def think(
        self,
        text: str,
        figures: LiveFigures,
        origins: tuple[OriginRun, ...] = (),
        num_tokens: int = 0,
        is_last: bool = False,
    ) -> None:
        """`num_tokens`: of the reply until now."""
        (since, num_before), self._thought_from = self._thought_from, (now(), num_tokens)
        self._is_thinking = not is_last
        seconds = self._thought_from[0] - since
        self._add(ThoughtPiece(text, origins, seconds, num_tokens - num_before, is_last), figures)

    def end_thought(self, figures: LiveFigures, num_tokens: int = 0) -> None:
        """Nothing happens if none is open."""
        if self._is_thinking:
            self.think("", figures, num_tokens=num_tokens, is_last=True)

    def call(self, figures: LiveFigures) -> None:
        """A call of a tool goes on."""
        self._change(is_calling=True, figures=figures)

    def repeat(self) -> None:
        """It has begun to repeat itself without end."""
        self._change(repeats=True)

    def leave_out(self, seconds: float) -> None:
        """Leaves out time during which others used the target."""
        since, num_tokens = self._thought_from
        self._thought_from = since + seconds, num_tokens

    def tell_part(self, statistics: ReplyStatistics) -> None:
        self._part_at = now() + _PART_S
        self._tell(replace(self._so_far, statistics=statistics))

    def _add(self, piece: Piece, figures: LiveFigures) -> None:
        self._pieces.append(piece)
        if self._part_at == math.inf:
            self._part_at = now() + _PART_S
        before = self._so_far
        self._so_far = ReplySoFar(  # what `replace` makes, in half the time: it is made with every token
            before.conversation_id,
            before.prompt_id,
            "",
            before.num_prompt_tokens,
            before.num_read,
            before.num_to_read,
            before.num_left_out,
            len(self._pieces),
            before.is_calling,
            before.repeats,
            figures,
            None,
            self._pieces,
        )
        self._tell(self._so_far)

    def _change(self, waits_for: Told = "", **changed: Any) -> None:
        self._so_far = replace(self._so_far, waits_for=waits_for, **changed)
        self._tell(self._so_far)


def thoughts_of(pieces: Iterable[Piece]) -> tuple[Thought, ...]:
    found: list[tuple[int, list[ThoughtPiece]]] = []  # the pieces of each thought, with its place
    place = 0
    for piece in pieces:
        if isinstance(piece, TextPiece):
            place += len(piece.text)
            continue
        if not found or found[-1][1][-1].is_last:
            found.append((place, []))
        found[-1][1].append(piece)
    return tuple(
        Thought(
            place,
            "".join(piece.text for piece in pieces),
            round(sum(piece.seconds for piece in pieces), _DIGITS),
            sum(piece.num_tokens for piece in pieces),
            pieces[-1].is_last,
            joined_runs(run for piece in pieces for run in piece.origins),
        )
        for place, pieces in found
    )


def joined_runs(runs: Iterable[OriginRun]) -> tuple[OriginRun, ...]:
    """The runs with neighbours of one origin joined."""
    joined: list[OriginRun] = []
    for run in runs:
        if joined and joined[-1].origin == run.origin:
            joined[-1] = OriginRun(joined[-1].num_characters + run.num_characters, run.origin)
        else:
            joined.append(run)
    return tuple(joined)


def joined_replies(text: str, before: tuple[Thought, ...], thoughts: tuple[Thought, ...]) -> tuple[Thought, ...]:
    """The thoughts of a reply with this text and the thoughts `before`, and of one that continues it."""
    later = [replace(each, place=each.place + len(text)) for each in thoughts]
    if before and later and not before[-1].is_whole:  # it went on
        first, next_one = before[-1], later.pop(0)
        joined = replace(
            next_one,
            place=first.place,
            text=first.text + next_one.text,
            seconds=round(first.seconds + next_one.seconds, _DIGITS),
            num_tokens=first.num_tokens + next_one.num_tokens,
            origins=first.origins + next_one.origins,
        )
        return (*before[:-1], joined, *later)
    return (*before, *later)
