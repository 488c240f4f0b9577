"""The draft policy: who drafts in a round, and how far.

A draft is worth the tokens it is expected to gain: those accepted, a₁ + a₁a₂ + … + a₁…aₖ where aᵢ is the chance that
token i is accepted if those before it are, minus what its extra seconds would have brought otherwise, at the going rate
of tokens per second. Each round checks the draft that gains most, or none. Its seconds are those of a pass over k + 1
rows instead of one (`PassCosts`), of a change in the number of rows (`RoundCosts`), of the guesses, and of our own work
on a draft (`OwnWork`). Free proposers guess before the round is decided, so their chances are at hand. A costly
proposer is judged by what asking it gained lately (`CostlyProposer`); at most one is asked. The gain must exceed a
margin and, once a reply has lost more than its `LossBudget`, the premium on further risk. All of this is known before
the round and nothing depends on what is drawn, so the distribution of the reply stays the target's, whoever drafts.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.speculation.model.interface import TargetFeature
from engine.speculation.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.speculation.numerics.draft_length import MAX_LENGTH, USUAL_LENGTH, PassCosts, best_gain, likeliest_first
from engine.speculation.numerics.estimates import NUM_LEVELS, level_of
from engine.speculation.numerics.habits import Expected
from engine.speculation.proposers.costly import Always, CostlyProposer, GoingRate, best_part, call
from engine.speculation.proposers.costs import RoundCosts
from engine.speculation.proposers.interface import Context, Proposer, label_of
from engine.speculation.proposers.recent_rounds import Activity, Lookout, LossBudget, RecentRounds
from engine.values.draft_policy import KnownCosts, LearnedPolicy
from engine.values.owner import USER, Owner
from engine.values.speed import FASTER

_MARGIN = 0.03  # tokens; costs are not known well enough to count a smaller gain
_MOST_ALTERNATIVE = 0.4  # chance of a token other than the likeliest: rows that cost more are no branches
_NEGLIGIBLE = 0.005  # chance that a guess is accepted as far as that: no cost is less
_ROUNDS_UNTIL_COSTS_CHANGE = 64
_LIKELY = 0.6  # chance of a guess that would be checked if checking took less time


class DraftPolicy:
    """Decides before every round which of its proposers drafts and how far. Proposers may join from another thread."""

    def __init__(
        self,
        passes: PassCosts,
        proposers: Iterable[Proposer] = (),
        step_s: float | None = None,
        always: Always | None = None,
        known: LearnedPolicy | None = None,
        draws_trees: bool = True,
    ) -> None:
        """`step_s`: seconds of a costly proposer's guess, as given; None: learn them. `known`: what was known of the
        proposers earlier. `draws_trees`: whether drafts may branch, where the target can check that."""
        self.passes = passes
        self._costs = RoundCosts(passes)
        self._step_s = step_s
        self._always = always
        self._draws_trees = draws_trees
        self._known = known or LearnedPolicy(KnownCosts({}))
        self._joining = threading.Lock()
        self._free: tuple[Proposer, ...] = ()
        self._costly: tuple[CostlyProposer, ...] = ()
        self._labels: dict[str, str] = {}  # by key of an origin
        self._budget = LossBudget()
        self._lookout = Lookout()
        self.looks = True  # whether proposers were asked in this round
        self._recent = RecentRounds(passes.plain_s)
        self._owner = USER  # of the last reply
        self._level = 0  # of its temperature
        self._surest: Draft | None = None  # of the free guesses of this round
        self.has_passed_up = False  # in this round a likely guess, as checking it takes too long
        self._num_rounds = 0
        for proposer in proposers:
            self.join(proposer)

    def join(self, proposer: Proposer) -> None:
        """Adds a proposer, or replaces the one of the same origin. Raises what measuring its cost raises."""
        candidate = None if proposer.is_free else CostlyProposer(proposer, self.passes, self._step_s)
        key, label = proposer.origin.key, label_of(proposer)
        if proposer.calibration is not None:
            for level in range(NUM_LEVELS):
                if (known := self._known.chances.get(_record_of(label, level))) is not None:
                    proposer.calibration.know(known, level)
            proposer.calibration.enter(self._level)
        if proposer.head is not None and label in self._known.heads:
            proposer.head.know(self._known.heads[label])
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
        with self._joining:
            self._remove(key)
        self._recent.forget_activity()

    def _remove(self, key: str) -> None:
        """Replaces the tuples as a whole, since a round may be reading them."""
        self._free = tuple(each for each in self._free if each.origin.key != key)
        self._costly = tuple(each for each in self._costly if each.proposer.origin.key != key)

    @property
    def known(self) -> LearnedPolicy:
        """Everything worth keeping, including what was known of proposers that are absent now."""
        chances = {
            _record_of(label_of(each), level): known
            for each in self._all()
            if each.calibration is not None
            for level, known in each.calibration.known.items()
        }
        standings = {label_of(each.proposer): each.standing.known for each in self._costly}
        heads = {label_of(each): each.head.known for each in self._all() if each.head is not None}
        known = self._known
        return LearnedPolicy(
            self.passes.known,
            {**known.chances, **chances},
            {**known.standings, **standings},
            {**known.heads, **heads},
        )

    @property
    def has_costly(self) -> bool:
        return bool(self._costly)

    @property
    def asks_what_is_wanted(self) -> bool:
        return any(each.asks_what_is_wanted for each in self._free)

    @property
    def needs_states(self) -> bool:
        return any(TargetFeature.STATES in candidate.proposer.needs for candidate in self._costly)

    @property
    def can_pay(self) -> bool:
        """True if guesses would be worth their time if nearly all were accepted. Judges only costly proposers if there
        are any."""
        if self._costly:
            return any(candidate.costs.can_pay for candidate in self._costly)
        return self.passes.best_ratio > FASTER

    @property
    def activity(self) -> Activity:
        return self._recent.activity

    def propose(self, context: Context, longest: int) -> Draft:
        """A draft of at most `longest` tokens; empty when that does not pay. Raises ProposerFailed."""
        if context.owner != self._owner:
            self._change_owner(context.owner)
        if (level := level_of(context.sampling.temperature)) != self._level:
            self._level = level
            for proposer in self._all():
                if proposer.calibration is not None:
                    proposer.calibration.enter(level)
        self._costs.enter(len(context.tokens))
        is_awake = any(each.is_awake for each in self._costly)
        self.looks = self._lookout.wants_look() or is_awake or self._always is not None
        if not self.looks:
            self._surest, self.has_passed_up = None, False
            for each in self._costly:
                each.standing.pause()
            return NO_DRAFT
        rate = max(1 / self.passes.plain_s, self._recent.rate)  # tokens that a second would bring otherwise
        branches = context.max_branches if context.max_branches == 1 or self._may_branch(rate) else 1
        if self._costly and self._always is None:
            context = replace(context, max_branches=branches, expect=self._expect)
        elif branches < context.max_branches:
            context = replace(context, max_branches=branches)
        if self._always is not None:
            candidate = next(iter(self._costly), None)
            if candidate is None:
                return NO_DRAFT
            worth = candidate.worth(rate, always=self._always)
            longest = min(longest, self._always.longest)
            draft, _ = candidate.draft(context, longest, worth)
            return candidate.paying(draft, longest, rate, self._always.shortest)
        worth, reach = GoingRate(self.passes, rate), min(longest, MAX_LENGTH)
        guesses = [call(proposer, proposer.propose, context, reach, worth) for proposer in self._free]
        self._surest = max((guess for guess in guesses if guess.tokens), key=lambda each: each.chances[0], default=None)
        self.has_passed_up = False
        self._lookout.note(self._surest.chances[0] if self._surest is not None else 0.0, self._cost_of_a_row)
        if self._costs.wants_plain:
            return NO_DRAFT
        best, gain = self._best_free(guesses, reach, rate)
        draft = self._choose(context, guesses, best, gain, reach, rate)
        self.has_passed_up = not draft.tokens and self._surest is not None and self._surest.chances[0] >= _LIKELY
        if branches > 1:
            draft = self._widened(draft, longest, branches, rate)
        if draft.tokens:
            self._lookout.look_again()
        return draft

    def observe(self, verdict: Verdict, round_s: float, pass_s: float) -> None:
        """Learns from a round; `round_s` counts from the end of the one before, and includes the target's `pass_s`.
        Raises ProposerFailed."""
        draft = verdict.draft
        if not self.looks:  # a plain round like those before it, which have told what it costs
            self._budget.note(len(verdict.tokens), 0.0)
            return
        change_s = self._costs.learn(draft, pass_s, max(0.0, round_s - pass_s - draft.drafter_s))
        self._num_rounds += 1
        if self._num_rounds % _ROUNDS_UNTIL_COSTS_CHANGE == 0:
            for candidate in self._costly:
                candidate.costs.weigh()
        self._note(verdict, change_s)
        for proposer in self._all():
            call(proposer, proposer.observe, verdict)

    def measure_costs(self) -> None:
        """Times guesses again, between replies, even of proposers that cannot pay. Raises ProposerFailed."""
        for candidate in self._costly if self._step_s is None else ():
            candidate.measure()

    def end_reply(self) -> None:
        """Raises ProposerFailed."""
        self._budget.begin_reply()
        self._lookout.look_again()
        for proposer in self._all():
            call(proposer, proposer.end_reply)

    def _change_owner(self, owner: Owner) -> None:
        self._owner, self._recent = owner, RecentRounds(self.passes.plain_s)
        for proposer in self._all():
            call(proposer, proposer.change_owner)
            if proposer.calibration is not None:
                proposer.calibration.forget_lean()

    def _all(self) -> tuple[Proposer, ...]:
        return (*self._free, *(candidate.proposer for candidate in self._costly))

    def _choose(
        self, context: Context, guesses: Sequence[Draft], best: Draft, free_gain: float, reach: int, rate: float
    ) -> Draft:
        """A draft of at most `reach` tokens. `best`: the best free guess, which gains `free_gain` tokens."""
        longest = min(reach, USUAL_LENGTH)  # of a line
        asked, start, gain = None, NO_DRAFT, free_gain
        for candidate in self._costly:
            if not candidate.may_be_asked(context, rate):
                continue
            if not candidate.wants_a_try(rate):
                price = self._price(candidate.standing.seconds, rate)
                found = candidate.best_start(guesses, rate, longest, gain, price)
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
        draft = self._with_more(context, asked.ask(context, start, longest, reach, rate), reach, rate)
        return self._with_others(draft, guesses, reach, context.max_branches, rate)

    def _widened(self, draft: Draft, longest: int, max_branches: int, rate: float) -> Draft:
        """Adds what free proposers want to learn to the draft. A draft of a costly proposer stays as it is."""
        if any(each.proposer.origin.key in draft.proposers for each in self._costly):
            return draft
        passes, num_rows = self.passes, 1 + len(draft.tokens)
        change_s = 0.0 if draft.tokens else self._costs.change_to_draft_s + passes.own.drafted_s

        def cost(num_more: int) -> float:
            more_s = passes.of(num_rows + num_more) - passes.of(num_rows) + change_s
            return rate * more_s + self._budget.caution(more_s / passes.plain_s)

        for proposer in self._free:
            room, branches = longest - len(draft.tokens), max_branches - draft.num_leaves
            draft = call(proposer, proposer.widened, draft, room, branches, cost)
        return draft

    def _expect(self, ahead: Sequence[int]) -> Expected | None:
        """The expectation of the first free proposer that has one. Raises ProposerFailed."""
        found = (call(proposer, proposer.expect, ahead) for proposer in self._free)
        return next((each for each in found if each is not None), None)

    def _with_more(self, context: Context, draft: Draft, most: int, rate: float) -> Draft:
        """Continues the draft with a free proposer's guess if that is worth its rows."""
        room, num_trunk = most - len(draft.tokens), draft.num_trunk
        if not draft.tokens or room < 1:
            return draft
        context, reached = replace(context, ahead=draft.tokens[:num_trunk]), math.prod(draft.chances[:num_trunk])
        best, best_gained = NO_DRAFT, 0.0
        for proposer in self._free:
            guess = call(proposer, proposer.follow, context, room)
            chances = (reached * guess.chances[0], *guess.chances[1:]) if guess.chances else ()
            length, gain = best_gain(self.passes, chances, rate, 1 + len(draft.tokens))
            if gain > best_gained:
                best, best_gained = guess.first(length), gain
        return draft.followed_by(best) if best.tokens else draft

    def _with_others(
        self, draft: Draft, guesses: Sequence[Draft], longest: int, max_branches: int, rate: float
    ) -> Draft:
        """Adds the free guesses as branches, as far as they are worth their rows."""
        num_tokens = len(draft.tokens)
        if not num_tokens:
            return draft
        for guess in guesses:
            if guess.tokens and draft.num_leaves + guess.num_leaves <= max_branches:
                draft = draft.beside(guess)
        return best_part(draft, num_tokens, num_tokens, longest, self.passes, rate)

    def _may_branch(self, rate: float) -> bool:
        """True if a row for another branch can ever pay."""
        return self._draws_trees and rate * self.passes.least_row_s < _MOST_ALTERNATIVE

    def _best_free(self, guesses: Sequence[Draft], longest: int, rate: float) -> tuple[Draft, float]:
        """The part of a free guess that gains most, of at most `longest` tokens, and the tokens it gains; an empty
        draft if none is worth checking."""
        passes, caution = self.passes, self._budget.caution
        single_s, drafted_s = passes.of(1), passes.own.drafted_s
        change_s, last_rows = self._costs.change_to_draft_s, self._costs.last_rows
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
                more_s = passes.hoped(num_rows) - single_s + drafted_s + (change_s if num_rows != last_rows else 0.0)
                its_gain = gained - rate * more_s - _MARGIN
                if its_gain > gain:
                    taken = order[: num_rows - 1]
                    its_gain -= caution(more_s / passes.plain_s, [reached[each] for each in taken])
                    if its_gain > gain:
                        best, places, gain = guess, taken, its_gain
        return (best.only(sorted(places)), gain) if places else (NO_DRAFT, 0.0)

    def _price(self, seconds: float, rate: float) -> float:
        """Tokens that a costly draft must gain beyond its own costs, `seconds` more than a plain round's, to cover the
        change of rows there and back, imprecise estimates, and what the draft stakes."""
        more_s = self._costs.change_to_draft_s + self.passes.own.drafted_s
        return _MARGIN + rate * more_s + self._budget.caution((seconds + more_s) / self.passes.plain_s)

    @property
    def _cost_of_a_row(self) -> float:
        """The tokens that plain decoding would write in the time that checking one guess takes."""
        passes = self.passes
        more_s = passes.of(2) - passes.of(1) + passes.own.drafted_s + self._costs.change_to_draft_s
        return more_s / passes.plain_s

    def _note_passed_up(self, guess: Draft, written: int) -> None:
        """Notes what a guess that was not checked would have gained, if its first token was worth a row at all."""
        cost = self._cost_of_a_row
        if guess.chances[0] > cost + _MARGIN:
            self._budget.note_passed_up((guess.tokens[0] == written) - cost)

    def _note(self, verdict: Verdict, change_s: float) -> None:
        draft, passes, plain_s = verdict.draft, self.passes, self.passes.plain_s
        seconds = plain_s
        if draft.tokens or draft.num_steps:
            asked = (each for each in self._costly if each.proposer.origin.key in draft.proposers)
            step_s = next((each.costs.step_s for each in asked), 0.0)
            own_s = passes.own.of(1, bool(draft.tokens), 0)
            seconds = passes.of(len(draft.tokens) + 1) + own_s + step_s * draft.num_steps
        self._budget.note(len(verdict.tokens), (seconds - plain_s + change_s) / plain_s)
        if self._surest is not None and not draft.tokens:
            self._note_passed_up(self._surest, verdict.tokens[0])
        if draft.tokens:
            words = " and ".join(self._labels.get(key, key) for key, length in draft.parts if length)
            self._recent.note(1 + sum(draft.reached), seconds, words, draft.num_trunk)
        else:
            self._recent.note(1.0, seconds, "", 0)


def _record_of(label: str, level: int) -> str:
    """The name under which the chances of a proposer at a level of temperature are kept."""
    return f"{label} {level}" if level else label
