"""What was measured of this machine, and what to expect of models on it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from engine.messages.targets import Suggestion


@dataclass(frozen=True, slots=True)
class MachineFigures:
    """Of the target in use."""

    name: str
    identity: str
    size_bytes: int  # of its weights
    passes: Mapping[int, float]  # V(n) in seconds, for some n from 1 on
    reads_per_s: float  # tokens of a prompt per second

    @property
    def tokens_per_s(self) -> float:
        """Written without drafts."""
        return 1 / self.passes[1]


@dataclass(frozen=True, slots=True)
class Span:
    """A figure, and the range that it is expected in."""

    low: float
    middle: float
    high: float

    def times(self, other: Span) -> Span:
        """Of two figures whose errors have nothing to do with each other, all above 0."""
        below = math.hypot(math.log(self.middle / self.low), math.log(other.middle / other.low))
        above = math.hypot(math.log(self.high / self.middle), math.log(other.high / other.middle))
        middle = self.middle * other.middle
        return Span(middle * math.exp(-below), middle, middle * math.exp(above))


@dataclass(frozen=True, slots=True)
class Outlook:
    """Tokens per second of a target on this machine. Estimates all of them, but the plain speed of one that was
    measured."""

    name: str
    suggestion: Suggestion | None  # None: the target in use, which was measured
    plain: Span  # without drafts
    new_text: Span  # with drafts, in text that was not there before
    copies: Span  # with drafts, where text comes again that was there before: quoted, corrected, changed
