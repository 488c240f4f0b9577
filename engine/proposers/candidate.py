"""One proposer among those that the chooser weighs against each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ParamSpec, TypeVar

from engine.messages.origins import Origin
from engine.numerics.draft import NO_DRAFT, Draft
from engine.numerics.draft_length import USUAL_LENGTH, PassCosts, best_gain, likeliest_first
from engine.proposers.interface import Context, Proposer, Worth, label_of
from engine.proposers.standing import Standing, StepCosts

P = ParamSpec("P")
T = TypeVar("T")

_MOST_FORGONE = 0.5  # tokens of a free guess, for a try of a costly proposer
_FIRST_HOPE = 0.1  # tokens that asking gains, when nothing is known of the proposer
_HOPE = 0.02  # the same, when it did not pay recently: after a rest there is always something to read
_HORIZON = 128  # tokens that a reply is expected to have still


class ProposerFailed(Exception):
    """A proposer raised something, whatever it was; the cause is chained."""

    def __init__(self, origin: Origin, label: str) -> None:
        self.origin = origin
        self.label = label


def call(proposer: Proposer, action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `action` of the proposer returns. Raises ProposerFailed."""
    try:
        return action(*args, **kwargs)
    except (KeyboardInterrupt, SystemExit, ProposerFailed):  # the last: of one that it asked
        raise
    except BaseException as error:  # panics of Rust libraries are no Exception
        raise ProposerFailed(proposer.origin, label_of(proposer)) from error


@dataclass(frozen=True, slots=True)
class Always:
    """For measuring: a costly proposer drafts in every round, so many tokens, whether it pays or not."""

    shortest: int = 1
    longest: int = USUAL_LENGTH


@dataclass(frozen=True, slots=True)
class GoingRate:
    """Implements `engine.proposers.interface.Worth`: by tokens gained at the going rate."""

    passes: PassCosts
    rate: float  # tokens per second otherwise
    step_s: float = 0.0
    next_chance: Callable[[float], float] = lambda _before: 0.5  # of a token after one of that chance
    before: tuple[float, ...] = ()  # chances of the tokens that the draft goes on from
    always: Always | None = None

    def is_checked(self, chances: Sequence[float]) -> bool:
        if self.always is not None and len(chances) <= self.always.shortest:
            return True
        return self._best_gain(chances[:-1], chances[-1]) > 0

    def goes_on(self, chances: Sequence[float]) -> bool:
        if self.always is not None and len(chances) < self.always.shortest:
            return True
        return self._best_gain(chances, self.next_chance(chances[-1] if chances else 0.0)) > self.rate * self.step_s

    def _best_gain(self, chances: Sequence[float], chance: float) -> float:
        """Of checking a token with that chance after these, and as many of those that may follow as pay."""
        rows = 1 + len(self.before) + len(chances)
        accepted = math.prod(self.before) * math.prod(chances)
        following = [chance * accepted] + [self.next_chance(chance)] * (USUAL_LENGTH - rows)
        return best_gain(self.passes, following, self.rate, rows, self.step_s)[1]


class Candidate:
    """A costly proposer, with what its guesses cost and how it is doing.

    The guesses of free proposers are known before the round is decided. A costly one is judged by expectation: what it
    gained recently, alone or after tokens that a free one guessed, and what it would have to read.
    """

    def __init__(self, proposer: Proposer, passes: PassCosts, step_s: float | None = None) -> None:
        """`step_s`: seconds of a guess, as given; None: they are measured, unless they are known, and learned from then
        on."""
        self.proposer = proposer
        self._passes = passes
        expected_s = proposer.step_s or proposer.measure_cost() if step_s is None else step_s
        self.costs = StepCosts(passes, expected_s, step_s is not None)
        self.standing = Standing()

    def may_be_asked(self, context: Context, rate: float) -> bool:
        """Whether asking can pay, and is worth what it has to read first over the rest of the reply."""
        standing, costs = self.standing, self.costs
        if not costs.can_pay or standing.is_resting:
            return False
        unread_s = costs.read_s * call(self.proposer, self.proposer.num_unread, context)
        if unread_s <= costs.step_s:
            return True
        hoped = max(standing.gain(rate), _HOPE if standing.num_askings else _FIRST_HOPE)
        return hoped * _HORIZON / (1 + standing.tokens) > rate * unread_s

    def wants_a_try(self, rate: float) -> bool:
        """Whether its expected gain says too little to be compared with that of others."""
        return not self.standing.is_known or self.standing.is_stale or self.standing.gain(rate) <= 0

    def may_be_tried(self, free_gain: float) -> bool:
        """Whether now is the time: a free guess that gains much is not given up for a try."""
        return not self.standing.is_known or free_gain < _MOST_FORGONE

    def best_start(self, guesses: Iterable[Draft], rate: float, longest: int, bar: float) -> tuple[Draft, float] | None:
        """The tokens of a free guess (often none) that it should go on from, and the tokens gained by both together;
        None where that does not exceed `bar`."""
        asking, single_s = self.standing.gain(rate), self._passes.of(1)
        best, gain = (NO_DRAFT, asking) if asking > bar else (None, bar)
        for guess in guesses if self.proposer.continues else ():
            accepted, gained, length = 1.0, 0.0, 0
            for ahead, chance in enumerate(guess.chances[: min(longest - 1, guess.num_trunk)], 1):
                accepted *= chance
                gained += accepted
                # Asking costs as much where the tokens ahead are rejected, but gains nothing.
                lost = (1 - accepted) * self.standing.tokens
                total = gained - rate * (self._passes.of(1 + ahead) - single_s) + asking - lost
                if total > gain:
                    length, gain = ahead, total
            if length:
                best = guess.first(length)
        return None if best is None else (best, gain)

    def ask(self, context: Context, start: Draft, longest: int, rate: float) -> Draft:
        """Its draft after `start`. Raises ProposerFailed."""
        if not start.tokens:
            draft, seconds = self.draft(context, longest, self.worth(rate))
            draft = self.paying(draft, longest, rate)
            seconds = seconds + self._passes.of(1 + len(draft.tokens)) - self._passes.of(1)
            self.standing.note(sum(draft.reached), seconds, draft.chances[: draft.num_trunk], rate)
            return draft
        # Nothing is concluded from this one: it had less room than it would have filled.
        context = replace(context, ahead=start.tokens)
        draft, _ = self.draft(context, longest - len(start.tokens), self.worth(rate, start.chances))
        return self.paying(draft.after(start), longest, rate)

    def draft(self, context: Context, limit: int, worth: Worth) -> tuple[Draft, float]:
        """A draft, and the seconds that its guesses took. Raises ProposerFailed."""
        unread = call(self.proposer, self.proposer.num_unread, context)
        draft = call(self.proposer, self.proposer.propose, context, limit, worth)
        return draft, self.costs.learn(draft, unread)

    def paying(self, draft: Draft, longest: int, rate: float, least: int = 0) -> Draft:
        """Of a draft that branches, the part that gains most, of `least` to `longest` tokens where there are so many.
        What was sampled, and what another proposer began, stays whole."""
        if not draft.parents:
            return draft
        reached = draft.reached
        num_fixed = draft.num_trunk if draft.path or draft.before else 0
        order = [*range(num_fixed), *(place for place in likeliest_first(reached) if place >= num_fixed)]
        least, gained, best_gain, length = max(least, num_fixed), 0.0, -math.inf, 0
        for number, place in enumerate(order[: max(longest, num_fixed)], 1):
            gained += reached[place]
            gain = gained - rate * self._passes.of(1 + number)
            if number <= least or gain > best_gain:
                best_gain, length = gain, number
        return draft.only(sorted(order[:length]))

    def measure(self) -> None:
        """Times a guess again, while nobody waits for a reply. Raises ProposerFailed."""
        self.costs.expect(call(self.proposer, self.proposer.measure_cost))

    def worth(self, rate: float, before: tuple[float, ...] = (), always: Always | None = None) -> GoingRate:
        return GoingRate(self._passes, rate, self.costs.step_s, self.standing.next_chance, before, always)
