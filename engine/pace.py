"""Decides before every round how far to draft, from what passes cost and how drafts have fared lately."""

from __future__ import annotations

import time

import numpy as np

from engine.numerics.draft import Verdict
from engine.numerics.draft_length import MAX_LENGTH, PassCosts, best_length
from engine.stop_signal import StopSignal
from engine.target.interface import Target

_MEMORY = 0.99  # what counts of a round when the next is seen: to know an acceptance of 0.25 takes some hundred tries
_PRIOR_ACCEPTANCE, _PRIOR_WEIGHT = 0.5, 4.0  # a guess, and the number of drafted tokens it is worth
_PRIOR_STEP_SHARE = 0.15  # of a one-token pass, for drafting a token
_COST_MEMORY = 0.9
_LARGEST_SURPRISE = 2.0
_FIRST_REST, _LONGEST_REST = 8, 128  # rounds without a draft, when drafting did not pay
_HIGHEST_ACCEPTANCE = 0.9  # no text is guessed better for long
_HOPELESS_REST = 1024  # rounds, when not even that would pay
_MEASURED = (1, 2, 4, 8, 3, 6, 5)  # tokens of a pass, in the order in which they are worth knowing
_MEASURED_IF_SLOW = (4,)
_SLOW_SHARE = 8  # of the budget: a pass that takes more than an eighth of it is slow
_REPEATS = 3


class Pace:
    """The simple cost rule: as many tokens as `best_length` says. When that is none it rests, ever longer, and then
    tries again; much longer where the costs leave no hope."""

    def __init__(
        self, costs: PassCosts, cost_per_token: float | None = None, shortest: int = 0, longest: int = MAX_LENGTH
    ) -> None:
        """`cost_per_token`: seconds for drafting one token of the target; None = to be learned while drafting.
        `shortest`: drafts in every round at least that many tokens, whether it pays or not; never more than
        `longest`."""
        self._costs = costs
        self._fixed_cost = cost_per_token is not None
        self._cost_per_token = cost_per_token or _PRIOR_STEP_SHARE * costs.of(1)
        self._shortest, self._longest = shortest, longest
        self._stood = _PRIOR_ACCEPTANCE * _PRIOR_WEIGHT
        self._tried = _PRIOR_WEIGHT
        self._rest = _FIRST_REST
        self._rounds_to_rest = 0
        self._is_hopeless = False
        self._asked = False  # for a draft, in this round

    @property
    def acceptance(self) -> float:
        """Recent share of drafted tokens that stood, of those that were reached."""
        return self._stood / self._tried

    @property
    def pays(self) -> bool:
        """Whether drafting is worth it at the acceptance of late."""
        return self._shortest > 0 or self._best(self.acceptance) > 0

    @property
    def can_pay(self) -> bool:
        """Whether it would be, if nearly every guess stood."""
        return self._shortest > 0 or self._best(_HIGHEST_ACCEPTANCE) > 0

    def expect_cost(self, cost_per_token: float) -> None:
        """What drafting one token takes, in seconds, before anything has been drafted."""
        if not self._fixed_cost:
            self._cost_per_token = cost_per_token

    def length(self) -> int:
        """How many tokens to draft in this round; 0 = none."""
        length = self._length()
        self._asked = length > 0
        return length

    def _length(self) -> int:
        if self._shortest:
            return max(self._shortest, self._best(self.acceptance))
        if self._rounds_to_rest > 0:
            self._rounds_to_rest -= 1
            return 0
        length = self._best(self.acceptance)
        if length > 0:
            self._rest = _FIRST_REST
            return length
        if self.can_pay:
            self._rounds_to_rest = self._rest
            self._rest = min(2 * self._rest, _LONGEST_REST)
            return 1  # a try: what it shows decides whether the next round drafts
        is_first = not self._is_hopeless
        self._is_hopeless = True
        self._rounds_to_rest = _HOPELESS_REST
        return 0 if is_first else 1  # costs change; the first time there is nothing to find out yet

    def note(self, verdict: Verdict, draft_s: float, pass_s: float) -> None:
        """What a round came to: `draft_s` for proposing, `pass_s` for the target's pass. A proposer that was asked and
        stayed silent counts as one that was wrong."""
        num_drafted = len(verdict.draft.tokens)
        self._costs.refine(num_drafted + 1, pass_s)
        if not self._asked and not num_drafted:
            return
        self._asked = False
        self._stood = self._stood * _MEMORY + verdict.num_accepted
        self._tried = self._tried * _MEMORY + max(1, min(num_drafted, verdict.num_accepted + 1))
        if not self._fixed_cost:
            # The first draft of a reply reads the prompt too, and a machine can be busy: no draft counts for too much.
            seen = min(draft_s / max(1, num_drafted), _LARGEST_SURPRISE * self._cost_per_token)
            self._cost_per_token += (1 - _COST_MEMORY) * (seen - self._cost_per_token)
        if self._rounds_to_rest and self._best(self.acceptance) > 0:
            self._rounds_to_rest = 0

    def _best(self, acceptance: float) -> int:
        return best_length(self._costs, acceptance, self._cost_per_token, self._longest)


def measure_passes(target: Target, stop: StopSignal, budget_s: float = 0.4) -> PassCosts:
    """Measures V(n) on the target itself, which holds nothing before and after, in about `budget_s`; a target whose
    passes are slow is timed with two of them. Raises Interrupted."""
    limit = min(target.limits.max_rows, target.limits.max_tokens, target.limits.context_size // 2)
    token = target.vocabulary.begin if target.vocabulary.begin is not None else 0
    began = time.perf_counter()
    try:
        seconds = {1: _time_pass(target, [token], stop)}
        is_slow = seconds[1] > budget_s / _SLOW_SHARE
        for num_tokens in _MEASURED_IF_SLOW if is_slow else _MEASURED:
            if num_tokens > limit or time.perf_counter() - began > budget_s + seconds[1]:
                break
            # The first pass of a size builds its graph.
            times = [_time_pass(target, [token] * num_tokens, stop) for _ in range(1 if is_slow else _REPEATS + 1)]
            seconds[num_tokens] = float(np.median(times[-_REPEATS:]))
    finally:
        target.roll_back(0)
    return PassCosts(seconds)


def _time_pass(target: Target, tokens: list[int], stop: StopSignal) -> float:
    began = time.perf_counter()
    target.evaluate(tokens, len(tokens), stop)
    seconds = time.perf_counter() - began
    target.roll_back(0)
    return seconds
