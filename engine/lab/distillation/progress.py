"""The progress of making a drafter, as plain values for the command line. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InventProgress:
    num_done: int  # finished conversations, with those of earlier runs
    num_conversations: int  # to write
    num_tokens: int  # that the target wrote in this run, in the user's turns and in replies
    seconds: float  # of this run


@dataclass(frozen=True, slots=True)
class LabelProgress:
    """Progress while the target reads given replies."""

    num_done: int  # replies
    num_replies: int


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    step: int
    epoch: float
    seconds: float  # of training
    loss: float
    agreement: float | None = None  # greedy next-token agreement on replies held back, when it was measured
    accepted: float | None = None  # tokens accepted per round there, in the drafter's tokens


@dataclass(frozen=True, slots=True)
class TextFigures:
    """Figures of a drafter on one kind of replies, in the target's tokens, with drafts of a fixed length."""

    name: str
    tokens_per_round: float
    accepted: tuple[float, ...]  # share of the first, second, … tokens of a draft that were accepted, of those checked


@dataclass(frozen=True, slots=True)
class Judgement:
    """The quality of a drafter, measured as it would run."""

    minutes: float  # of training so far
    step_ms: float  # of a draft step on this machine
    texts: tuple[TextFigures, ...]


DistillProgress = InventProgress | LabelProgress | TrainingProgress | Judgement
