"""What the round needs of a proposer, whoever guesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.config import SamplingSettings
from engine.numerics.dice import Dice
from engine.numerics.draft import Draft
from engine.records import ChatTurn
from engine.target.interface import TargetFeature


@dataclass(frozen=True, slots=True)
class Context:
    """All that a proposer may look at before a round."""

    turns: Sequence[ChatTurn]  # what is being answered; the prompt as text
    tokens: Sequence[int]  # what the target holds, prompt and reply so far; a view that changes after the round
    pending: int  # the token that follows them, drawn but not evaluated yet
    reply_start: int  # where in `tokens` the reply begins
    sampling: SamplingSettings  # what the target's law is made with
    dice: Dice  # for those who draw


class Proposer(Protocol):
    """Guesses what the target writes next. It may be silent or wrong: only the speed changes, never what comes out."""

    @property
    def name(self) -> str: ...
    @property
    def needs(self) -> frozenset[TargetFeature]:
        """What the target must offer; unmet needs switch the proposer off."""
        ...

    def propose(self, context: Context, limit: int) -> Draft:
        """At most `limit` (at least 1) tokens of the target, to follow the pending one; may be empty."""
        ...

    def measure_cost(self) -> float:
        """Seconds that drafting one token takes at best, tried out here and now."""
        ...

    def end_reply(self) -> None:
        """The reply is over; what it taught can be kept."""
        ...
