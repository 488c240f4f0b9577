"""Who drafts for one target, and how far: the one thing the rounds ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engine.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.pace import Pace
from engine.proposers.interface import Context, Proposer
from engine.records import NgramRecord


class NgramMemory(Protocol):
    """Keeps n-grams from one start of the app to the next, for each pair of vocabularies."""

    def load(self, target_fingerprint: str, drafter_fingerprint: str) -> Sequence[NgramRecord]: ...
    def save(self, target_fingerprint: str, drafter_fingerprint: str, changed: Sequence[NgramRecord]) -> None: ...


class Speculation:
    """Drafts nothing until a proposer has been given; that may happen on another thread, between rounds.

    Lives as long as its target is loaded, so that what was seen in one reply helps the next. `state` says in a
    sentence what it does, or why it does nothing.
    """

    def __init__(self, pace: Pace | None, proposer: Proposer | None = None) -> None:
        self._pace = pace
        self._proposer = proposer
        self.state = "The drafter is being loaded."

    @classmethod
    def off(cls, reason: str) -> Speculation:
        """One that never drafts, and says why."""
        speculation = cls(None)
        speculation.state = reason
        return speculation

    @property
    def is_drafting(self) -> bool:
        return self._proposer is not None

    def begin(self, proposer: Proposer, cost_per_token: float) -> None:
        """From now on `proposer` drafts, at an expected cost in seconds."""
        if self._pace is not None:
            self._pace.expect_cost(cost_per_token)
        self._proposer = proposer
        self.state = f"Drafting ahead with the {proposer.name}."

    def give_up(self, reason: str) -> None:
        self.state = reason

    def propose(self, context: Context, longest: int) -> Draft:
        """At most `longest` tokens; none when that does not pay."""
        if self._proposer is None or self._pace is None or longest < 1:
            return NO_DRAFT
        length = min(self._pace.length(), longest)
        return self._proposer.propose(context, length) if length > 0 else NO_DRAFT

    def observe(self, verdict: Verdict, draft_s: float, pass_s: float) -> None:
        """What came of a round: `draft_s` for its draft, `pass_s` for the target's pass."""
        if self._pace is not None:
            self._pace.note(verdict, draft_s, pass_s)

    def end_reply(self) -> None:
        if self._proposer is not None:
            self._proposer.end_reply()
