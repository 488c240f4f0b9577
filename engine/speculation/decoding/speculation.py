"""Drafting for one target: all that the rounds ask for, and what it reports of itself."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from engine.speculation.decoding.figures import DecodingFigures
from engine.speculation.decoding.reply_costs import ReplyCosts
from engine.speculation.model.interface import TargetFeature
from engine.speculation.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.speculation.numerics.draft_length import PassCosts
from engine.speculation.proposers.catalogue import Listed
from engine.speculation.proposers.costly import ProposerFailed
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.interface import Context, Proposer, Supplies, label_of
from engine.values.draft_policy import LearnedPolicy
from engine.values.errors import MendableError
from engine.values.memory import return_free_memory
from engine.values.origins import Origin
from engine.values.sentences import say, template, together
from engine.values.spare_time import SpareTime
from engine.values.speed import FEW, Guessing, Hindrance, hindrance_of

_logger = logging.getLogger("slipstream.speculation")

_CANNOT_ROLL_BACK = say("No speed-up: this model cannot roll back what it has read.")
_LOADING = template("{Drafter} is being loaded.")
_READY = template("{Drafter} is ready.")
_FAILED = template("{Drafter} failed ({kind}); replies are written without it.")
_NOT_LOADED = template("{Drafter} could not be loaded ({kind}); replies are written without it.")
_UNMET = template("{Drafter} is off: this model offers no {missing}.")
_TOO_EXPENSIVE = say(
    "Nothing is guessed: on this computer, checking guesses costs this model as much time as they save."
)
_IDLE = {
    Hindrance.COSTS: _TOO_EXPENSIVE,
    Hindrance.NOTHING: say("Nothing is guessed: nothing in this text has come up before."),
    Hindrance.WRONG: say("Nothing is guessed: too few guesses in this text are right."),
}
_GUESSING = template("Guessing {length} ahead: {drafter}.")
_DRAFTING_SHARE = 0.1  # of the rounds: less is no drafting to speak of
_ROUNDS_BETWEEN_SENTENCES = 32
_REPLIES_BETWEEN_TIMINGS = 8


class Speculation:
    """Asks a policy for drafts, goes on without proposers that fail, and says in a sentence what happens.

    It lives as long as its target is loaded, so that one reply helps the next. Proposers that take long to load join
    later, from another thread, between rounds. `state` is the sentence; `on_changed` is called after each change, on
    whatever thread it happens. `spare` is taken while a reply is written.
    """

    def __init__(
        self,
        policy: DraftPolicy | None,
        on_changed: Callable[[Speculation], None] = lambda _speculation: None,
        trouble: str = "",
        on_reply_ended: Callable[[Speculation], None] = lambda _speculation: None,
        spare: SpareTime | None = None,
    ) -> None:
        """`trouble`: why some proposers will never join; `on_reply_ended` may drop some, and load others."""
        self.spare = spare or SpareTime()
        self._policy = policy
        self._costs = None if policy is None else ReplyCosts(policy.passes)
        self._on_changed = on_changed
        self._on_reply_ended = on_reply_ended
        self._rounds_until_sentence = _ROUNDS_BETWEEN_SENTENCES
        self._replies_until_timing = 1
        self._num_rounds = self._num_passed_up = 0  # of this reply; the latter passed up a likely guess
        self._loading: list[str] = []  # keys of the origins of those that are expected to join
        self._troubles = {"": trouble}  # why those of that origin do not draft, by its key
        self._telling = threading.RLock()
        self._learns = False
        self.state = trouble
        self.is_closed = False
        self._hindrance = Hindrance.OFF  # while there is no policy
        self.has_failed = False  # whether an expected proposer will never join

    @classmethod
    def off(cls, reason: str, hindrance: Hindrance = Hindrance.OFF) -> Speculation:
        """A speculation that never drafts, and says why."""
        made = cls(None, trouble=reason)
        made._hindrance = hindrance
        return made

    @classmethod
    def cannot_roll_back(cls) -> Speculation:
        return cls.off(_CANNOT_ROLL_BACK, Hindrance.IMPOSSIBLE)

    @property
    def is_drafting(self) -> bool:
        """True if a proposer works for its guesses, such as a drafter."""
        return self._policy is not None and self._policy.has_costly

    @property
    def is_loading(self) -> bool:
        return bool(self._loading)

    @property
    def needs_states(self) -> bool:
        return self._policy is not None and self._policy.needs_states

    @property
    def can_draft(self) -> bool:
        """True if a proposer may draft, now or later."""
        return self._policy is not None

    @property
    def asks_what_is_wanted(self) -> bool:
        """True if a proposer reads `Verdict.wanted`."""
        return self._policy is not None and self._policy.asks_what_is_wanted

    @property
    def passes(self) -> PassCosts | None:
        return None if self._policy is None else self._policy.passes

    def ratio(self, figures: DecodingFigures) -> float:
        """The speed of this reply relative to plain decoding, by counts; 0: not known."""
        return 0.0 if self._costs is None else self._costs.ratio(figures)

    @property
    def plain(self) -> tuple[float, float]:
        """The speed of plain decoding on this machine during this reply, in tokens per second, and the standard error
        as a share of that; zeros while nothing is known."""
        return (0.0, 0.0) if self._costs is None else self._costs.plain

    def hindrance(self, figures: DecodingFigures) -> Hindrance:
        if self._policy is None:
            return self._hindrance
        return hindrance_of(
            Guessing(
                num_rounds=figures.num_rounds,
                num_plain=figures.passes[1],
                num_drafted=figures.num_drafted,
                num_accepted=figures.num_accepted,
                ratio=self.ratio(figures),
                idle=self._idle(self._policy),
            )
        )

    def _idle(self, policy: DraftPolicy) -> Hindrance:
        """Why nothing is guessed. Checking costs too much not only where no guess could pay, but also where likely ones
        were passed up in this reply."""
        if self.is_loading:
            return Hindrance.LOADING
        if not policy.can_pay or self._num_passed_up > FEW * self._num_rounds:
            return Hindrance.COSTS
        return Hindrance.WRONG if policy.has_costly else Hindrance.NOTHING

    @property
    def learned_policy(self) -> LearnedPolicy | None:
        """What the draft policy has learned of costs and chances; None after a reply that nothing may be learned
        from."""
        return self._policy.known if self._policy is not None and self._learns else None

    def join(self, proposer: Proposer, expected: Origin | None = None) -> None:
        """Adds a proposer. `expected`: the origin of the one that was to join, if this one replaces it. Raises what
        measuring its cost does."""
        policy, origin = self._policy, expected or proposer.origin
        if policy is None:
            return
        policy.join(proposer)
        self._replies_until_timing = 1
        self._troubles.pop(origin.key, None)
        if origin.key in self._loading:
            self._loading.remove(origin.key)
            self._report(say(_READY, drafter=label_of(proposer)) if policy.can_pay else _TOO_EXPENSIVE)

    def load(self, classes: Sequence[type[Proposer]], supplies: Supplies) -> None:
        """Loads proposers that take long to build: they join later, from a thread of their own."""
        self.expect(classes, supplies)
        # No daemon: a process that ends while torch is being loaded would abort. It waits for a step of the loading.
        arguments = self, classes, supplies
        threading.Thread(target=_join, args=arguments, name="slipstream-drafter", daemon=False).start()

    def expect(self, classes: Sequence[type[Proposer]], supplies: Supplies) -> None:
        """Announces proposers that will join."""
        self.has_failed = False
        self._loading += [each.origin.key for each in classes]
        self._report(say(_LOADING, drafter=classes[0].label_of(supplies)))

    def give_up(self, origin: Origin, reason: str) -> None:
        """Reports a proposer that will never join; others go on without it."""
        self._loading = [key for key in self._loading if key != origin.key]
        self.has_failed = True
        self.explain(origin, reason)

    def drop(self, origin: Origin) -> None:
        """Stops asking this proposer, though nothing is wrong with it."""
        self._troubles.pop(origin.key, None)
        if self._policy is not None:
            self._policy.give_up(origin.key)

    def explain(self, origin: Origin, trouble: str) -> None:
        """Sets why proposers of that origin do not draft."""
        self._troubles[origin.key] = trouble
        self._report(self._trouble)

    def close(self) -> None:
        """Ends it, when nothing needs it any more: proposers still being loaded may stop, and it reports nothing."""
        self.is_closed = True
        self._policy = None
        self.spare.end()

    def stop_drafting(self) -> None:
        """Stops guessing for this target, which could not take back a draft though it had seemed able to."""
        self._loading.clear()
        self._policy, self._hindrance = None, Hindrance.IMPOSSIBLE
        self._report(_CANNOT_ROLL_BACK)
        self.close()

    def propose(self, context: Context, longest: int) -> Draft:
        """A draft of at most `longest` tokens; empty when drafting does not pay."""
        policy, self._learns = self._policy, context.learns
        if policy is not None and longest >= 1:
            try:
                return policy.propose(context, longest)
            except ProposerFailed as failure:
                self._go_on_without(policy, failure)
        return NO_DRAFT

    def observe(self, verdict: Verdict, round_s: float, pass_s: float) -> None:
        """Takes in the outcome of a round, its seconds from the end of the one before, and those of them that the
        target took."""
        policy = self._policy
        if policy is None:
            return
        try:
            policy.observe(verdict, round_s, pass_s)
        except ProposerFailed as failure:
            self._go_on_without(policy, failure)
        assert self._costs is not None
        if policy.looks:
            self._costs.note(len(verdict.draft.tokens) + 1, pass_s)
        self._num_rounds += 1
        self._num_passed_up += policy.has_passed_up
        self._rounds_until_sentence -= 1
        if self._rounds_until_sentence <= 0:
            self._describe(policy)

    def end_reply(self) -> None:
        policy = self._policy
        if policy is not None:
            try:
                policy.end_reply()
                self._measure_again(policy)
                self._describe(policy)
            except ProposerFailed as failure:
                self._go_on_without(policy, failure)
            self._num_rounds = self._num_passed_up = 0
            if self._costs is not None:
                self._costs.end_reply()
            self._on_reply_ended(self)

    def tell(self, listener: Callable[[Speculation], None]) -> None:
        """Calls the listener with the present state: changes meanwhile are reported after it."""
        with self._telling:
            listener(self)

    def _measure_again(self, policy: DraftPolicy) -> None:
        """Times guesses after the first reply with a proposer, and then now and then: between two replies no one waits,
        and the learner rests."""
        self._replies_until_timing -= 1
        if self._replies_until_timing <= 0:
            self._replies_until_timing = _REPLIES_BETWEEN_TIMINGS
            policy.measure_costs()

    @property
    def _trouble(self) -> str:
        return together(*self._troubles.values())

    def _go_on_without(self, policy: DraftPolicy, failure: ProposerFailed) -> None:
        """Gives up a proposer that failed: a reply is worth more than its drafts."""
        _logger.error("%s failed", failure.label, exc_info=failure)
        policy.give_up(failure.origin.key)
        sentence = say(_FAILED, drafter=failure.label, kind=type(failure.__cause__).__name__)
        if policy.has_costly:
            self._report(sentence)
        else:
            self.give_up(failure.origin, sentence)

    def _describe(self, policy: DraftPolicy) -> None:
        activity = policy.activity
        self._rounds_until_sentence = _ROUNDS_BETWEEN_SENTENCES
        state: str
        drafter = max(activity.shares, key=activity.shares.__getitem__, default="")
        if sum(activity.shares.values()) >= _DRAFTING_SHARE:
            state = say(_GUESSING, length=max(1, round(activity.length)), drafter=drafter)
        elif self._trouble:
            state = self._trouble
        elif self.is_loading:
            return
        else:
            state = _IDLE[self._idle(policy)]
        if state != self.state:
            self._report(state)

    def _report(self, state: str) -> None:
        with self._telling:
            self.state = state
            if not self.is_closed:
                self._on_changed(self)


def open_speculation(
    policy: DraftPolicy,
    supplies: Supplies,
    proposers: Sequence[Listed],
    on_changed: Callable[[Speculation], None] = lambda _speculation: None,
    at_once: bool = False,
    on_reply_ended: Callable[[Speculation], None] = lambda _speculation: None,
    spare: SpareTime | None = None,
) -> Speculation:
    """Drafts with those of these proposers whose needs the target meets. Those that take long to load join later, from
    a thread of their own; with `at_once` they are loaded right here, and whatever a proposer raises is raised."""
    features = supplies.target.features
    if TargetFeature.ROLLBACK not in features:
        return Speculation.cannot_roll_back()
    classes = [listed.proposer_class() for listed in proposers]
    trouble = together(
        *(
            say(_UNMET, drafter=each.label_of(supplies), missing=", ".join(sorted(each.needs - features)))
            for each in classes
            if not each.needs <= features
        )
    )
    able = [each for each in classes if each.needs <= features]
    if not able:
        return Speculation.off(trouble, Hindrance.IMPOSSIBLE)
    loading = [each for each in able if each.loads]
    speculation = Speculation(policy, on_changed, trouble, on_reply_ended, spare)
    _join(speculation, [each for each in able if not each.loads], supplies, at_once)
    if at_once:
        _join(speculation, loading, supplies, at_once)
    elif loading:
        speculation.load(loading, supplies)
    return speculation


def _join(
    speculation: Speculation, classes: Sequence[type[Proposer]], supplies: Supplies, must_succeed: bool = False
) -> None:
    for proposer_class in classes:
        try:
            proposer = proposer_class.build(supplies, lambda: speculation.is_closed)
            speculation.join(proposer, proposer_class.origin)
        except BaseException as error:  # panics of Rust libraries are no Exception
            if must_succeed or isinstance(error, KeyboardInterrupt):
                raise
            reason, label = str(error), proposer_class.label_of(supplies)
            if not isinstance(error, MendableError):
                _logger.exception("%s could not be loaded", label)
                reason = say(_NOT_LOADED, drafter=label, kind=type(error).__name__)
            speculation.give_up(proposer_class.origin, reason)
    return_free_memory()  # reading a drafter takes several times what it leaves
