"""The likeliest tokens of a row of logits, at little cost compared to the pass that computed it, and exact logarithms
of their probabilities for those who ask."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.speculation.native import rows
from engine.values.errors import TargetUnusable
from engine.values.learned import VerifiedReply
from engine.values.replies import TokenLog

LogitRow = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

NUM_NOTED = 16  # tokens of a distribution: those beyond are hardly ever drafted

Logs = npt.NDArray[np.float64]


class RowScan:
    """The largest logits of a row, which is read once for all who need them, and must not change meanwhile."""

    __slots__ = ("_at_least", "_found", "logits")

    def __init__(self, logits: LogitRow, at_least: int = 0) -> None:
        """`logits`: shape (vocabulary,). `at_least`: the number of largest logits that will be asked for sooner or
        later."""
        self.logits = logits
        self._at_least = at_least
        self._found: tuple[Ids, LogitRow] | None = None

    def best(self) -> tuple[int, float]:
        """The largest one's token, the lowest of equal ones, and its logit. Raises TargetUnusable."""
        if self._found is None and not self._at_least:
            best, value = rows.best(self.logits)
            check_finite(value)
            return best, value
        ids, values = self.largest(1)
        return int(ids[0]), float(values[0])

    def largest(self, count: int) -> tuple[Ids, LogitRow]:
        """The `count` largest logits and the ids of their tokens, largest first and of equal ones the lowest id first,
        as argmax has it. Raises TargetUnusable."""
        found = self._found
        if found is None or len(found[0]) < min(count, len(self.logits)):
            found = self._found = rows.largest(self.logits, max(count, self._at_least))
            check_finite(found[1][0])
        return found[0][:count], found[1][:count]


def check_finite(maximum: float | np.float32) -> None:
    """Checks the largest logit of a row; a NaN counts as the largest. Raises TargetUnusable."""
    if not math.isfinite(maximum):
        raise TargetUnusable(
            "The model computed something that is not a number; its file may be damaged: download it again."
        )


def likeliest(logits: LogitRow, count: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float16]]:
    """The `count` likeliest tokens, likeliest first, and their natural log-probabilities at temperature 1 over the
    whole row, shapes (count,). Raises TargetUnusable."""
    ids, values = RowScan(logits).largest(count)
    return ids.astype(np.int32), (values - np.float32(log_sum_exp(logits, values[0]))).astype(np.float16)


def log_sum_exp(logits: LogitRow, maximum: np.float32) -> float:
    """The logarithm of the sum of exponentials of a row whose largest logit is known."""
    return float(maximum) + math.log(rows.sum_of_exponentials(logits, float(maximum)))


class DistributionNotes:
    """The target's likeliest tokens before each token of a reply, from the passes that wrote it."""

    def __init__(self, temperature: float = 0.0) -> None:
        """`temperature`: the one that the reply is written at."""
        self._temperature = temperature
        self._tokens: list[int] = []
        self._likeliest: list[Ids] = []
        self._logits: list[LogitRow] = []

    def note(self, token: int, row: RowScan) -> None:
        """`token` was written; its distribution was made of `row`."""
        self._tokens.append(token)
        ids, values = row.largest(NUM_NOTED)
        self._likeliest.append(ids)
        self._logits.append(values)

    def first(self, num_tokens: int) -> VerifiedReply | None:
        """The notes of the first `num_tokens` tokens; None where there are none."""
        tokens = self._tokens[:num_tokens]
        if not tokens:
            return None
        logits = np.stack(self._logits[: len(tokens)])
        # As if there were no other tokens: their total would take another pass over the whole row.
        weights = np.exp(logits - logits[:, :1])
        logs = np.log(weights / weights.sum(1, keepdims=True), where=weights > 0, out=np.full_like(weights, -np.inf))
        likeliest = np.stack(self._likeliest[: len(tokens)]).astype(np.int32)
        return VerifiedReply(np.array(tokens, np.int32), likeliest, logs.astype(np.float16), self._temperature)


class TokenLogs:
    """Natural logarithms of probabilities at temperature 1, before anything limits what may be written."""

    def __init__(self, num_others: int, pieces: Sequence[bytes]) -> None:
        """`num_others`: how many of the likeliest tokens are listed with each token; `pieces`: of the vocabulary."""
        self._num_others = num_others
        self._pieces = pieces
        self._logs: list[TokenLog | None] = []

    def note(self, token: int, row: RowScan) -> None:
        """`token` was written; its distribution was made of `row`."""
        ids, values = row.largest(max(1, self._num_others))
        total = log_sum_exp(row.logits, values[0])
        others = tuple(
            (self._pieces[each], min(0.0, float(value) - total))
            for each, value in zip(ids[: self._num_others].tolist(), values, strict=False)
        )
        self._logs.append(TokenLog(self._pieces[token], min(0.0, float(row.logits[token]) - total), others))

    def skip(self, num_tokens: int) -> None:
        """Notes tokens that were written without the target."""
        self._logs += [None] * num_tokens

    def of(self, place: int) -> TokenLog | None:
        return self._logs[place] if place < len(self._logs) else None


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
