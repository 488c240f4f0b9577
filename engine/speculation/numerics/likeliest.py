"""The likeliest tokens of a row of logits, at little cost compared to the pass that computed it, and exact logarithms
of their probabilities for those who ask."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.values.errors import TargetUnusable
from engine.values.learned import VerifiedReply
from engine.values.replies import TokenLog

LogitRow = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

_GROUP_SIZE = 64  # logits that one maximum stands for
_CHUNK_SIZE = 16_384  # logits: a part of the row that stays in the processor's cache
_MOST_HEAPS = 64
_MOST_OUTLINES = 64  # that are kept: some 4 KB each
NUM_NOTED = 16  # tokens of a distribution: those beyond are hardly ever drafted

Logs = npt.NDArray[np.float64]


class Outline:
    """Copies of the groups of a row that may hold its largest logits. It outlives the row, so that most of the work can
    wait: in a round the processor's caches hold the weights of the target, and every step is slow."""

    __slots__ = ("_bound", "_columns", "_inside", "_num_groups", "_rest", "count")

    def __init__(self, logits: LogitRow, count: int) -> None:
        """`count`: how many of the largest may be asked for. Raises TargetUnusable.

        These are at least a bound taken from the maxima of groups, so that few groups need to be looked into.
        """
        self.count = count
        self._num_groups = len(logits) // _GROUP_SIZE
        num_grouped = self._num_groups * _GROUP_SIZE
        groups = logits[:num_grouped].reshape(_GROUP_SIZE, self._num_groups)  # a group is a column
        maxima = groups.max(axis=0)
        self._rest = logits[num_grouped:].copy()
        check_finite((np.append(maxima, self._rest) if len(self._rest) else maxima).max())
        self._bound = _reached(maxima, count) if count <= self._num_groups else np.float32(-np.inf)
        self._columns = (maxima >= self._bound).nonzero()[0]
        self._inside = groups.take(self._columns, axis=1).ravel()

    def best(self) -> tuple[int, np.float32]:
        if len(self._rest):
            ids, values = self.largest(1)
            return int(ids[0]), values[0]
        place = int(self._inside.argmax())
        row, of_columns = divmod(place, len(self._columns))
        return row * self._num_groups + int(self._columns[of_columns]), self._inside[place]

    def largest(self, count: int) -> tuple[Ids, LogitRow]:
        places = np.flatnonzero(self._inside >= self._bound)
        rows, of_columns = np.divmod(places, len(self._columns))
        ids, values = rows * self._num_groups + self._columns[of_columns], self._inside[places]
        if len(self._rest):
            places = np.flatnonzero(self._rest >= self._bound)
            ids = np.concatenate((ids, self._num_groups * _GROUP_SIZE + places))
            values = np.concatenate((values, self._rest[places]))
        ids, values = descending(ids, values)
        return ids[:count], values[:count]


class RowScan:
    """The largest logits of a row, which is read once for all who need them, and must not change meanwhile."""

    __slots__ = ("_at_least", "_outline", "logits")

    def __init__(self, logits: LogitRow, at_least: int = 0) -> None:
        """`logits`: shape (vocabulary,). `at_least`: the number of largest logits that will be asked for sooner or
        later."""
        self.logits = logits
        self._at_least = at_least
        self._outline: Outline | None = None

    def best(self) -> tuple[int, np.float32]:
        """The largest one's token, the lowest of equal ones, and its logit. Raises TargetUnusable."""
        if self._outline is None and not self._at_least:
            best = int(self.logits.argmax())
            check_finite(self.logits[best])
            return best, self.logits[best]
        return self.outline(1).best()

    def largest(self, count: int) -> tuple[Ids, LogitRow]:
        """The `count` largest logits and the ids of their tokens, largest first and of equal ones the lowest id first,
        as argmax has it. Raises TargetUnusable."""
        return self.outline(count).largest(count)

    def outline(self, count: int) -> Outline:
        """An outline of at least the `count` largest. Raises TargetUnusable."""
        if self._outline is None or self._outline.count < count:
            self._outline = Outline(self.logits, max(count, self._at_least))
        return self._outline


def _reached(values: LogitRow, count: int) -> np.float32:
    """A value that at least `count` of them reach, and not many more."""
    bound: np.float32
    if count > _MOST_HEAPS:
        bound = np.partition(values, -count)[-count]
    else:  # dealt out to that many heaps, the largest of each; in a round this takes half the time
        bound = values[: len(values) // count * count].reshape(-1, count).max(axis=0).min()
    return bound


def descending(ids: Ids, values: LogitRow) -> tuple[Ids, LogitRow]:
    """Sorts by value, largest first and equal ones in the order given."""
    order = np.argsort(-values, kind="stable")
    return ids[order], values[order]


def check_finite(maximum: np.float32) -> None:
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
    buffer = np.empty(min(_CHUNK_SIZE, len(logits)), np.float32)
    total = 0.0
    for start in range(0, len(logits), _CHUNK_SIZE):
        chunk = logits[start : start + _CHUNK_SIZE]
        weights = buffer[: len(chunk)]
        np.exp(np.subtract(chunk, maximum, out=weights), out=weights)
        total += float(weights.sum())
    return float(maximum) + math.log(total)


class DistributionNotes:
    """The target's likeliest tokens before each token of a reply, from the passes that wrote it."""

    def __init__(self, temperature: float = 0.0) -> None:
        """`temperature`: the one that the reply is written at."""
        self._temperature = temperature
        self._tokens: list[int] = []
        self._outlines: list[Outline] = []  # of the last rows
        self._likeliest: list[Ids] = []  # of those before
        self._logits: list[LogitRow] = []

    def note(self, token: int, row: RowScan) -> None:
        """`token` was written; its distribution was made of `row`."""
        self._tokens.append(token)
        self._outlines.append(row.outline(NUM_NOTED))
        if len(self._outlines) >= _MOST_OUTLINES:
            self._look_into_outlines()

    def first(self, num_tokens: int) -> VerifiedReply | None:
        """The notes of the first `num_tokens` tokens; None where there are none."""
        tokens = self._tokens[:num_tokens]
        if not tokens:
            return None
        self._look_into_outlines()
        logits = np.stack(self._logits[: len(tokens)])
        # As if there were no other tokens: their total would take another pass over the whole row.
        weights = np.exp(logits - logits[:, :1])
        logs = np.log(weights / weights.sum(1, keepdims=True), where=weights > 0, out=np.full_like(weights, -np.inf))
        likeliest = np.stack(self._likeliest[: len(tokens)]).astype(np.int32)
        return VerifiedReply(np.array(tokens, np.int32), likeliest, logs.astype(np.float16), self._temperature)

    def _look_into_outlines(self) -> None:
        for outline in self._outlines:
            ids, values = outline.largest(NUM_NOTED)
            self._likeliest.append(ids)
            self._logits.append(values)
        self._outlines.clear()


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
