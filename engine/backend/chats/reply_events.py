"""What is told of a reply while it is being written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.values.conversations import Message
from engine.values.events import (
    ContextTrimmed,
    Listener,
    PromptProgress,
    ReplyCall,
    ReplyRepeats,
    ReplyStarted,
    ReplyText,
    ReplyThought,
    ReplyWaits,
)
from engine.values.replies import OriginRun, ReplyListener, ReplyStatistics, Thought, ThoughtPiece
from engine.values.speed import LiveFigures


@dataclass(frozen=True)
class ReplyEvents(ReplyListener):
    """Turns what it hears into events of one conversation."""

    prompt: Message
    emit: Listener
    keep: Callable[[str, tuple[Thought, ...], ReplyStatistics], None]

    def on_prompt(self, num_tokens: int, num_left_out: int) -> None:
        self.emit(ReplyStarted(self.prompt.conversation_id, self.prompt.id, num_tokens, num_left_out))

    def on_waiting(self, sentence: str) -> None:
        self.emit(ReplyWaits(self.prompt.conversation_id, sentence))

    def on_prompt_progress(self, num_evaluated: int, num_total: int) -> None:
        self.emit(PromptProgress(self.prompt.conversation_id, num_evaluated, num_total))

    def on_text(self, text: str, figures: LiveFigures, origins: tuple[OriginRun, ...]) -> None:
        self.emit(ReplyText(self.prompt.conversation_id, text, figures, origins))

    def on_thought(self, piece: ThoughtPiece, figures: LiveFigures) -> None:
        self.emit(ReplyThought(self.prompt.conversation_id, piece, figures))

    def on_call(self, text: str, figures: LiveFigures) -> None:
        self.emit(ReplyCall(self.prompt.conversation_id, text, figures))

    def on_part(self, text: str, thoughts: tuple[Thought, ...], statistics: ReplyStatistics) -> None:
        self.keep(text, thoughts, statistics)

    def on_repeating(self) -> None:
        self.emit(ReplyRepeats(self.prompt.conversation_id))

    def on_trimmed(self, num_left_out: int) -> None:
        self.emit(ContextTrimmed(self.prompt.conversation_id, num_left_out))
