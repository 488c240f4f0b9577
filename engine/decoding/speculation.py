"""Who drafts for one target: the one thing the rounds ask, and what it says about itself."""

from __future__ import annotations

import logging
from collections.abc import Callable

from engine.numerics.baseline import Baseline
from engine.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.proposers.chooser import Activity, Chooser, ProposerFailed
from engine.proposers.interface import Context, SlowProposer

_logger = logging.getLogger("slipstream.speculation")


_LOADING = "The drafter is being loaded."
_READY = "The drafter is ready: it guesses ahead while replies are written, and the ratio is measured."
_PAUSED = "Paused: this text is unpredictable."
_TOO_DEAR = "Paused: on this machine, checking guesses would cost this model more time than it saves."
CANNOT_ROLL_BACK = "Off: this model cannot take back what it has read, so nothing can be drafted for it."
_DRAFTING_SHARE = 0.1  # of the rounds: less is no drafting to speak of
_ROUNDS_BETWEEN_WORDS = 32


class Speculation:
    """Lives as long as its target is loaded, so that what was seen in one reply helps the next. The drafter may join
    later, from another thread, between rounds.

    `state` says in a sentence what it does, or why it does nothing; `on_changed` hears of each change, on whatever
    thread it happens.
    """

    def __init__(
        self, chooser: Chooser | None, on_changed: Callable[[Speculation], None] = lambda _speculation: None
    ) -> None:
        self._chooser = chooser
        self._on_changed = on_changed
        self._rounds_until_words = _ROUNDS_BETWEEN_WORDS
        self._trouble = ""  # with the drafter
        self.state = _LOADING
        self.is_drafting = False  # whether there is a drafter
        self.is_loading = True  # whether one is still expected
        self.is_closed = False

    @classmethod
    def off(cls, reason: str) -> Speculation:
        """One that never drafts, and says why."""
        speculation = cls(None)
        speculation.state = reason
        speculation.is_loading = False
        return speculation

    @property
    def baseline(self) -> Baseline | None:
        """How fast this machine writes without drafts."""
        return None if self._chooser is None else self._chooser.baseline

    def begin(self, drafter: SlowProposer, step_s: float) -> None:
        """From now on the drafter may be asked, at an expected cost in seconds for each guess."""
        if self.is_closed or self._chooser is None:
            return
        self._chooser.begin(drafter, step_s)
        self.is_drafting = True
        self.is_loading = False
        self._tell(_READY if self._chooser.can_pay else _TOO_DEAR)

    def give_up(self, reason: str) -> None:
        """There will be no drafter; recall goes on without it."""
        self.is_drafting = self.is_loading = False
        self._trouble = reason
        self._tell(reason)

    def close(self) -> None:
        """Nobody needs it any more; who is still loading a drafter for it may stop, and nobody hears of it again."""
        self.is_closed = True
        self._chooser = None

    def propose(self, context: Context, longest: int) -> Draft:
        """At most `longest` tokens; none when that does not pay."""
        chooser = self._chooser
        if chooser is None or longest < 1:
            return NO_DRAFT
        try:
            return chooser.propose(context, longest)
        except ProposerFailed as failure:
            self._go_on_without(chooser, failure)
            return NO_DRAFT

    def observe(self, verdict: Verdict, check_s: float) -> None:
        """What came of a round, and how long the target's pass and the acceptance took."""
        chooser = self._chooser
        if chooser is None:
            return
        try:
            chooser.observe(verdict, check_s)
        except ProposerFailed as failure:
            self._go_on_without(chooser, failure)
        self._rounds_until_words -= 1
        if self._rounds_until_words <= 0:
            self._describe(chooser.activity)

    def end_reply(self) -> None:
        chooser = self._chooser
        if chooser is None:
            return
        try:
            chooser.end_reply()
        except ProposerFailed as failure:
            self._go_on_without(chooser, failure)
        self._describe(chooser.activity)

    def _go_on_without(self, chooser: Chooser, failure: ProposerFailed) -> None:
        """A reply is worth more than its drafts."""
        _logger.error("the %s failed", failure.name, exc_info=failure)
        chooser.give_up(failure.name)
        words = f"The {failure.name} failed ({type(failure.__cause__).__name__}); replies are written without it."
        if chooser.has_drafter:
            self._tell(words)
        else:
            self.give_up(words)

    def _describe(self, activity: Activity) -> None:
        self._rounds_until_words = _ROUNDS_BETWEEN_WORDS
        name = max(activity.shares, key=activity.shares.__getitem__, default="")
        if sum(activity.shares.values()) >= _DRAFTING_SHARE:
            guess = "guess" if " and " in name else "guesses"
            state = f"{name.capitalize()} {guess} {max(1, round(activity.length))} ahead."
        elif self._trouble:
            state = self._trouble
        elif not self.is_drafting:
            return
        else:
            state = _PAUSED if activity.can_pay else _TOO_DEAR
        if state != self.state:
            self._tell(state)

    def _tell(self, state: str) -> None:
        self.state = state
        if not self.is_closed:
            self._on_changed(self)
