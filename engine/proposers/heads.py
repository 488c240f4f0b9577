"""Heads as a proposer: they guess from the state that the target's last pass left anyway, all of them at once.

Each guess is certain of its token, so a draft is checked like one of recall, and stays exact at any temperature. That a
guess is accepted is learned for each head and by how sure it is.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_right

import numpy as np

from engine.drafter.heads_folder import MOST_HEADS
from engine.drafter.interface import Heads
from engine.errors import DrafterUnusable
from engine.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.numerics.estimates import Calibration
from engine.proposers.catalogue import HEADS
from engine.proposers.interface import Context, Worth
from engine.proposers.supplied import SuppliedProposer
from engine.target.interface import TargetFeature, Vocabulary

_SURE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # borders between kinds of guesses, by their probability
_PRIORS = (0.06, 0.14, 0.24, 0.34, 0.44, 0.54, 0.64, 0.74, 0.85, 0.92, 0.96)  # that each is accepted
_NEWEST_STEP = 0.05  # weight of the newest guess in what one takes
_TURNS = 8  # guesses that are timed


class HeadsProposer(SuppliedProposer):
    """The heads of one target; a chain of the likeliest token of each. `step_s` is the time of all guesses together."""

    origin = HEADS
    needs = frozenset({TargetFeature.ROLLBACK, TargetFeature.STATES})

    def __init__(self, heads: Heads, target: Vocabulary, label: str = "heads") -> None:
        super().__init__(label)
        self._heads = heads
        self._silent = target.special | target.end_of_generation  # a draft ends before such a token
        self._calibration = Calibration(_PRIORS * MOST_HEADS)
        self._drafted: list[tuple[int, int]] = []  # in this round, worth checking or not: tokens and kinds
        self._counts = True  # whether they are to be noted in `_guesses`

    @property
    def calibration(self) -> Calibration:
        return self._calibration

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:
        self._drafted, self._counts = [], context.learns
        if context.state is None or context.ahead:
            return NO_DRAFT
        began = time.perf_counter()
        tokens, probabilities = self._heads.guess(context.state, context.pending)
        if not math.isfinite(probabilities[0][0]):
            raise DrafterUnusable(f"{self.label} compute no numbers; choose another drafter.")
        seconds = time.perf_counter() - began
        self.step_s += _NEWEST_STEP * (min(seconds, 2 * self.step_s) - self.step_s)
        for head, (some, sure) in enumerate(zip(tokens, probabilities, strict=True)):
            if some[0] in self._silent:
                break
            self._drafted.append((some[0], head * len(_PRIORS) + bisect_right(_SURE, sure[0])))
        chances = self._calibration.chances([kind for _, kind in self._drafted])
        length = 0
        while length < min(limit, len(chances)) and worth.is_checked(chances[: length + 1]):
            length += 1
        drafted = tuple(token for token, _ in self._drafted[:length])
        return Draft(drafted, chances=chances[:length], num_steps=1, drafter_s=seconds, proposer=self.origin.key)

    def observe(self, verdict: Verdict) -> None:
        """Also of guesses that were not checked, as far as what was written tells."""
        for place, ((token, kind), written) in enumerate(zip(self._drafted, verdict.tokens, strict=False)):
            self._calibration.note(kind, token == written)
            if self._counts:
                self._guesses = self._guesses.with_one(place, token == written)
            if token != written:
                break
        self._drafted = []

    def measure_cost(self) -> float:
        self.step_s = measure_guess(self._heads)
        return self.step_s

    def end_reply(self) -> None:
        self._drafted = []


def measure_guess(heads: Heads) -> float:
    """Seconds of the guesses of a round, at best."""
    state, best_s = np.ones(heads.hidden, np.float32), math.inf
    for _ in range(_TURNS):
        began = time.perf_counter()
        heads.guess(state, 0)
        best_s = min(best_s, time.perf_counter() - began)
    return best_s
