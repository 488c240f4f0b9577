"""How far one distribution of tokens is from another, from their logits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.numerics.likeliest import Ids, LogitRow, check_finite, largest

Logs = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LikeliestLogs:
    """What is kept of a distribution: its likeliest tokens, and how much all others weigh together."""

    ids: Ids  # shape (k,), likeliest first
    logs: Logs  # natural logarithms of their probabilities, shape (k,)


def log_probabilities(logits: LogitRow) -> Logs:
    """Shape (vocabulary,), natural. Raises TargetUnusable."""
    maximum = logits.max()
    check_finite(maximum)
    shifted = logits.astype(np.float64) - float(maximum)
    logs: Logs = shifted - np.log(np.exp(shifted).sum())
    return logs


def likeliest_logs(logits: LogitRow, count: int) -> LikeliestLogs:
    """The `count` likeliest tokens of a row. Raises TargetUnusable."""
    ids, _ = largest(logits, min(count, len(logits)))
    return LikeliestLogs(ids, log_probabilities(logits)[ids])


def divergence(original: LogitRow, other: LogitRow) -> float:
    """Kullback and Leibler's, in nats, of the other row's distribution from the original's: Σ p (log p − log q)."""
    p, q = log_probabilities(original), log_probabilities(other)
    return max(0.0, _weighted(p, p - q))


def divergence_of_likeliest(original: LikeliestLogs, other: LogitRow) -> float:
    """As `divergence`, with all tokens but the original's likeliest taken as one, which can only make it smaller."""
    q = log_probabilities(other)[original.ids]
    rest, other_rest = _rest(original.logs), _rest(q)
    return max(0.0, _weighted(original.logs, original.logs - q) + rest * float(np.log(rest) - np.log(other_rest)))


def _weighted(logs: Logs, differences: Logs) -> float:
    """Σ p · difference; a token without any probability counts for nothing."""
    weights = np.exp(logs)
    return float(np.dot(weights, np.where(weights > 0, differences, 0.0)))


def _rest(logs: Logs) -> float:
    return max(float(np.finfo(np.float64).tiny), 1.0 - float(np.exp(logs).sum()))
