"""The likeliest tokens of a row of logits, at little cost beside the pass that computed it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from engine.errors import TargetUnusable
from engine.messages.learned import VerifiedReply

LogitRow = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

_GROUP_SIZE = 64  # logits that one maximum stands for
_CHUNK_SIZE = 16_384  # logits: a part of the row that stays in the processor's cache
NUM_NOTED = 16  # tokens of a distribution: those beyond are hardly ever drafted


class RowScan:
    """The largest logits of a row, which is read once for all who ask for them, and must not change meanwhile."""

    __slots__ = ("_at_least", "_found", "logits")

    def __init__(self, logits: LogitRow, at_least: int = 0) -> None:
        """`logits`: shape (vocabulary,). `at_least`: so many of the largest will be asked for, sooner or later."""
        self.logits = logits
        self._at_least = at_least
        self._found: tuple[Ids, LogitRow] | None = None

    def largest(self, count: int) -> tuple[Ids, LogitRow]:
        """As `largest`."""
        if self._found is None or len(self._found[0]) < count:
            self._found = largest(self.logits, min(max(count, self._at_least), len(self.logits)))
        ids, values = self._found
        return ids[:count], values[:count]

    def best(self) -> tuple[int, np.float32]:
        """The largest one's token, and its logit. Raises TargetUnusable."""
        if self._found is None and not self._at_least:
            best = int(self.logits.argmax())
            check_finite(self.logits[best])
            return best, self.logits[best]
        ids, values = self.largest(1)
        return int(ids[0]), values[0]


def largest(logits: LogitRow, count: int) -> tuple[Ids, LogitRow]:
    """The `count` largest logits and the ids of their tokens, largest first and of equal ones the lowest id first, as
    argmax has it. Raises TargetUnusable.

    They are at least the `count`-th largest of the maxima of groups, which leaves few groups to look into.
    """
    num_groups = len(logits) // _GROUP_SIZE
    if count >= num_groups:
        check_finite(logits.max())
        ids = np.flatnonzero(logits >= _at_rank(logits, count))
        ids, values = descending(ids, logits[ids])
        return ids[:count], values[:count]
    groups = logits[: num_groups * _GROUP_SIZE].reshape(_GROUP_SIZE, num_groups)  # a group is a column
    rest = logits[num_groups * _GROUP_SIZE :]
    maxima = groups.max(axis=0)
    check_finite(np.maximum(maxima.max(), rest.max(initial=-np.inf)))
    bound = _at_rank(maxima, count)
    columns = np.flatnonzero(maxima >= bound)
    inside = groups.take(columns, axis=1).ravel()
    places = np.flatnonzero(inside >= bound)
    rows, of_columns = np.divmod(places, len(columns))
    ids, values = rows * num_groups + columns[of_columns], inside[places]
    if len(rest):
        places = np.flatnonzero(rest >= bound)
        ids, values = np.concatenate((ids, num_groups * _GROUP_SIZE + places)), np.concatenate((values, rest[places]))
    ids, values = descending(ids, values)
    return ids[:count], values[:count]


def _at_rank(values: LogitRow, rank: int) -> np.float32:
    """The `rank`-th largest, from 1 on."""
    bound: np.float32 = np.partition(values, len(values) - rank)[len(values) - rank]
    return bound


def descending(ids: Ids, values: LogitRow) -> tuple[Ids, LogitRow]:
    """The same, largest value first and of equal ones in the order given."""
    order = np.argsort(-values, kind="stable")
    return ids[order], values[order]


def check_finite(maximum: np.float32) -> None:
    """Of the logits of a row; a NaN counts as the largest. Raises TargetUnusable."""
    if not np.isfinite(maximum):
        raise TargetUnusable(
            "The model computed something that is not a number; its file may be damaged: download it again."
        )


def likeliest(logits: LogitRow, count: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float16]]:
    """The `count` likeliest tokens, likeliest first, and their natural log-probabilities at temperature 1 over the
    whole row, shapes (count,). Raises TargetUnusable."""
    ids, values = largest(logits, count)
    return ids.astype(np.int32), (values - np.float32(_log_sum_exp(logits, values[0]))).astype(np.float16)


def _log_sum_exp(logits: LogitRow, maximum: np.float32) -> float:
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

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._likeliest: list[Ids] = []
        self._logits: list[LogitRow] = []

    def note(self, token: int, row: RowScan) -> None:
        """`token` was written; its distribution was made of `row`."""
        ids, values = row.largest(NUM_NOTED)
        self._tokens.append(token)
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
        return VerifiedReply(np.array(tokens, np.int32), likeliest, logs.astype(np.float16))
