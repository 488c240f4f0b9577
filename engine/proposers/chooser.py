"""The pace: who drafts in a round, and how far, by tokens gained per second; nobody is a choice.

All that a choice rests on is known before the round: what passes cost, what free proposers guess, how guesses of each
kind fared, how costly proposers did lately. So the distribution of what is written stays the target's, whoever drafts.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from engine.messages.owner import USER, Owner
from engine.messages.pace import KnownCosts, KnownPace
from engine.messages.speed import FASTER
from engine.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.numerics.draft_length import MAX_LENGTH, USUAL_LENGTH, PassCosts, best_gain, likeliest_first
from engine.numerics.estimates import Baseline
from engine.numerics.habits import Expected
from engine.proposers.candidate import Always, Candidate, GoingRate, call
from engine.proposers.costs import RoundCosts
from engine.proposers.interface import Context, Proposer, label_of
from engine.proposers.purse import Purse
from engine.proposers.recent import Activity, RecentRounds
from engine.target.interface import TargetFeature

_MARGIN = 0.03  # tokens; costs are not known well enough to count a smaller gain
_MOST_BESIDE = 0.4  # chance that a token is the one beside the likeliest: rows that cost more are no branches
_NEGLIGIBLE = 0.005  # chance that a guess is accepted as far as that: no cost is less
_ROUNDS_UNTIL_COSTS_CHANGE = 64
_LIKELY = 0.6  # chance of a guess which is not checked for no other reason than that checking takes too long


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
        known: KnownPace | None = None,
        draws_trees: bool = True,
    ) -> None:
        """`step_s`: seconds of a costly proposer's guess, as given; None: learn them. `known`: what was known of the
        proposers earlier. `draws_trees`: whether drafts may branch, where the target can check that."""
        self._passes = passes
        self._costs = RoundCosts(passes)
        self._step_s = step_s
        self._always = always
        self._draws_trees = draws_trees
        self._known = known or KnownPace(KnownCosts({}))
        self._joining = threading.Lock()
        self._free: tuple[Proposer, ...] = ()
        self._costly: tuple[Candidate, ...] = ()
        self._labels: dict[str, str] = {}  # by key of an origin
        self._purse = Purse()
        self._recent = RecentRounds(passes.of(1))
        self._owner = USER  # of the last reply
        self._surest: Draft | None = None  # of the free guesses of this round
        self.has_passed_up = False  # in this round a likely guess, as checking it takes too long
        self._num_rounds = 0
        for proposer in proposers:
            self.join(proposer)

    def join(self, proposer: Proposer) -> None:
        """From now on it may be asked too, in place of one of the same origin. Raises what measuring its cost does."""
        candidate = None if proposer.is_free else Candidate(proposer, self._passes, self._step_s)
        key, label = proposer.origin.key, label_of(proposer)
        if proposer.calibration is not None and label in self._known.chances:
            proposer.calibration.know(self._known.chances[label])
        if candidate is not None and label in self._known.standings:
            candidate.standing.know(self._known.standings[label])
        with self._joining:
            self._labels[key] = label
            self._remove(key)
            if candidate is None:
                self._free = (*self._free, proposer)
            else:
                self._costly = (*self._costly, candidate)

    def give_up(self, key: str) -> None:
        """The proposer of that origin is not asked any more."""
        with self._joining:
            self._remove(key)
        self._recent.forget_activity()

    def _remove(self, key: str) -> None:
        """Tuples are exchanged whole, since a round may be reading them."""
        self._free = tuple(each for each in self._free if each.origin.key != key)
        self._costly = tuple(each for each in self._costly if each.proposer.origin.key != key)

    @property
    def baseline(self) -> Baseline:
        """How fast this machine writes without drafts."""
        return self._costs.baseline

    @property
    def passes(self) -> PassCosts:
        """What passes of the target cost."""
        return self._passes

    @property
    def known(self) -> KnownPace:
        """All that is worth keeping, also of proposers that are not there now."""
        chances = {label_of(each): each.calibration.known for each in self._all() if each.calibration is not None}
        standings = {label_of(each.proposer): each.standing.known for each in self._costly}
        return KnownPace(self._passes.known, {**self._known.chances, **chances}, {**self._known.standings, **standings})

    @property
    def has_costly(self) -> bool:
        return bool(self._costly)

    @property
    def asks_what_is_wanted(self) -> bool:
        """Whether anybody looks at `Verdict.wanted`."""
        return any(each.asks_what_is_wanted for each in self._free)

    @property
    def needs_states(self) -> bool:
        """Whether one of them guesses by the target's states."""
        return any(TargetFeature.STATES in candidate.proposer.needs for candidate in self._costly)

    @property
    def can_pay(self) -> bool:
        """Whether guesses would be worth their time if nearly all were accepted: those of costly proposers, if there
        are any."""
        if self._costly:
            return any(candidate.costs.can_pay for candidate in self._costly)
        return self._passes.best_ratio > FASTER

    @property
    def activity(self) -> Activity:
        return self._recent.activity

    def propose(self, context: Context, longest: int) -> Draft:
        """At most `longest` tokens; none when that does not pay. Raises ProposerFailed."""
        if context.owner != self._owner:
            self._change_owner(context.owner)
        self._costs.enter(len(context.tokens))
        rate = self._rate()
        if context.max_branches > 1 and not self._may_branch(rate):
            context = replace(context, max_branches=1)
        if self._always is not None:
            candidate = next(iter(self._costly), None)
            if candidate is None:
                return NO_DRAFT
            worth = candidate.worth(rate, always=self._always)
            longest = min(longest, self._always.longest)
            draft, _ = candidate.draft(context, longest, worth)
            return candidate.paying(draft, longest, rate, self._always.shortest)
        worth, reach = GoingRate(self._passes, rate), min(longest, MAX_LENGTH)
        guesses = [call(proposer, proposer.propose, context, reach, worth) for proposer in self._free]
        self._surest = max((guess for guess in guesses if guess.tokens), key=lambda each: each.chances[0], default=None)
        self.has_passed_up = False
        if self._costs.wants_plain:
            return NO_DRAFT
        context = replace(context, expect=self._expect)
        best, gain = self._best_free(guesses, reach, rate)
        draft = self._choose(context, guesses, best, gain, min(longest, USUAL_LENGTH), rate)
        self.has_passed_up = not draft.tokens and self._surest is not None and self._surest.chances[0] >= _LIKELY
        return self._widened(draft, longest, context.max_branches, rate) if context.max_branches > 1 else draft

    def observe(self, verdict: Verdict, round_s: float) -> None:
        """The outcome of a round, and how long it took from the end of the one before. Raises ProposerFailed."""
        change_s = self._costs.learn(len(verdict.draft.tokens) + 1, round_s - verdict.draft.drafter_s)
        self._num_rounds += 1
        if self._num_rounds % _ROUNDS_UNTIL_COSTS_CHANGE == 0:
            for candidate in self._costly:
                candidate.costs.weigh()
        self._note(verdict, change_s)
        for proposer in self._all():
            call(proposer, proposer.observe, verdict)

    def measure_costs(self) -> None:
        """Of guesses, again, also of proposers that cannot pay; between replies. Raises ProposerFailed."""
        for candidate in self._costly if self._step_s is None else ():
            candidate.measure()

    def end_reply(self) -> None:
        """Raises ProposerFailed."""
        self._purse.begin_reply()
        for proposer in self._all():
            call(proposer, proposer.end_reply)

    def _change_owner(self, owner: Owner) -> None:
        self._owner, self._recent = owner, RecentRounds(self._passes.of(1))
        for proposer in self._all():
            call(proposer, proposer.change_owner)
            if proposer.calibration is not None:
                proposer.calibration.level()

    def _all(self) -> tuple[Proposer, ...]:
        return (*self._free, *(candidate.proposer for candidate in self._costly))

    def _choose(
        self, context: Context, guesses: Sequence[Draft], best: Draft, free_gain: float, longest: int, rate: float
    ) -> Draft:
        """`best`: of the free guesses, gaining so many tokens."""
        asked, start, gain = None, NO_DRAFT, free_gain
        for candidate in self._costly:
            if not candidate.may_be_asked(context, rate):
                continue
            if not candidate.wants_a_try(rate):
                found = candidate.best_start(
                    guesses, rate, longest, gain + self._price(candidate.standing.seconds, rate)
                )
                if found is not None:
                    asked, (start, gain) = candidate, found
            elif candidate.may_be_tried(free_gain):  # from the beginning, to see how it does alone
                asked, start = candidate, NO_DRAFT
                break
        for candidate in self._costly:
            if candidate is not asked:
                candidate.standing.pause(passed_over=asked is not None)
        if asked is None:
            return best
        return self._with_more(context, asked.ask(context, start, longest, rate), longest, rate)

    def _widened(self, draft: Draft, longest: int, max_branches: int, rate: float) -> Draft:
        """The draft, with what free proposers want to know beside it; that of a costly one stays as it is."""
        if any(each.proposer.origin.key in draft.proposers for each in self._costly):
            return draft
        passes, num_rows = self._passes, 1 + len(draft.tokens)
        change_s = 0.0 if draft.tokens else self._costs.change_to_draft_s

        def cost(num_more: int) -> float:
            more_s = passes.of(num_rows + num_more) - passes.of(num_rows) + change_s
            return rate * more_s + self._purse.caution(more_s / passes.of(1))

        for proposer in self._free:
            room, branches = longest - len(draft.tokens), max_branches - draft.num_leaves
            draft = call(proposer, proposer.widened, draft, room, branches, cost)
        return draft

    def _expect(self, ahead: Sequence[int]) -> Expected | None:
        """What the first free proposer expects that expects anything. Raises ProposerFailed."""
        found = (call(proposer, proposer.expect, ahead) for proposer in self._free)
        return next((each for each in found if each is not None), None)

    def _with_more(self, context: Context, draft: Draft, longest: int, rate: float) -> Draft:
        """The draft, and behind it what a free proposer makes of it, where that is worth its rows. Not behind a sampled
        one, whose tokens are not certain yet."""
        room, num_trunk = longest - len(draft.tokens), draft.num_trunk
        if draft.path is not None or not draft.tokens or room < 1:
            return draft
        context, reached = replace(context, ahead=draft.tokens[:num_trunk]), math.prod(draft.chances[:num_trunk])
        best, most = NO_DRAFT, 0.0
        for proposer in self._free:
            guess = call(proposer, proposer.follow, context, room)
            chances = (reached * guess.chances[0], *guess.chances[1:]) if guess.chances else ()
            length, gain = best_gain(self._passes, chances, rate, 1 + len(draft.tokens))
            if gain > most:
                best, most = guess.first(length), gain
        return draft.followed_by(best) if best.tokens else draft

    def _may_branch(self, rate: float) -> bool:
        """Whether a row for another branch can pay at all."""
        passes_s = (self._passes.of(rows) for rows in range(2, USUAL_LENGTH + 2))
        return self._draws_trees and any(rate * (more - less) < _MOST_BESIDE for less, more in pairwise(passes_s))

    def _best_free(self, guesses: Sequence[Draft], longest: int, rate: float) -> tuple[Draft, float]:
        """The part of a free guess that gains most, at most `longest` tokens, and the tokens gained; no draft where
        that is not worth it."""
        passes, caution = self._passes, self._purse.caution
        single_s, change_s, last_rows = passes.of(1), self._costs.change_to_draft_s, self._costs.last_rows
        best, gain = NO_DRAFT, 0.0
        places: Sequence[int] = ()
        for guess in guesses:
            reached, gained = guess.reached, 0.0
            # With its branches it may be longer than was asked for.
            order = likeliest_first(reached)[:longest] if guess.parents else range(len(reached))
            for num_rows, place in enumerate(order, 2):
                if reached[place] < _NEGLIGIBLE:
                    break
                gained += reached[place]
                more_s = passes.hoped(num_rows) - single_s + (change_s if num_rows != last_rows else 0.0)
                its_gain = gained - rate * more_s - _MARGIN
                if its_gain > gain:
                    taken = order[: num_rows - 1]
                    its_gain -= caution(more_s / single_s, [reached[each] for each in taken])
                    if its_gain > gain:
                        best, places, gain = guess, taken, its_gain
        return (best.only(sorted(places)), gain) if places else (NO_DRAFT, 0.0)

    def _price(self, seconds: float, rate: float) -> float:
        """Tokens that a costly draft must gain beyond its own costs, `seconds` more than a plain round: for the change
        of rows, there and back again, for what is not known so well, and for what it stakes."""
        change_s = self._costs.change_to_draft_s
        return _MARGIN + rate * change_s + self._purse.caution((seconds + change_s) / self._passes.of(1))

    def _rate(self) -> float:
        """Tokens per second now; what a second is worth."""
        return max(1 / self._passes.of(1), self._recent.rate)

    def _note_passed_up(self, guess: Draft, written: int) -> None:
        """What was written shows what its first token would have been worth, if it was worth a row at all."""
        single_s = self._passes.of(1)
        cost = (self._passes.of(2) - single_s + self._costs.change_to_draft_s) / single_s
        if guess.chances[0] > cost + _MARGIN:
            self._purse.note_passed_up((guess.tokens[0] == written) - cost)

    def _note(self, verdict: Verdict, change_s: float) -> None:
        draft, single_s = verdict.draft, self._passes.of(1)
        asked = (each for each in self._costly if each.proposer.origin.key in draft.proposers)
        step_s = next((each.costs.step_s for each in asked), 0.0)
        seconds = self._passes.of(len(draft.tokens) + 1) + step_s * draft.num_steps
        self._purse.note(len(verdict.tokens), (seconds - single_s + change_s) / single_s)
        if self._surest is not None and not draft.tokens:
            self._note_passed_up(self._surest, verdict.tokens[0])
        words = " and ".join(self._labels.get(key, key) for key, length in draft.parts if length)
        self._recent.note(1 + sum(draft.reached), seconds, words, draft.num_trunk)
