"""Turns logits into a distribution, and a distribution into a token.

One pure function, `make_distribution`, makes every distribution of the target, for plain and speculative decoding
alike. Its order is llama.cpp's default chain: what a grammar allows, biases and bans, penalties, DRY, top-n-sigma,
top-k, top-p, min-p, XTC, temperature. It reads the whole row once, with vectorised maxima, and works on the few
candidates that are left; nothing is sorted where nothing is pruned.

XTC tosses a coin for each token, to leave the most obvious ones out or not. Its effect on a token is the mixture of
both distributions, weighted by the coin: so no coin is tossed, and drafts are judged by the mixture.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from engine.speculation.native import rows
from engine.speculation.native.rows import Probabilities
from engine.speculation.numerics.likeliest import Ids, LogitRow, RowScan
from engine.speculation.numerics.rules import Rules
from engine.values.config import SamplingSettings
from engine.values.errors import SettingInvalid

Allowed = npt.NDArray[np.bool_]  # shape (vocabulary,): the tokens that may come

_COLDEST = 1e-4  # a temperature below it is greedy except for rounding
_THROWS_AT_ONCE = 64
_CERTAIN: Probabilities = np.ones(1)
_CERTAIN.flags.writeable = False


class Dice(Protocol):
    """All randomness, as two verbs, so that a test can go through every outcome instead."""

    def happens(self, probability: float) -> bool: ...

    def choose(self, weights: Probabilities) -> int:
        """A place in `weights`, shape (n,), in proportion to them; they need not sum to 1."""


class RandomDice:
    """Dice over numpy's generator; the same seed gives the same throws. Several are thrown at once: after a pass, when
    nothing of numpy is left in the processor's caches, a single one takes long."""

    def __init__(self, seed: int | None) -> None:
        self._random = np.random.default_rng(seed).random
        self._thrown: list[float] = []  # the next one last

    def happens(self, probability: float) -> bool:
        return self._throw() < probability

    def choose(self, weights: Probabilities) -> int:
        return rows.place_of(weights, self._throw()) if len(weights) > 1 else 0

    def _throw(self) -> float:
        if not self._thrown:
            self._thrown = self._random(_THROWS_AT_ONCE)[::-1].tolist()
        return self._thrown.pop()


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution over the target tokens that pruning has left, likeliest first; where nothing was pruned, over all
    tokens in their own order."""

    ids: Ids  # shape (k,), distinct
    probabilities: Probabilities  # shape (k,), sums to 1

    def draw(self, dice: Dice) -> int:
        return int(self.ids[dice.choose(self.probabilities)])

    def chance(self, token: int) -> float:
        if token < len(self.ids) and self.ids[token] == token:  # where nothing was pruned
            return float(self.probabilities[token])
        return float(self.probabilities[self.ids == token].sum())


class Certain(Distribution):
    """One that leaves a single token."""

    __slots__ = ("_token",)
    _token: int

    def __init__(self, token: int) -> None:
        object.__setattr__(self, "_token", token)

    @property
    def ids(self) -> Ids:  # arrays take a while to make, and hardly anyone asks for them
        return np.array([self._token])

    @property
    def probabilities(self) -> Probabilities:
        return _CERTAIN

    def draw(self, dice: Dice) -> int:  # noqa: ARG002
        return self._token

    def chance(self, token: int) -> float:
        return float(token == self._token)


def make_distribution(logits: LogitRow, settings: SamplingSettings, history: Sequence[int]) -> Distribution:
    """The distribution of the next token, given its row of logits (shape (vocabulary,), left unchanged) and the tokens
    before it.

    Raises TargetUnusable for a row whose largest logit is not a number.
    """
    return distribution_of(RowScan(logits), settings, history)


def distribution_of(
    row: RowScan,
    settings: SamplingSettings,
    history: Sequence[int],
    rules: Rules | None = None,
    allowed: Allowed | None = None,
) -> Distribution:
    """Does the same for a row whose largest logits are needed elsewhere, too. Without `rules` nothing is biased, banned
    or lowered by DRY, and without `allowed` all tokens may come. Also raises SettingInvalid where none is left."""
    if rules is not None or allowed is not None:
        row = RowScan(_ruled(row.logits, settings, history, rules, allowed))
    elif _penalises(settings) and history:
        row = RowScan(_penalised(row.logits, settings, history))
    if settings.temperature == 0:
        return Certain(row.best()[0])
    if settings.top_k == 0 and settings.top_p == 1 and settings.min_p == 0 and settings.top_n_sigma == 0:
        values = row.logits.astype(np.float64)
        values -= row.best()[1]
        return Distribution(_all_ids(len(values)), _chances(values, settings))
    ids, logits, top_p = _candidates(row, settings)
    log_min_p = math.log(settings.min_p) if settings.min_p > 0 else -math.inf
    probabilities = rows.chances(logits, settings.temperature, top_p, log_min_p)
    ids = ids[: len(probabilities)]
    if settings.xtc_probability or settings.temperature_range:
        values = logits[: len(ids)].astype(np.float64)
        probabilities = _chances(values - values[0], settings)
    if settings.xtc_probability:  # the likeliest may have become less likely
        order = np.argsort(-probabilities, kind="stable")
        ids, probabilities = ids[order], probabilities[order]
    return Distribution(ids, probabilities)


def _chances(values: Probabilities, settings: SamplingSettings) -> Probabilities:
    """The distribution over candidates, shape (k,), whose largest logit is 0, after XTC and the temperature."""
    chances = _heated(values, settings)
    if not settings.xtc_probability:
        return chances
    plain = np.exp(values)
    obvious = np.flatnonzero(plain >= settings.xtc_threshold * plain.sum())
    if len(obvious) < 2:
        return chances
    least = obvious[plain[obvious] == plain[obvious].min()][-1]
    kept = np.delete(np.arange(len(values)), obvious[obvious != least])
    chances *= 1 - settings.xtc_probability
    chances[kept] += settings.xtc_probability * _heated(values[kept] - values[least], settings)
    return chances


def _heated(values: Probabilities, settings: SamplingSettings) -> Probabilities:
    """The distribution after the temperature alone, which may depend on how unsure the model is: on the entropy of the
    candidates as a share of its maximum."""
    temperature = settings.temperature
    if settings.temperature_range and len(values) > 1:
        low, high = max(0.0, temperature - settings.temperature_range), temperature + settings.temperature_range
        plain = np.exp(values)
        plain /= plain.sum()
        logs = np.log(plain, out=np.zeros_like(plain), where=plain > 0)
        unsure = max(0.0, -float((plain * logs).sum()) / math.log(len(values)))
        temperature = max(low + (high - low) * unsure**settings.temperature_exponent, _COLDEST)
    weights = values / temperature
    np.exp(weights, out=weights)
    weights /= weights.sum()
    return weights


@lru_cache(maxsize=2)
def _all_ids(num_tokens: int) -> Ids:
    ids = np.arange(num_tokens)
    ids.flags.writeable = False
    return ids


def _penalises(settings: SamplingSettings) -> bool:
    return num_penalised(settings) > 0


def num_penalised(settings: SamplingSettings) -> int:
    """How many of the last tokens may get a penalty."""
    changes = settings.repetition_penalty != 1 or settings.presence_penalty != 0 or settings.frequency_penalty != 0
    return settings.penalty_window if changes else 0


def _ruled(
    logits: LogitRow,
    settings: SamplingSettings,
    history: Sequence[int],
    rules: Rules | None,
    allowed: Allowed | None,
) -> LogitRow:
    """A copy of the row with all rules applied. Raises SettingInvalid."""
    ruled = logits.copy() if allowed is None else np.where(allowed, logits, np.float32(-np.inf))
    if rules is not None:
        rules.weigh(ruled, history)
    if _penalises(settings) and history:
        ruled = _penalised(ruled, settings, history)
    if rules is not None and history:
        rules.deter(ruled, history)
    if ruled.max() == -np.inf:
        raise SettingInvalid(
            "The model cannot go on: the reply format and the banned words together leave it nothing to write. "
            "Change them in the chat's settings."
        )
    return ruled


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


def _candidates(row: RowScan, settings: SamplingSettings) -> tuple[Ids, LogitRow, float]:
    """The tokens that top-n-sigma and top-k leave, and their logits, likeliest first; and what top-p is still to leave
    of these. Without any of the three, a few more than min-p leaves."""
    if settings.top_n_sigma:  # the standard deviation of the logits that are not masked
        deviation = float(row.logits[row.logits > -np.inf].std(dtype=np.float64))
        least = row.best()[1] - settings.top_n_sigma * deviation
        ids, logits = rows.reaching(row.logits, least) if settings.top_k == 0 else row.largest(settings.top_k)
        count = max(1, np.count_nonzero(logits >= least))
        return ids[:count], logits[:count], settings.top_p
    if settings.top_k > 0:
        return *row.largest(settings.top_k), settings.top_p
    if settings.top_p < 1:
        return *_nucleus(row, settings.top_p), 1.0
    # A little less than min-p's bound: it is applied in double precision.
    return *rows.reaching(row.logits, row.best()[1] + math.log(settings.min_p) - 1e-3), 1.0


def _nucleus(row: RowScan, top_p: float) -> tuple[Ids, LogitRow]:
    """The smallest set of likeliest tokens that reaches `top_p`, without sorting the whole row."""
    size, num_tokens = 256, len(row.logits)
    ids, logits = row.largest(size)
    maximum = float(logits[0])
    total = rows.sum_of_exponentials(row.logits, maximum)
    while True:
        shares = np.cumsum(np.exp(logits.astype(np.float64) - maximum) / total)
        if size >= num_tokens or shares[-1] >= top_p:
            count = int(np.searchsorted(shares, top_p)) + 1
            return ids[:count], logits[:count]
        size *= 8
        ids, logits = row.largest(size)
