"""Who drafts for one target, and how far: the one thing the rounds ask."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from engine.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.pace import Pace
from engine.proposers.interface import Context, Proposer
from engine.records import NgramRecord

_logger = logging.getLogger("slipstream.speculation")


class NgramMemory(Protocol):
    """Keeps n-grams from one start of the app to the next, for each pair of vocabularies."""

    def load(self, target_fingerprint: str, drafter_fingerprint: str) -> Sequence[NgramRecord]: ...
    def save(self, target_fingerprint: str, drafter_fingerprint: str, changed: Sequence[NgramRecord]) -> None: ...


_DRAFTING = "Drafting ahead with the drafter."
_PAUSED = "Drafting pauses: too few guesses have stood lately to be worth it."
_TOO_DEAR = "Not drafting: on this machine, checking guesses would cost this model more time than it saves."
CANNOT_ROLL_BACK = "This model cannot take back what it has read, so nothing can be drafted for it."


class Speculation:
    """Drafts nothing until a proposer has been given; that may happen on another thread, between rounds.

    Lives as long as its target is loaded, so that what was seen in one reply helps the next. `state` says in a
    sentence what it does, or why it does nothing; `on_changed` hears of each change, on whatever thread it happens.
    """

    def __init__(
        self,
        pace: Pace | None,
        proposer: Proposer | None = None,
        on_changed: Callable[[Speculation], None] = lambda _speculation: None,
    ) -> None:
        self._pace = pace
        self._proposer = proposer
        self._on_changed = on_changed
        self.state = "The drafter is being loaded."
        self.is_closed = False

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
        if self.is_closed:
            return
        if self._pace is not None:
            self._pace.expect_cost(cost_per_token)
        self._proposer = proposer
        self._tell(_DRAFTING if self._pace is None or self._pace.can_pay else _TOO_DEAR)

    def give_up(self, reason: str) -> None:
        self._proposer = None
        self._tell(reason)

    def close(self) -> None:
        """Nobody needs it any more; who is still loading a proposer for it may stop, and nobody hears of it again."""
        self.is_closed = True
        self._proposer = None

    def _tell(self, state: str) -> None:
        self.state = state
        if not self.is_closed:
            self._on_changed(self)

    def propose(self, context: Context, longest: int) -> Draft:
        """At most `longest` tokens; none when that does not pay."""
        proposer = self._proposer  # may be given on another thread meanwhile
        if proposer is None or self._pace is None or longest < 1:
            return NO_DRAFT
        length = min(self._pace.length(), longest)
        if length < 1:
            return NO_DRAFT
        try:
            return proposer.propose(context, length)
        except (KeyboardInterrupt, SystemExit):
            raise
        except (
            BaseException
        ) as error:  # a reply is worth more than its drafts; panics of Rust libraries are no Exception
            _logger.exception("the %s failed", proposer.name)
            self.give_up(f"The {proposer.name} failed ({type(error).__name__}); replies are written without it.")
            return NO_DRAFT

    def observe(self, verdict: Verdict, draft_s: float, pass_s: float) -> None:
        """What came of a round: `draft_s` for its draft, `pass_s` for the target's pass."""
        if self._pace is not None:
            self._pace.note(verdict, draft_s, pass_s)

    def end_reply(self) -> None:
        if self._proposer is None or self._pace is None:
            return
        self._proposer.end_reply()
        state = _DRAFTING if self._pace.pays else _PAUSED if self._pace.can_pay else _TOO_DEAR
        if state != self.state:
            self._tell(state)
