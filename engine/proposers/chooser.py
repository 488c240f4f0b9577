"""The pace: who drafts in a round, and how far, by tokens gained per second; nobody is a choice.

All that a choice rests on is known before the round: what passes cost, what free proposers guess, how guesses of each
kind fared, how costly proposers did lately. So the distribution of what is written stays the target's, whoever drafts.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from engine.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.numerics.draft_length import MAX_LENGTH, PassCosts, best_gain
from engine.numerics.estimates import Baseline
from engine.proposers.candidate import Always, Candidate, GoingRate, call
from engine.proposers.costs import RoundCosts
from engine.proposers.interface import Context, Proposer, label_of

_MARGIN = 0.03  # tokens; costs are not known well enough to count a smaller gain
_CAUTION = 0.5  # more margin for each token that drafting has lost in this reply: some texts only look repetitive
_MEMORY = 0.97  # of the current speed, from round to round
_MOST_DRAFTED = 96  # rounds one after the other; then one without a draft shows how fast plain decoding is
_ROUNDS_UNTIL_COSTS_CHANGE = 64


@dataclass(frozen=True, slots=True)
class Activity:
    """What was done recently, as running means over some thirty rounds."""

    shares: dict[str, float]  # of the rounds, by the labels of those who drafted, like “recall and drafter”
    length: float  # tokens of a draft
    can_pay: bool  # whether a costly proposer would, if nearly every guess was accepted


class Chooser:
    """Decides before every round which of its proposers drafts, so that most tokens are written per second.

    Free proposers guess in every round, and their best guess is checked where it gains more than a margin. Costly ones
    (`Candidate`) are compared by what asking them is expected to gain, alone or after tokens of a free guess; at most
    one of them is asked. Proposers may join from another thread.
    """

    def __init__(
        self,
        passes: PassCosts,
        proposers: Iterable[Proposer] = (),
        step_s: float | None = None,
        always: Always | None = None,
    ) -> None:
        """`step_s`: seconds of a costly proposer's guess, as given; None: learn them."""
        self._passes = passes
        self._costs = RoundCosts(passes)
        self._step_s = step_s
        self._always = always
        self._joining = threading.Lock()
        self._free: tuple[Proposer, ...] = ()
        self._costly: tuple[Candidate, ...] = ()
        self._labels: dict[str, str] = {}  # by key of an origin
        self._debt = 0.0  # tokens that drafting has lost in this reply, less those it has gained
        self._tokens, self._seconds = 1.0, passes.of(1)  # of the recent rounds
        self._num_rounds = 0
        self._rounds, self._length = 1.0, 0.0
        self._shares: dict[str, float] = {}
        for proposer in proposers:
            self.join(proposer)

    def join(self, proposer: Proposer) -> None:
        """From now on it may be asked too, in place of one of the same origin. Raises what measuring its cost does."""
        candidate = None if proposer.is_free else Candidate(proposer, self._passes, self._step_s)
        key = proposer.origin.key
        with self._joining:
            self._labels[key] = label_of(proposer)
            self._remove(key)
            if candidate is None:
                self._free = (*self._free, proposer)
            else:
                self._costly = (*self._costly, candidate)

    def give_up(self, key: str) -> None:
        """The proposer of that origin is not asked any more."""
        with self._joining:
            self._remove(key)
        self._rounds, self._length, self._shares = 1.0, 0.0, {}  # who drafted lately is no news any more

    def _remove(self, key: str) -> None:
        """Tuples are exchanged whole, since a round may be reading them."""
        self._free = tuple(each for each in self._free if each.origin.key != key)
        self._costly = tuple(each for each in self._costly if each.proposer.origin.key != key)

    @property
    def baseline(self) -> Baseline:
        """How fast this machine writes without drafts."""
        return self._costs.baseline

    @property
    def has_costly(self) -> bool:
        return bool(self._costly)

    @property
    def can_pay(self) -> bool:
        """Whether a costly proposer's guesses would be worth their time if nearly all were accepted."""
        return any(candidate.costs.can_pay for candidate in self._costly)

    @property
    def activity(self) -> Activity:
        drafted = sum(self._shares.values())
        return Activity(
            {words: rounds / self._rounds for words, rounds in self._shares.items()},
            self._length / drafted if drafted else 0.0,
            self.can_pay,
        )

    def propose(self, context: Context, longest: int) -> Draft:
        """At most `longest` tokens; none when that does not pay. Raises ProposerFailed."""
        longest = min(longest, MAX_LENGTH)
        self._costs.enter(len(context.tokens))
        rate = self._rate()
        if self._always is not None:
            candidate = next(iter(self._costly), None)
            if candidate is None:
                return NO_DRAFT
            worth = candidate.worth(rate, always=self._always)
            return candidate.draft(context, min(longest, self._always.longest), worth)[0]
        worth = GoingRate(self._passes, rate)
        guesses = [call(proposer, proposer.propose, context, longest, worth) for proposer in self._free]
        if self._costs.rounds_since_plain >= _MOST_DRAFTED:
            return NO_DRAFT
        return self._choose(context, guesses, longest, rate)

    def observe(self, verdict: Verdict, check_s: float) -> None:
        """The outcome of a round, and how long the target's pass and the acceptance took. Raises ProposerFailed."""
        self._costs.learn_pass(len(verdict.draft.tokens) + 1, check_s)
        self._num_rounds += 1
        if self._num_rounds % _ROUNDS_UNTIL_COSTS_CHANGE == 0:
            for candidate in self._costly:
                candidate.costs.weigh()
        self._note(verdict)
        for proposer in self._all():
            call(proposer, proposer.observe, verdict)

    def measure_costs(self) -> None:
        """Of guesses, again, also of proposers that cannot pay; between replies. Raises ProposerFailed."""
        for candidate in self._costly if self._step_s is None else ():
            candidate.measure()

    def end_reply(self) -> None:
        """Raises ProposerFailed."""
        self._debt = 0.0
        for proposer in self._all():
            call(proposer, proposer.end_reply)

    def _all(self) -> tuple[Proposer, ...]:
        return (*self._free, *(candidate.proposer for candidate in self._costly))

    def _choose(self, context: Context, guesses: Sequence[Draft], longest: int, rate: float) -> Draft:
        best, free_gain = self._best_free(guesses, rate)
        asked, start, gain = None, NO_DRAFT, free_gain
        for candidate in self._costly:
            if not candidate.may_be_asked(context, rate):
                continue
            if not candidate.wants_a_try(rate):
                found = candidate.best_start(guesses, rate, longest, gain)
                if found is not None:
                    asked, (start, gain) = candidate, found
            elif candidate.may_be_tried(free_gain):  # from the beginning, to see how it does alone
                asked, start = candidate, NO_DRAFT
                break
        for candidate in self._costly:
            if candidate is not asked:
                candidate.form.pause(passed_over=asked is not None)
        if asked is None:
            return best
        return self._with_more(context, asked.ask(context, start, longest, rate), longest, rate)

    def _with_more(self, context: Context, draft: Draft, longest: int, rate: float) -> Draft:
        """The draft, and behind it what a free proposer makes of it, where that is worth its rows. Not behind a sampled
        one, whose tokens are not certain yet."""
        room = longest - len(draft.tokens)
        if draft.path is not None or not draft.tokens or room < 1:
            return draft
        context, reached = replace(context, ahead=draft.tokens), math.prod(draft.chances)
        best, most = NO_DRAFT, 0.0
        for proposer in self._free:
            guess = call(proposer, proposer.follow, context, room)
            chances = (reached * guess.chances[0], *guess.chances[1:]) if guess.chances else ()
            length, gain = best_gain(self._passes, chances, rate, 1 + len(draft.tokens))
            if gain > most:
                best, most = guess.first(length), gain
        return draft.followed_by(best) if best.tokens else draft

    def _best_free(self, guesses: Sequence[Draft], rate: float) -> tuple[Draft, float]:
        """The part of a free guess that gains most, and the tokens gained; no draft where that is not worth it."""
        best, length, gain = NO_DRAFT, 0, 0.0
        for guess in guesses:
            its_length, its_gain = best_gain(self._passes, guess.chances, rate)
            if its_gain > gain:
                best, length, gain = guess, its_length, its_gain
        switch = rate * self._costs.switch_s if self._costs.last_rows == 1 else 0.0
        margin = _MARGIN + _CAUTION * self._debt
        return (best.first(length), gain - switch) if gain > switch + margin else (NO_DRAFT, 0.0)

    def _rate(self) -> float:
        """Tokens per second now; what a second is worth."""
        return max(1 / self._passes.of(1), self._tokens / self._seconds)

    def _note(self, verdict: Verdict) -> None:
        draft = verdict.draft
        keys = {key for key, _ in draft.parts}
        step_s = (each.costs.step_s for each in self._costly if each.proposer.origin.key in keys)
        spent_s = next(step_s, 0.0) * draft.num_steps
        more_s = self._passes.of(len(draft.tokens) + 1) - self._passes.of(1) + spent_s
        self._debt = max(0.0, self._debt + more_s / self._passes.of(1) - (len(verdict.tokens) - 1))
        self._tokens = _MEMORY * self._tokens + len(verdict.tokens)
        self._seconds = _MEMORY * self._seconds + self._passes.of(len(draft.tokens) + 1) + spent_s
        self._rounds = _MEMORY * self._rounds + 1
        self._length = _MEMORY * self._length + len(draft.tokens)
        for words in self._shares:
            self._shares[words] *= _MEMORY
        if draft.tokens:
            words = " and ".join(self._labels.get(key, key) for key, length in draft.parts if length)
            self._shares[words] = self._shares.get(words, 0.0) + 1
