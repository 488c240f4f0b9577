"""What was measured of this machine, and what to expect of models on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.values.targets import Suggestion


@dataclass(frozen=True, slots=True)
class MachineFigures:
    """What was measured of the target in use."""

    name: str
    identity: str
    size_bytes: int  # of its weights
    passes: Mapping[int, float]  # V(n) in seconds, for some n from 1 on
    reads_per_s: float  # tokens of a prompt per second
    is_busy: bool = False  # something else used the processor meanwhile: passes took longer one time than another

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


@dataclass(frozen=True, slots=True)
class Outlook:
    """What to expect of a target on this machine. All figures are estimates, except the plain speed of one that was
    measured."""

    name: str
    suggestion: Suggestion | None  # None: the target in use, which was measured
    plain: Span  # tokens per second without drafts
    new_text: Span  # times plain with drafts, in text that was not there before
    copies: Span  # the same, where text comes again that was there before: quoted, corrected, changed


@dataclass(frozen=True, slots=True)
class ExpectedSpeeds:
    """What is expected of models on this machine."""

    outlooks: tuple[Outlook, ...]  # the target in use first, then the smallest first; empty: nothing was measured
    step_s: float  # of the starter where it drafts for larger models; 0: not known
