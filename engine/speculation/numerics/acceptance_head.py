"""Predicts whether a drafter's guess will be accepted, from what is known of it before it is checked: the acceptance
head of OmniDraft's adaptive drafting (arXiv 2507.02659), fitted online, from every verdict.

It is a logistic regression that begins as the calibrated chance alone, and learns by AdaGrad (Duchi et al., 2011) what
else tells. As both predict every guess before its outcome is seen, the losses say which of them is better, and only
while that is the head, and by a margin, does it decide anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.values.draft_policy import KnownHead

_RATE = 0.08
_FIRST_SQUARE = 1.0  # of gradients, so that the first steps are small
_FEWEST = 300  # guesses, before it is believed
_LOSS_MEMORY = 0.998
_MARGIN = 0.002  # of the loss, by which it must be better
_MOST = 1 - 1e-3  # a chance; the least is as far from 0


class AcceptanceHead:
    """Features are a handful of numbers around 0, the first of them the logarithm of the odds of the calibrated
    chance."""

    def __init__(self, num_features: int) -> None:
        self._weights = [1.0, *[0.0] * num_features]  # the last is the intercept's
        self._squares = [_FIRST_SQUARE] * (num_features + 1)
        self._losses = [0.0, 0.0]  # of the head and of the calibrated chance, running sums
        self._num_seen = 0

    @property
    def is_better(self) -> bool:
        mine, known = self._losses
        return self._num_seen >= _FEWEST and mine < known * (1 - _MARGIN)

    def chance(self, features: Sequence[float]) -> float:
        odds = sum([weight * feature for weight, feature in zip(self._weights, features, strict=False)])
        return _chance_of(odds + self._weights[-1])

    def note(self, features: Sequence[float], accepted: float) -> None:
        """Learns from a guess; `accepted`: whether it was, or how likely that was."""
        mine, known = self.chance(features), _chance_of(features[0])
        self._num_seen += 1
        for place, chance in enumerate((mine, known)):
            loss = -accepted * math.log(chance) - (1 - accepted) * math.log(1 - chance)
            self._losses[place] = _LOSS_MEMORY * self._losses[place] + loss
        for place, feature in enumerate((*features, 1.0)):
            slope = (mine - accepted) * feature
            self._squares[place] += slope * slope
            self._weights[place] -= _RATE * slope / math.sqrt(self._squares[place])

    @property
    def known(self) -> KnownHead:
        return KnownHead(tuple(self._weights), tuple(self._squares), tuple(self._losses), self._num_seen)

    def know(self, known: KnownHead) -> None:
        """Restores what was known earlier, if it is of the same features."""
        if len(known.weights) == len(known.squares) == len(self._weights) and len(known.losses) == 2:
            self._weights, self._squares = [*known.weights], [max(each, _FIRST_SQUARE) for each in known.squares]
            self._losses, self._num_seen = [*known.losses], known.num_seen


def odds_of(chance: float) -> float:
    """The logarithm of the odds, within bounds."""
    chance = _bounded(chance)
    return math.log(chance / (1 - chance))


def _chance_of(odds: float) -> float:
    return _bounded(1 / (1 + math.exp(-min(max(odds, -20.0), 20.0))))


def _bounded(chance: float) -> float:
    return min(max(chance, 1 - _MOST), _MOST)
