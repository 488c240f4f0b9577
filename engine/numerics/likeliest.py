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
_NUM_NOTED = 16  # tokens of a distribution: those beyond are hardly ever drafted


def largest(logits: LogitRow, count: int) -> tuple[Ids, LogitRow]:
    """The `count` largest logits and the ids of their tokens, largest first and of equal ones the lowest id first, as
    argmax has it. Raises TargetUnusable.

    They are at least the `count`-th largest of the maxima of groups, which leaves few logits to sort.
    """
    num_groups = len(logits) // _GROUP_SIZE
    values = logits
    if count < num_groups:
        values = logits[: num_groups * _GROUP_SIZE].reshape(_GROUP_SIZE, num_groups).max(axis=0)
    check_finite(values.max())
    rank = len(values) - count
    ids, logits = descending(np.flatnonzero(logits >= np.partition(values, rank)[rank]), logits)
    return ids[:count], logits[:count]


def descending(ids: Ids, logits: LogitRow) -> tuple[Ids, LogitRow]:
    """These ids and their logits, largest first and of equal ones in the order given."""
    values = logits[ids]
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

    def note(self, token: int, logits: LogitRow) -> None:
        """`token` was written; `logits` are the row that its distribution was made of, shape (vocabulary,)."""
        ids, values = largest(logits, min(_NUM_NOTED, len(logits)))
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
