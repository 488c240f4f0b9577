"""From logits to a distribution, and from a distribution to a token.

One pure function, `make_distribution`, makes every distribution of the target, for plain and speculative decoding
alike. Its order is llama.cpp's default chain: penalties, top-k, top-p, min-p, temperature. It reads the whole row once,
with vectorised maxima, and works on the few candidates that are left; nothing is sorted where nothing is pruned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from engine.config import SamplingSettings
from engine.numerics.likeliest import Ids, LogitRow, RowScan, descending

Probabilities = npt.NDArray[np.float64]

_CERTAIN: Probabilities = np.ones(1)
_CERTAIN.flags.writeable = False


class Dice(Protocol):
    """All randomness, as two verbs, so that a test can go through every outcome instead."""

    def happens(self, probability: float) -> bool: ...

    def choose(self, weights: Probabilities) -> int:
        """A place in `weights`, shape (n,), in proportion to them; they need not sum to 1."""
        ...


class RandomDice:
    """Dice over numpy's generator; the same seed gives the same throws."""

    def __init__(self, seed: int | None) -> None:
        self._random = np.random.default_rng(seed).random

    def happens(self, probability: float) -> bool:
        return self._random() < probability

    def choose(self, weights: Probabilities) -> int:
        if len(weights) == 1:
            return 0
        cumulative = np.cumsum(weights)
        # Scaled by the last sum, so that rounding can never put the throw beyond it.
        place = int(np.searchsorted(cumulative, self._random() * cumulative[-1], side="right"))
        return min(place, len(weights) - 1)


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution over the target tokens that pruning has left, likeliest first; where nothing was pruned, over all
    tokens in their own order."""

    ids: Ids  # shape (k,), distinct
    probabilities: Probabilities  # shape (k,), sums to 1

    def draw(self, dice: Dice) -> int:
        return int(self.ids[dice.choose(self.probabilities)])


def make_distribution(logits: LogitRow, settings: SamplingSettings, history: Sequence[int]) -> Distribution:
    """The distribution of the next token, given its row of logits (shape (vocabulary,), left unchanged) and the tokens
    before it.

    Raises TargetUnusable for a row whose largest logit is not a number.
    """
    return distribution_of(RowScan(logits), settings, history)


def distribution_of(row: RowScan, settings: SamplingSettings, history: Sequence[int]) -> Distribution:
    """The same of a row whose largest logits others want to know, too."""
    if _penalises(settings) and history:
        row = RowScan(_penalised(row.logits, settings, history))
    if settings.temperature == 0:
        return Distribution(np.array([row.best()[0]]), _CERTAIN)
    if settings.top_k == 0 and settings.top_p == 1 and settings.min_p == 0:
        weights = row.logits.astype(np.float64)
        weights -= row.best()[1]
        weights /= settings.temperature
        np.exp(weights, out=weights)
        weights /= weights.sum()
        return Distribution(_all_ids(len(weights)), weights)
    ids, values = _candidates(row, settings)
    if settings.min_p > 0:
        count = np.count_nonzero(values >= values[0] + np.log(settings.min_p))
        ids, values = ids[:count], values[:count]
    return Distribution(ids, _softmax((values - values[0]) / settings.temperature))


@lru_cache(maxsize=2)
def _all_ids(num_tokens: int) -> Ids:
    ids = np.arange(num_tokens)
    ids.flags.writeable = False
    return ids


def _penalises(settings: SamplingSettings) -> bool:
    return settings.penalty_window > 0 and (
        settings.repetition_penalty != 1 or settings.presence_penalty != 0 or settings.frequency_penalty != 0
    )


def _penalised(logits: LogitRow, settings: SamplingSettings, history: Sequence[int]) -> LogitRow:
    """A copy of the row with llama.cpp's penalties on the tokens of the window."""
    ids, counts = np.unique(np.asarray(history[-settings.penalty_window :]), return_counts=True)
    values = logits[ids]
    # Dividing a negative logit would make the token likelier.
    values = np.where(values <= 0, values * settings.repetition_penalty, values / settings.repetition_penalty)
    values -= counts * settings.frequency_penalty + settings.presence_penalty
    penalised = logits.copy()
    penalised[ids] = values
    return penalised


def _candidates(row: RowScan, settings: SamplingSettings) -> tuple[Ids, Probabilities]:
    """The tokens that top-k and top-p leave, and their logits in double precision, likeliest first. Of those without
    top-k and top-p, more than min-p leaves."""
    if settings.top_k > 0:
        ids, values = _top(row, settings.top_k)
        count = _num_reaching(_softmax(values), settings.top_p) if settings.top_p < 1 else len(ids)
        return ids[:count], values[:count]
    if settings.top_p < 1:
        return _nucleus(row, settings.top_p)
    # A little less than min-p's bound: it is applied in double precision.
    ids = np.flatnonzero(row.logits >= row.best()[1] + np.log(settings.min_p) - 1e-3)
    ids, logits = descending(ids, row.logits[ids])
    return ids, logits.astype(np.float64)


def _nucleus(row: RowScan, top_p: float) -> tuple[Ids, Probabilities]:
    """The smallest set of likeliest tokens that reaches `top_p`, without sorting the whole row."""
    size, num_tokens = 256, len(row.logits)
    ids, values = _top(row, size)
    maximum = values[0]
    total = float(np.exp(row.logits - np.float32(maximum)).sum(dtype=np.float64))
    while True:
        probabilities = np.exp(values - maximum) / total
        if size >= num_tokens or probabilities.sum() >= top_p:
            count = _num_reaching(probabilities, top_p)
            return ids[:count], values[:count]
        size *= 8
        ids, values = _top(row, size)


def _top(row: RowScan, count: int) -> tuple[Ids, Probabilities]:
    ids, values = row.largest(min(count, len(row.logits)))
    return ids, values.astype(np.float64)


def _num_reaching(probabilities: Probabilities, share: float) -> int:
    """How many of the likeliest are needed to reach `share`; at least one."""
    return min(int(np.searchsorted(np.cumsum(probabilities), share)) + 1, len(probabilities))


def _softmax(values: Probabilities) -> Probabilities:
    weights: Probabilities = np.exp(values - values[0])
    probabilities: Probabilities = weights / weights.sum()
    return probabilities
