"""What the engine tells of a reply that the window has asked for, step by step: arguments of `FakeBridge.tell`."""

from __future__ import annotations

from engine.values.errors import Cancelled, MendableError
from engine.values.events import Event
from engine.values.growing_reply import GrowingReply
from engine.values.replies import OriginRun, ThoughtPiece
from engine.values.speed import LiveFigures


class Step(Event):
    """Happens to the last reply that was asked for."""


class GrowingStep(Step):
    conversation_id: int

    @property
    def prompt_id(self) -> int:
        return 0

    def feed(self, growing: GrowingReply) -> None:
        raise NotImplementedError


class Began(GrowingStep):
    """Its prompt is rendered."""

    answers: int  # id of a message
    num_tokens: int = 10
    num_left_out: int = 0

    @property
    def prompt_id(self) -> int:
        return self.answers

    def feed(self, growing: GrowingReply) -> None:
        growing.begin(self.num_tokens, self.num_left_out)


class Waits(GrowingStep):
    sentence: str

    def feed(self, growing: GrowingReply) -> None:
        growing.wait(self.sentence)


class Read(GrowingStep):
    num_read: int
    num_to_read: int

    def feed(self, growing: GrowingReply) -> None:
        growing.read(self.num_read, self.num_to_read)


class Wrote(GrowingStep):
    text: str
    figures: LiveFigures = LiveFigures()
    origins: tuple[OriginRun, ...] = ()

    def feed(self, growing: GrowingReply) -> None:
        growing.say(self.text, self.figures, self.origins)


class Thought(GrowingStep):
    piece: ThoughtPiece
    figures: LiveFigures = LiveFigures()

    def feed(self, growing: GrowingReply) -> None:
        growing.think(self.piece.text, self.figures, self.piece.origins, is_last=self.piece.is_last)


class Calls(GrowingStep):
    """It writes a call."""

    figures: LiveFigures = LiveFigures()

    def feed(self, growing: GrowingReply) -> None:
        growing.call(self.figures)


class Repeats(GrowingStep):
    def feed(self, growing: GrowingReply) -> None:
        growing.repeat()


class Trimmed(GrowingStep):
    num_left_out: int

    def feed(self, growing: GrowingReply) -> None:
        growing.trim(self.num_left_out)


class Answered(Step):
    """Nothing more follows."""


class Broke(Step):
    """It failed, or was stopped before it began."""

    error: Exception

    @classmethod
    def off(cls) -> Broke:
        return cls(Cancelled("It was stopped before it began."))

    @classmethod
    def because(cls, sentence: str) -> Broke:
        return cls(MendableError(sentence))
