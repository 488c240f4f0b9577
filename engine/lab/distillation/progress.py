"""How far the making of a drafter is, as plain values for whoever watches. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InventProgress:
    num_done: int  # conversations that are finished, those of earlier runs among them
    num_conversations: int  # that are to be
    num_tokens: int  # that the target wrote in this run: turns of users and replies
    seconds: float  # of this run


@dataclass(frozen=True, slots=True)
class LabelProgress:
    """While the target reads given replies."""

    num_done: int  # replies
    num_replies: int


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    step: int
    epoch: float
    seconds: float  # of training
    loss: float
    agreement: float | None = None  # greedy next-token agreement on replies held back, when it was measured
    accepted: float | None = None  # guesses of a round that stand there, in the drafter's tokens


@dataclass(frozen=True, slots=True)
class TextFigures:
    """How a drafter fares on one kind of replies, in the target's tokens, with drafts of a fixed length."""

    name: str
    tokens_per_round: float
    stood: tuple[float, ...]  # share of the first, second, … drafted tokens that stood, of those that were reached


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a drafter is worth, measured as it would run."""

    minutes: float  # of training until then
    step_ms: float  # a draft step on this machine
    texts: tuple[TextFigures, ...]


DistillProgress = InventProgress | LabelProgress | TrainingProgress | Judgement
