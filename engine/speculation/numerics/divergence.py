"""How far one distribution of tokens is from another, from their logits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.speculation.numerics.likeliest import Ids, LogitRow, RowScan, check_finite

Logs = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LikeliestLogs:
    """What is stored of a distribution: its likeliest tokens, and the weight of all others together."""

    ids: Ids  # shape (k,), likeliest first
    logs: Logs  # natural logarithms of their probabilities, shape (k,)
    log_rest: float  # the same of all others together; minus infinity where there are none


def log_probabilities(logits: LogitRow) -> Logs:
    """Shape (vocabulary,), natural. Raises TargetUnusable."""
    maximum = logits.max()
    check_finite(maximum)
    shifted = logits.astype(np.float64) - float(maximum)
    logs: Logs = shifted - np.log(np.exp(shifted).sum())
    return logs


def likeliest_logs(logits: LogitRow, count: int) -> LikeliestLogs:
    """The `count` likeliest tokens of a row. Raises TargetUnusable."""
    ids, _ = RowScan(logits).largest(count)
    logs = log_probabilities(logits)
    return LikeliestLogs(ids, logs[ids], _log_rest(logs, ids))


def divergence(original: LogitRow, other: LogitRow) -> float:
    """The Kullback–Leibler divergence, in nats, of the other row's distribution from the original's: Σ p (log p − log
    q)."""
    p, q = log_probabilities(original), log_probabilities(other)
    return max(0.0, _sum(p, q))


def divergence_of_likeliest(original: LikeliestLogs, other: LogitRow) -> float:
    """Computes `divergence` with all tokens but the original's likeliest taken as one, which can only make it
    smaller."""
    logs = log_probabilities(other)
    p = np.append(original.logs, original.log_rest)
    q = np.append(logs[original.ids], _log_rest(logs, original.ids))
    return max(0.0, _sum(p, q))


def _sum(p: Logs, q: Logs) -> float:
    """Σ p (log p − log q), given logarithms; a token without any probability counts for nothing."""
    weights = np.exp(p)
    seen = weights > 0
    return float(np.dot(weights[seen], p[seen] - q[seen]))


def _log_rest(logs: Logs, ids: Ids) -> float:
    """The logarithm of the probability of all other tokens, which may be far below the precision of 1 minus theirs."""
    others = np.delete(logs, ids)
    largest_log = others.max(initial=-np.inf)
    return float(largest_log + np.log(np.exp(others - largest_log).sum())) if largest_log > -np.inf else -math.inf
