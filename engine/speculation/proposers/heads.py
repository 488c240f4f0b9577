"""Heads as a proposer: they guess from the state that the target's last pass left anyway, all of them at once.

Each guess is certain of its token, so a draft is checked like one of recall, and stays exact at any temperature. The
likeliest token of each head is the trunk; where rows are cheap, a head's other tokens branch off it, and the later
heads guess the same after them. How likely a guess is right is learned by its head, by how sure that is, and by where
in the tree it is, from every round, whatever was checked in it.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np

from engine.speculation.drafter.heads_folder import MOST_HEADS
from engine.speculation.drafter.interface import Heads
from engine.speculation.model.interface import TargetFeature, Vocabulary
from engine.speculation.numerics.draft import NO_DRAFT, Draft, Verdict, as_parents, chain
from engine.speculation.numerics.estimates import Calibration
from engine.speculation.proposers.catalogue import HEADS
from engine.speculation.proposers.interface import Context, SuppliedProposer, Worth
from engine.values.errors import DrafterUnusable

_SURE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # borders between kinds of guesses, by their probability
_PRIORS = (0.06, 0.14, 0.24, 0.34, 0.44, 0.54, 0.64, 0.74, 0.85, 0.92, 0.96)  # that the likeliest is right
_BRANCH_SURE = (0.02, 0.05, 0.1, 0.2, 0.3)  # the same of others
_BRANCH_PRIORS = (0.01, 0.03, 0.06, 0.11, 0.18, 0.26)
_AFTER_PRIORS = (0.05, 0.11, 0.2, 0.28, 0.36, 0.44, 0.52, 0.6, 0.7, 0.8, 0.85)  # of the likeliest after such a one
_FIRST_BRANCH = MOST_HEADS * len(_PRIORS)
_FIRST_AFTER = _FIRST_BRANCH + MOST_HEADS * len(_BRANCH_PRIORS)
_LEAST = 0.03  # chance that a token of a branch is reached
_NEWEST_STEP = 0.05  # weight of the newest guess in what one takes
_TURNS = 8  # guesses that are timed


@dataclass(frozen=True, slots=True)
class _Outlook:
    """The guesses of the heads in a round, by head and rank."""

    tokens: list[list[int]]
    probabilities: list[list[float]]

    def kind(self, head: int, rank: int = 0) -> int:
        sure = self.probabilities[head][rank]
        if rank:
            return _FIRST_BRANCH + head * len(_BRANCH_PRIORS) + bisect_right(_BRANCH_SURE, sure)
        return head * len(_PRIORS) + bisect_right(_SURE, sure)

    def kind_after(self, head: int) -> int:
        """The kind of its likeliest token after one that is off the trunk."""
        return _FIRST_AFTER + bisect_right(_SURE, self.probabilities[head][0])

    def rank_of(self, head: int, token: int) -> int | None:
        return self.tokens[head].index(token) if token in self.tokens[head] else None


class HeadsProposer(SuppliedProposer):
    """The heads of one target. `step_s` is the time of all guesses together."""

    origin = HEADS
    needs = frozenset({TargetFeature.ROLLBACK, TargetFeature.STATES})

    def __init__(self, heads: Heads, target: Vocabulary, label: str = "heads") -> None:
        super().__init__(label)
        self._heads = heads
        self._silent = target.silent  # a draft ends before such a token
        self.calibration: Calibration = Calibration(
            [*_PRIORS * MOST_HEADS, *_BRANCH_PRIORS * MOST_HEADS, *_AFTER_PRIORS]
        )
        self._outlook: _Outlook | None = None  # of this round
        self._counts = True  # whether its guesses are to be noted in `_guesses`

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:
        self._outlook, self._counts = None, context.learns
        if context.state is None or context.ahead:
            return NO_DRAFT
        began = time.perf_counter()
        outlook = self._outlook = _Outlook(*self._heads.guess(context.state, context.pending))
        if not math.isfinite(outlook.probabilities[0][0]):
            raise DrafterUnusable("{label} do not compute numbers; choose another drafter.", label=self.label)
        seconds = time.perf_counter() - began
        self.step_s += _NEWEST_STEP * (min(seconds, 2 * self.step_s) - self.step_s)
        trunk = [*takewhile(lambda token: token not in self._silent, (each[0] for each in outlook.tokens))]
        chances = tuple([self.calibration.chance(outlook.kind(head)) for head in range(len(trunk))])
        length = 0
        while length < min(limit, len(trunk)) and worth.is_checked(chances[: length + 1]):
            length += 1
        draft = Draft(
            tuple(trunk[:length]), chances=chances[:length], num_steps=1, drafter_s=seconds, proposer=self.origin.key
        )
        return self._with_branches(draft, outlook, context.max_branches - 1) if length else draft

    def observe(self, verdict: Verdict) -> None:
        if self._outlook is not None:
            self._learn(self._outlook, verdict.tokens)
        self._outlook = None

    def _learn(self, outlook: _Outlook, written: Sequence[int]) -> None:
        is_on_trunk = True
        for head, token in enumerate(written[: len(outlook.tokens)]):
            rank = outlook.rank_of(head, token)
            if not is_on_trunk:
                self.calibration.note(outlook.kind_after(head), rank == 0, leans=False)
                if rank != 0:
                    return
                continue
            for each in range(1, len(outlook.tokens[head])):
                self.calibration.note(outlook.kind(head, each), rank == each, leans=False)
            self.calibration.note(outlook.kind(head), rank == 0)
            if self._counts:
                self._guesses = self._guesses.with_one(head, rank == 0)
            if rank is None:
                return
            is_on_trunk = rank == 0

    def _with_branches(self, trunk: Draft, outlook: _Outlook, most: int) -> Draft:
        """The draft, and branches of the likeliest other tokens of the same heads, each with what follows it."""
        if most < 1:
            return trunk
        reached = (1.0, *trunk.reached)
        begun: list[tuple[float, int, int, float]] = []  # chance to be reached; head, token and chance
        for head, first in enumerate(trunk.chances):
            left = 1 - first
            for rank, token in enumerate(outlook.tokens[head][1:], 1):
                chance = min(self.calibration.chance(outlook.kind(head, rank)), left)
                left -= chance
                if reached[head] * chance >= _LEAST and token not in self._silent:
                    begun.append((reached[head] * chance, head, token, chance))
        tokens, chances, parents = [*trunk.tokens], [*trunk.chances], [*chain(len(trunk.tokens))]
        for hope, head, token, chance in sorted(begun, reverse=True)[:most]:
            parent = head - 1
            for each, its_chance in ((token, chance), *self._after(outlook, head, hope)):
                parents.append(parent)
                tokens.append(each)
                chances.append(its_chance)
                parent = len(tokens) - 1
        return replace(trunk, tokens=tuple(tokens), chances=tuple(chances), parents=as_parents(parents))

    def _after(self, outlook: _Outlook, head: int, reached: float) -> Iterator[tuple[int, float]]:
        """The tokens that follow another token of that head, and their chances."""
        for later in range(head + 1, len(outlook.tokens)):
            token, chance = outlook.tokens[later][0], self.calibration.chance(outlook.kind_after(later))
            reached *= chance
            if reached < _LEAST or token in self._silent:
                return
            yield token, chance

    def measure_cost(self) -> float:
        self.step_s = measure_guess(self._heads)
        return self.step_s

    def end_reply(self) -> None:
        self._outlook = None


def measure_guess(heads: Heads) -> float:
    """Seconds of the guesses of a round, at best."""
    state, best_s = np.ones(heads.hidden, np.float32), math.inf
    for _ in range(_TURNS):
        began = time.perf_counter()
        heads.guess(state, 0)
        best_s = min(best_s, time.perf_counter() - began)
    return best_s
