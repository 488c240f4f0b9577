"""The pace: who drafts in a round, and how far, by what is gained per second; nobody is a choice.

All that a choice rests on is known before the round: what passes cost, how guesses of each kind fared, what recall has
found, how the drafter did lately. So the distribution of what is written stays the target's, whoever drafts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ParamSpec, TypeVar

from engine.numerics.baseline import Baseline
from engine.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.numerics.draft_length import MAX_LENGTH, PassCosts, best_gain
from engine.proposers.form import Form
from engine.proposers.interface import Context, Proposer, SlowProposer
from engine.proposers.round_costs import RoundCosts

P = ParamSpec("P")
T = TypeVar("T")

_MARGIN = 0.03  # tokens; a gain below it is within what costs are known to
_CAUTION = 0.5  # more of it for each token that drafting has lost in this reply: some texts only look repetitive
_MEMORY = 0.97  # of the speed now, from round to round
_MOST_DRAFTED = 48  # rounds one after the other; then one without a draft says how fast plain decoding is
_MOST_FORGONE = 0.5  # tokens of recall's, for a try of the slow proposer
_FIRST_HOPE = 0.1  # tokens that asking it gains, when nothing is known of it
_HOPE = 0.02  # the same, when it did not pay lately: after a rest there is always something to read
_HORIZON = 128  # tokens that a reply is expected to have still


@dataclass(frozen=True, slots=True)
class Always:
    """For measuring: the slow proposer drafts in every round, so many tokens, whether it pays or not."""

    shortest: int = 1
    longest: int = MAX_LENGTH


@dataclass(frozen=True, slots=True)
class Activity:
    """What was done of late, as running means over some thirty rounds."""

    shares: dict[str, float]  # of the rounds, by who drafted
    length: float  # tokens of a draft
    can_pay: bool  # whether drafting would, if nearly every guess stood


class ProposerFailed(Exception):
    """A proposer raised something, whatever it was; the cause is chained."""

    def __init__(self, name: str) -> None:
        self.name = name


class Chooser:
    def __init__(
        self,
        costs: PassCosts,
        recall: Proposer | None = None,
        step_s: float | None = None,
        always: Always | None = None,
    ) -> None:
        """The slow proposer comes later, with `begin`. `step_s`: seconds of a guess of it; None = learn it."""
        self._costs = RoundCosts(costs, step_s)
        self._passes = costs
        self._recall = recall
        self._always = always
        self._slow: SlowProposer | None = None
        self._form = Form()
        self._debt = 0.0  # tokens that drafting has lost in this reply, less those it has gained
        self._tokens, self._seconds = 1.0, costs.of(1)  # of the rounds of late
        self._rounds, self._length = 1.0, 0.0
        self._by_proposer: dict[str, float] = {}

    def begin(self, slow: SlowProposer, step_s: float) -> None:
        """From now on it may be asked too; a guess takes it about `step_s`."""
        self._costs.expect_step(step_s)
        self._form = Form()
        self._slow = slow

    def give_up(self, name: str) -> None:
        """The proposer of that name is not asked any more."""
        if self._slow is not None and self._slow.name == name:
            self._slow = None
        if self._recall is not None and self._recall.name == name:
            self._recall = None

    @property
    def baseline(self) -> Baseline:
        """How fast this machine writes without drafts."""
        return self._costs.baseline

    @property
    def has_drafter(self) -> bool:
        return self._slow is not None

    @property
    def can_pay(self) -> bool:
        """Whether the slow proposer's guesses would be worth their time, if nearly all stood."""
        return self._costs.can_pay

    @property
    def activity(self) -> Activity:
        drafted = sum(self._by_proposer.values())
        return Activity(
            {name: rounds / self._rounds for name, rounds in self._by_proposer.items()},
            self._length / drafted if drafted else 0.0,
            self.can_pay,
        )

    def propose(self, context: Context, longest: int) -> Draft:
        """At most `longest` tokens; none when that does not pay. Raises ProposerFailed."""
        longest = min(longest, MAX_LENGTH)
        self._costs.enter(len(context.tokens))
        if self._always is not None:
            return self._draft_always(context, longest, self._always)
        guess, rate = NO_DRAFT, self._rate()
        if self._recall is not None:
            guess = _call(self._recall, self._recall.propose, context, longest, self._worth(NO_DRAFT, rate))
        if self._costs.rounds_since_plain >= _MOST_DRAFTED:
            return NO_DRAFT
        return self._choose(context, guess, longest, rate)

    def observe(self, verdict: Verdict, check_s: float) -> None:
        """What came of the round, and how long the target's pass and the acceptance took. Raises ProposerFailed."""
        self._costs.learn_pass(len(verdict.draft.tokens) + 1, check_s)
        self._remember(verdict)
        for proposer in (self._recall, self._slow):
            if proposer is not None:
                _call(proposer, proposer.observe, verdict)

    def end_reply(self) -> None:
        """Raises ProposerFailed."""
        self._debt = 0.0
        for proposer in (self._recall, self._slow):
            if proposer is not None:
                _call(proposer, proposer.end_reply)

    def _choose(self, context: Context, guess: Draft, longest: int, rate: float) -> Draft:
        switch = rate * self._costs.switch_s if self._costs.last_rows == 1 else 0.0
        length, gain = best_gain(self._passes, guess.chances, rate) if guess.tokens else (0, 0.0)
        margin = _MARGIN + _CAUTION * self._debt
        best = guess.first(length) if gain > switch + margin else NO_DRAFT
        gain = gain - switch if best.tokens else 0.0
        ahead = self._best_ahead(context, guess, rate, gain, longest)
        if ahead is None:
            self._form.pause()
            return best
        return self._ask(context, guess.first(ahead), longest, rate)

    def _best_ahead(self, context: Context, guess: Draft, rate: float, gain: float, longest: int) -> int | None:
        """How many of the guessed tokens the slow proposer should go on from; None when it is better not asked. `gain`:
        of the guessed tokens alone."""
        if self._slow is None or not self.can_pay or self._form.is_resting:
            return None
        asking = self._form.gain(rate)
        if not self._may_read(context, asking, rate):
            return None
        if not self._form.is_known or asking <= 0:  # a try, from the beginning: how it does is what is to be known
            return 0 if not self._form.is_known or gain < _MOST_FORGONE else None
        best, stands, gained = None, 1.0, 0.0
        for ahead in range(min(len(guess.tokens), longest - 1) + 1):
            if ahead:
                stands *= guess.chances[ahead - 1]
                gained += stands
            # What it takes is lost also where the tokens ahead fall, what it brings is not there then.
            lost = (1 - stands) * self._form.tokens
            total = gained - rate * (self._passes.of(1 + ahead) - self._passes.of(1)) + asking - lost
            if total > gain:
                best, gain = ahead, total
        return best

    def _may_read(self, context: Context, asking: float, rate: float) -> bool:
        """Whether what the slow proposer has to read first is worth it, over the rest of the reply."""
        assert self._slow is not None
        unread_s = self._costs.read_s * _call(self._slow, self._slow.num_unread, context)
        if unread_s <= self._costs.step_s:
            return True
        hoped = max(asking, _HOPE if self._form.num_askings else _FIRST_HOPE)
        return hoped * _HORIZON / (1 + self._form.tokens) > rate * unread_s

    def _ask(self, context: Context, before: Draft, longest: int, rate: float) -> Draft:
        assert self._slow is not None
        num_before = len(before.tokens)
        unread = _call(self._slow, self._slow.num_unread, context)
        ahead = replace(context, ahead=before.tokens)
        draft = _call(self._slow, self._slow.propose, ahead, longest - num_before, self._worth(before, rate))
        rows = 1 + num_before
        spent = self._costs.learn_step(draft, unread)
        seconds = spent + self._passes.of(rows + len(draft.tokens)) - self._passes.of(rows)
        if before.tokens:  # there was less room for it than it would have filled
            return draft.after(before)
        self._form.note(_expected(draft.chances), seconds, draft.chances, rate)
        return draft

    def _worth(self, before: Draft, rate: float, always: Always | None = None) -> _Worth:
        return _Worth(self._passes, rate, self._costs.step_s, self._form.next_chance, before.chances, always)

    def _draft_always(self, context: Context, longest: int, always: Always) -> Draft:
        if self._slow is None:
            return NO_DRAFT
        rate = self._rate()
        unread = _call(self._slow, self._slow.num_unread, context)
        longest = min(longest, always.longest)
        draft = _call(self._slow, self._slow.propose, context, longest, self._worth(NO_DRAFT, rate, always))
        self._costs.learn_step(draft, unread)
        return draft

    def _rate(self) -> float:
        """Tokens per second now; what a second is worth."""
        return max(1 / self._passes.of(1), self._tokens / self._seconds)

    def _remember(self, verdict: Verdict) -> None:
        draft = verdict.draft
        spent = self._costs.step_s * draft.num_steps
        more_s = self._passes.of(len(draft.tokens) + 1) - self._passes.of(1) + spent
        self._debt = max(0.0, self._debt + more_s / self._passes.of(1) - (len(verdict.tokens) - 1))
        self._tokens = _MEMORY * self._tokens + len(verdict.tokens)
        self._seconds = _MEMORY * self._seconds + self._passes.of(len(draft.tokens) + 1) + spent
        self._rounds = _MEMORY * self._rounds + 1
        self._length = _MEMORY * self._length + len(draft.tokens)
        for name in self._by_proposer:
            self._by_proposer[name] *= _MEMORY
        if draft.tokens:
            name = " and ".join(name for name, length in draft.parts if length)
            self._by_proposer[name] = self._by_proposer.get(name, 0.0) + 1


@dataclass(frozen=True, slots=True)
class _Worth:
    """Implements `engine.proposers.interface.Worth`: by tokens gained at the going rate."""

    costs: PassCosts
    rate: float  # tokens per second otherwise
    step_s: float
    next_chance: float  # of a token that nothing is known of yet
    before: tuple[float, ...]  # chances of the tokens that the draft goes on from
    always: Always | None

    def is_checked(self, chances: Sequence[float]) -> bool:
        if self.always is not None and len(chances) <= self.always.shortest:
            return True
        return self._best_gain(chances[:-1], chances[-1]) > 0

    def goes_on(self, chances: Sequence[float]) -> bool:
        if self.always is not None and len(chances) < self.always.shortest:
            return True
        return self._best_gain(chances, self.next_chance) > self.rate * self.step_s

    def _best_gain(self, chances: Sequence[float], chance: float) -> float:
        """Of checking a token that stands with that chance after these, and as many as pay of those that may follow."""
        rows = 1 + len(self.before) + len(chances)
        stands = math.prod(self.before) * math.prod(chances)
        following = [chance * stands] + [self.next_chance] * (MAX_LENGTH - rows)
        return best_gain(self.costs, following, self.rate, rows, self.step_s)[1]


def _call(proposer: Proposer, action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `action` of the proposer returns. Raises ProposerFailed."""
    try:
        return action(*args, **kwargs)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of Rust libraries are no Exception
        raise ProposerFailed(proposer.name) from error


def _expected(chances: Sequence[float]) -> float:
    """How many of the tokens are expected to stand."""
    stands, expected = 1.0, 0.0
    for chance in chances:
        stands *= chance
        expected += stands
    return expected
