"""From logits to a distribution, and from a distribution to a token.

One pure function, `make_distribution`, used wherever the target's distribution is needed, so that plain and speculative
decoding share the very same distribution. The order is llama.cpp's default chain: penalties, top-k, top-p, min-p,
temperature. It stays sparse: the whole row is read once or twice by vectorised maxima and comparisons, everything else
works on the few candidates left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from engine.config import SamplingSettings
from engine.errors import TargetUnusable


class Dice(Protocol):
    """Where chance enters: two verbs, so that a test can go through every outcome instead."""

    def happens(self, probability: float) -> bool: ...

    def choose(self, weights: npt.NDArray[np.float64]) -> int:
        """A place in `weights`, shape (n,), in proportion to them; they need not sum to 1."""
        ...


class RandomDice:
    """Dice over numpy's generator; the same seed gives the same throws."""

    def __init__(self, seed: int | None) -> None:
        self._random = np.random.default_rng(seed).random

    def happens(self, probability: float) -> bool:
        return self._random() < probability

    def choose(self, weights: npt.NDArray[np.float64]) -> int:
        if len(weights) == 1:
            return 0
        cumulative = np.cumsum(weights)
        # Scaled by the last sum, so that rounding can never leave the throw beyond it.
        place = int(np.searchsorted(cumulative, self._random() * cumulative[-1], side="right"))
        return min(place, len(weights) - 1)


Ids = npt.NDArray[np.int64]
Probabilities = npt.NDArray[np.float64]
LogitRow = npt.NDArray[np.float32]

_NUM_GROUPS = 64


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution over the target tokens that pruning has left, likeliest first."""

    ids: Ids  # shape (k,), distinct
    probabilities: Probabilities  # shape (k,), descending, sums to 1

    def draw(self, dice: Dice) -> int:
        return int(self.ids[dice.choose(self.probabilities)])


def make_distribution(logits: LogitRow, settings: SamplingSettings, history: Sequence[int]) -> Distribution:
    """The distribution of the next token, given its row of logits (shape (vocabulary,), left unchanged) and the tokens
    before it.

    Raises TargetUnusable for a row whose largest logit is not a number.
    """
    if _penalises(settings) and history:
        logits = _penalised(logits, settings, history)
    if settings.temperature == 0:
        return _point(logits)
    ids, values = _candidates(logits, settings)  # values descending
    if settings.min_p > 0:
        ids, values = _first(ids, values, int(np.count_nonzero(values >= values[0] + np.log(settings.min_p))))
    return Distribution(ids, _softmax((values - values[0]) / settings.temperature))


def _point(logits: LogitRow) -> Distribution:
    best = int(logits.argmax())  # a NaN counts as the largest
    _check(logits[best])
    return Distribution(np.array([best]), np.ones(1))


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


def _candidates(logits: LogitRow, settings: SamplingSettings) -> tuple[Ids, Probabilities]:
    """What top-k and top-p leave: ids and logits in double precision, likeliest first."""
    if 0 < settings.top_k < len(logits):
        ids, values = _top(logits, settings.top_k)
        if settings.top_p < 1:
            ids, values = _first(ids, values, _num_reaching(_softmax(values), settings.top_p))
        return ids, values
    if settings.top_p < 1:
        return _nucleus(logits, settings.top_p)
    if settings.min_p > 0:
        largest = _checked_max(logits)
        return _sorted(np.flatnonzero(logits >= largest + np.log(settings.min_p) - 1e-3), logits)
    _checked_max(logits)
    return _sorted(np.arange(len(logits)), logits)


def _nucleus(logits: LogitRow, top_p: float) -> tuple[Ids, Probabilities]:
    """The smallest set of likeliest tokens that reaches `top_p`, without sorting the whole row."""
    largest = _checked_max(logits)
    total = float(np.exp(logits - largest).sum(dtype=np.float64))
    size = 256
    while True:
        ids, values = _top(logits, min(size, len(logits)))
        probabilities = np.exp(values - largest) / total
        if len(ids) == len(logits) or probabilities.sum() >= top_p:
            return _first(ids, values, _num_reaching(probabilities, top_p))
        size *= 8


def _top(logits: LogitRow, k: int) -> tuple[Ids, Probabilities]:
    """The k largest, descending. The k-th largest of the group maxima bounds them from below, which leaves few to
    sort."""
    groups = len(logits) // _NUM_GROUPS
    if k >= groups:
        _checked_max(logits)
        ids = np.argpartition(logits, -k)[-k:] if k < len(logits) else np.arange(len(logits))
        return _sorted(ids, logits)
    maxima = logits[: groups * _NUM_GROUPS].reshape(_NUM_GROUPS, groups).max(axis=0)
    bound = np.partition(maxima, groups - k)[groups - k]
    _check(maxima.max())
    ids, values = _sorted(np.flatnonzero(logits >= bound), logits)
    return _first(ids, values, k)


def _checked_max(logits: LogitRow) -> float:
    largest = float(logits.max())
    _check(largest)
    return largest


def _check(largest: float) -> None:
    if not np.isfinite(largest):
        raise TargetUnusable(
            "The model computed something that is not a number; its file may be damaged: download it again."
        )


def _sorted(ids: Ids, logits: LogitRow) -> tuple[Ids, Probabilities]:
    values = logits[ids].astype(np.float64)
    order = np.argsort(-values, kind="stable")
    return ids[order], values[order]


def _first(ids: Ids, values: Probabilities, count: int) -> tuple[Ids, Probabilities]:
    return ids[:count], values[:count]


def _num_reaching(probabilities: Probabilities, share: float) -> int:
    """How many of the likeliest are needed to reach `share`; at least one."""
    return min(int(np.searchsorted(np.cumsum(probabilities), share)) + 1, len(probabilities))


def _softmax(values: Probabilities) -> Probabilities:
    weights: Probabilities = np.exp(values - values[0])
    probabilities: Probabilities = weights / weights.sum()
    return probabilities
