"""A proposer whose guesses take time, and what the draft policy expects of asking it."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ParamSpec, TypeVar

from engine.speculation.numerics.draft import NO_DRAFT, Draft
from engine.speculation.numerics.draft_length import USUAL_LENGTH, PassCosts, best_gain, likeliest_first
from engine.speculation.proposers.costs import StepCosts
from engine.speculation.proposers.interface import Context, Proposer, Worth, label_of
from engine.values.draft_policy import KnownStanding
from engine.values.origins import Origin

P = ParamSpec("P")
T = TypeVar("T")

_MOST_FORGONE = 0.5  # tokens of a free guess, for a try of a costly proposer
_FIRST_HOPE = 0.1  # tokens that asking gains when nothing is known of the proposer
_HOPE = 0.02  # the same when it did not pay recently: after a rest there is always something to read
_HORIZON = 128  # tokens that a reply is expected to go on for
# Of its standing:
_NEWEST = 0.12  # weight of the newest asking, in the long run
_NEWEST_AFTER_LONG = 0.5  # the same after others were asked for long
_SURE = (0.45, 0.7, 0.88)  # borders between chances: where one guess is sure, the next often is
_FIRST_ASKINGS = 4  # are made before anything is concluded
_FIRST_REST, _LONGEST_REST = 4, 64  # rounds without asking, when it did not pay


class ProposerFailed(Exception):
    """A proposer raised an exception, which is the cause."""

    def __init__(self, origin: Origin, label: str) -> None:
        self.origin = origin
        self.label = label


def call(proposer: Proposer, action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls `action` of the proposer. Raises ProposerFailed."""
    try:
        return action(*args, **kwargs)
    except (KeyboardInterrupt, SystemExit, ProposerFailed):  # the last comes from a proposer that this one asked
        raise
    except BaseException as error:  # panics of Rust libraries are not Exceptions
        raise ProposerFailed(proposer.origin, label_of(proposer)) from error


@dataclass(frozen=True, slots=True)
class Always:
    """Makes a costly proposer draft in every round, whether it pays or not, for measurements."""

    shortest: int = 1
    longest: int = USUAL_LENGTH


@dataclass(frozen=True, slots=True)
class GoingRate:
    """Judges guesses by the tokens they gain at the going rate. Implements `proposers.interface.Worth`."""

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
        """The gain of checking a token of that chance after these, and as many later ones as pay."""
        rows = 1 + len(self.before) + len(chances)
        accepted = math.prod(self.before) * math.prod(chances)
        following = [chance * accepted] + [self.next_chance(chance)] * (USUAL_LENGTH - rows)
        return best_gain(self.passes, following, self.rate, rows, self.step_s)[1]


class CostlyProposer:
    """A costly proposer with what its guesses cost and how it is doing.

    It is judged by expectation: what asking it gained recently, alone or after tokens of a free guess, and what it
    would have to read first.
    """

    def __init__(self, proposer: Proposer, passes: PassCosts, step_s: float | None = None) -> None:
        """`step_s`: seconds of a guess, if given; None: measured unless already known, and learned from then on."""
        self.proposer = proposer
        self._passes = passes
        expected_s = proposer.step_s or proposer.measure_cost() if step_s is None else step_s
        self.costs = StepCosts(passes, expected_s, step_s is not None)
        self.standing = Standing()

    @property
    def is_awake(self) -> bool:
        return self.costs.can_pay and not self.standing.is_resting

    def may_be_asked(self, context: Context, rate: float) -> bool:
        """True if asking can pay, and over the rest of the reply is worth what must be read first."""
        standing, costs = self.standing, self.costs
        if not self.is_awake:
            return False
        unread_s = costs.read_s * call(self.proposer, self.proposer.num_unread, context)
        if unread_s <= costs.step_s:
            return True
        hoped = max(standing.gain(rate), _HOPE if standing.num_askings else _FIRST_HOPE)
        return hoped * _HORIZON / (1 + standing.tokens) > rate * unread_s

    def wants_a_try(self, rate: float) -> bool:
        """True if too little is known of its gain to compare it with others."""
        return not self.standing.is_known or self.standing.is_stale or self.standing.gain(rate) <= 0

    def may_be_tried(self, free_gain: float) -> bool:
        """True if this round suits a try: a free guess that gains much is not given up for one."""
        return not self.standing.is_known or free_gain < _MOST_FORGONE

    def best_start(
        self, guesses: Iterable[Draft], rate: float, longest: int, free_gain: float, price: float
    ) -> tuple[Draft, float] | None:
        """The tokens of a free guess (often none) that it should continue, and the tokens that both gain together; None
        if they do not gain `price` more than `free_gain`, which the best free guess gains alone."""
        asking, single_s, bar = self.standing.gain(rate), self._passes.of(1), free_gain + price
        beside = asking + (1 - self.standing.first_chance) * free_gain  # which stays in the draft, as a branch
        best, gain = (NO_DRAFT, beside) if beside > bar else (None, bar)
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

    def ask(self, context: Context, start: Draft, longest: int, most: int, rate: float) -> Draft:
        """Has it draft after `start`, a line of at most `longest` tokens, with branches at most `most`. Raises
        ProposerFailed."""
        if not start.tokens:
            draft, seconds = self.draft(context, longest, self.worth(rate))
            draft = self.paying(draft, most, rate)
            seconds = seconds + self._passes.of(1 + len(draft.tokens)) - self._passes.of(1)
            self.standing.note(sum(draft.reached), seconds, draft.chances[: draft.num_trunk], rate)
            return draft
        # This draft says nothing of its standing: it had less room than it would have filled.
        context = replace(context, ahead=start.tokens)
        draft, _ = self.draft(context, longest - len(start.tokens), self.worth(rate, start.chances))
        return self.paying(draft.after(start), most, rate)

    def draft(self, context: Context, limit: int, worth: Worth) -> tuple[Draft, float]:
        """Returns a draft and the seconds that its guesses took. Raises ProposerFailed."""
        draft = call(self.proposer, self.proposer.propose, context, limit, worth)
        return draft, self.costs.learn(draft)

    def paying(self, draft: Draft, longest: int, rate: float, least: int = 0) -> Draft:
        """Cuts a draft with branches to the part that gains most, of `least` to `longest` tokens if it has enough. What
        was sampled, or begun by another proposer, stays whole."""
        if not draft.parents:
            return draft
        num_fixed = draft.num_trunk if draft.before else draft.num_fixed
        return best_part(draft, num_fixed, max(least, num_fixed), max(longest, num_fixed), self._passes, rate)

    def measure(self) -> None:
        """Times a guess again, between replies. Raises ProposerFailed."""
        self.costs.expect(call(self.proposer, self.proposer.measure_cost))

    def worth(self, rate: float, before: tuple[float, ...] = (), always: Always | None = None) -> GoingRate:
        return GoingRate(self._passes, rate, self.costs.step_s, self.standing.next_chance, before, always)


def best_part(draft: Draft, num_fixed: int, least: int, most: int, passes: PassCosts, rate: float) -> Draft:
    """The part of a draft that gains most, of `least` to `most` tokens if it has enough; its first `num_fixed` tokens
    stay."""
    reached = draft.reached
    order = [*range(num_fixed), *(place for place in likeliest_first(reached) if place >= num_fixed)]
    gained, best_gain, length = 0.0, -math.inf, 0
    for number, place in enumerate(order[:most], 1):
        gained += reached[place]
        gain = gained - rate * passes.of(1 + number)
        if number <= least or gain > best_gain:
            best_gain, length = gain, number
    return draft.only(sorted(order[:length]))


class Standing:
    """How a costly proposer is doing, and when it is worth asking.

    Gain and cost of asking it are running means of expectations, which carry less luck than counts: the tokens accepted
    and the seconds of guessing and checking. A proposer that does not pay rests, longer each time, and is tried again;
    tries go on while they pay, so that prose turning into code is noticed within a few rounds.
    """

    def __init__(self) -> None:
        self.tokens = 0.0  # gained by asking, running mean
        self.seconds = 0.0
        self.first_chance = 0.5  # of the first token, running mean
        self._next_chances = [0.5] * (len(_SURE) + 1)  # of a token by how sure the one before it was, running means
        self.num_askings = 0
        self._rest = _FIRST_REST
        self._rounds_to_rest = 0
        self._rounds_passed_over = 0

    @property
    def is_known(self) -> bool:
        return self.num_askings >= _FIRST_ASKINGS

    @property
    def is_resting(self) -> bool:
        return self._rounds_to_rest > 0

    @property
    def is_stale(self) -> bool:
        """True if others were asked for so long that this no longer describes the present text."""
        return self._rounds_passed_over >= _LONGEST_REST

    @property
    def known(self) -> KnownStanding:
        return KnownStanding(self.num_askings, self.tokens, self.seconds, tuple(self._next_chances))

    def know(self, known: KnownStanding) -> None:
        if len(known.next_chances) == len(self._next_chances):
            self.num_askings, self.tokens, self.seconds = known.num_askings, known.tokens, known.seconds
            self._next_chances = [*known.next_chances]

    def gain(self, rate: float) -> float:
        """Tokens gained by asking, at `rate` tokens per second otherwise."""
        return self.tokens - rate * self.seconds

    def next_chance(self, before: float) -> float:
        """The chance of a token after one of chance `before`."""
        return self._next_chances[bisect_right(_SURE, before)]

    def pause(self, passed_over: bool = False) -> None:
        """Notes a round without asking it; `passed_over`: another costly proposer was asked."""
        self._rounds_to_rest = max(0, self._rounds_to_rest - 1)
        self._rounds_passed_over += passed_over

    def note(self, tokens: float, seconds: float, chances: Sequence[float], rate: float) -> None:
        """Notes that it was asked, and the expected tokens and seconds; `chances`: those of its tokens."""
        self.num_askings += 1
        newest = max(_NEWEST_AFTER_LONG if self.is_stale else _NEWEST, 1 / self.num_askings)
        self._rounds_passed_over = 0
        self.tokens += newest * (tokens - self.tokens)
        self.seconds += newest * (seconds - self.seconds)
        self.first_chance += newest * (sum(chances[:1]) - self.first_chance)
        for before, chance in pairwise(chances):
            place = bisect_right(_SURE, before)
            self._next_chances[place] += _NEWEST / 4 * (chance - self._next_chances[place])
        if not self.is_known:
            return
        if self.gain(rate) > 0:
            self._rest = _FIRST_REST
        elif tokens <= rate * seconds:
            self._rounds_to_rest = self._rest
            self._rest = min(2 * self._rest, _LONGEST_REST)
