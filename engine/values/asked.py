"""What programs ask of the server: whole turns in, a reply out, and nothing of it stored unless the user allows it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.values.conversations import ChatTurn
from engine.values.errors import MendableError
from engine.values.replies import ReplyStatistics, Thought
from engine.values.sentences import Sentence
from engine.values.tools import Tool, ToolCall

Names = tuple[tuple[str, str | int | float | bool | None], ...]  # that a chat template is told, and their values
MOST_LOGS = 20  # likeliest tokens that a request may ask for with each token


@dataclass(frozen=True, slots=True)
class Asked:
    """One reply that a client asks for. What is None is as the user has set it for this model."""

    turns: tuple[ChatTurn, ...] = ()
    text: str | tuple[int, ...] | None = None  # a prompt in place of turns, as text or as the target's tokens
    begun: str = ""  # the reply's beginning, from which it goes on
    client: str = ""
    sampling: tuple[tuple[str, float | str | None], ...] = ()  # names of `SamplingSettings`, and values
    max_tokens: int | None = None
    max_thought: int | None = None
    stop_strings: tuple[str, ...] = ()
    thinks: bool | None = None
    names: Names = ()  # what the chat template is told besides
    tools: tuple[Tool, ...] = ()
    must_call: str | None = None  # the tool that the reply has to call; empty: any of them
    expected: str = ""  # what the reply is likely to repeat
    num_logs: int | None = None  # of the likeliest tokens to report with each token; None: no probabilities at all


class Refusal(StrEnum):
    """Why a request was not answered."""

    INVALID = "invalid"  # it asks for what there is not
    TOO_LONG = "too_long"
    NOT_READY = "not_ready"  # there is no target
    NOT_OFFERED = "not_offered"  # there is no model for it


class Refused(MendableError):
    """The sentence says what the program, or the user, can do."""

    def __init__(self, refusal: Refusal, sentence: Sentence) -> None:
        super().__init__()
        self.sentence = sentence
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply that was written, or stopped, or failed in the middle."""

    text: str
    thoughts: tuple[Thought, ...]
    calls: tuple[ToolCall, ...]
    statistics: ReplyStatistics
    failure: str = ""  # a sentence


@dataclass(frozen=True, slots=True)
class Embeddings:
    model: str  # its name
    vectors: tuple[bytes, ...]  # of each text, in float32, little-endian, of length 1
    num_tokens: int  # of all texts
