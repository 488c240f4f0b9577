"""The likeliest tokens of a row of logits and their log-probabilities, at little cost beside the pass that made it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from engine.messages.learned import VerifiedReply

_NUM_GROUPED = 64  # logits that one maximum stands for
_CHUNK = 16_384  # logits: a piece of the row that stays in the cache, instead of a second copy of it


def likeliest(logits: npt.NDArray[np.float32], count: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float16]]:
    """The `count` likeliest tokens, likeliest first (of equal ones the lowest first, as argmax has it), and their
    natural log-probabilities at temperature 1 over the whole row, shapes (count,)."""
    ids, values = largest(logits, count)
    return ids, (values - np.float32(_log_total(logits))).astype(np.float16)


def largest(logits: npt.NDArray[np.float32], count: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """The same tokens with their logits: half the time."""
    ids = _candidates(logits, count)
    values = logits[ids]
    order = np.argsort(-values, kind="stable")[:count]
    return ids[order].astype(np.int32), values[order]


def _candidates(logits: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.int64]:
    """At least the `count` largest, in ascending order of their ids. As many maxima of groups as are wanted bound them
    from below."""
    assert count <= len(logits)
    num_groups = len(logits) // _NUM_GROUPED
    if num_groups < count:
        return np.arange(len(logits))
    maxima = logits[: num_groups * _NUM_GROUPED].reshape(_NUM_GROUPED, num_groups).max(axis=0)
    return np.flatnonzero(logits >= np.partition(maxima, num_groups - count)[num_groups - count])


def _log_total(logits: npt.NDArray[np.float32]) -> float:
    """The logarithm of the sum of all exponentials."""
    largest = logits.max()
    buffer = np.empty(min(_CHUNK, len(logits)), np.float32)
    total = 0.0
    for start in range(0, len(logits), _CHUNK):
        part = logits[start : start + _CHUNK]
        weights = buffer[: len(part)]
        np.exp(np.subtract(part, largest, out=weights), out=weights)
        total += float(weights.sum())
    return float(largest) + math.log(total)


_NUM_LIKELIEST = 16  # tokens of a distribution: what lies beyond is hardly ever drafted


class DistributionNotes:
    """The target's likeliest tokens before each token of a reply, from the passes that the reply paid for anyway."""

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._likeliest: list[npt.NDArray[np.int32]] = []
        self._logits: list[npt.NDArray[np.float32]] = []

    def note(self, token: int, logits: npt.NDArray[np.float32]) -> None:
        """`token` was written; `logits` are the row that its distribution was made of, shape (vocabulary,)."""
        tokens, values = largest(logits, min(_NUM_LIKELIEST, len(logits)))
        self._tokens.append(token)
        self._likeliest.append(tokens)
        self._logits.append(values)

    def first(self, num_tokens: int) -> VerifiedReply | None:
        """Of the first so many tokens; None where there are none."""
        tokens = self._tokens[:num_tokens]
        if not tokens:
            return None
        logits = np.stack(self._logits[: len(tokens)])
        # As if there were no others: what they have together would take another pass over the whole row to know.
        weights = np.exp(logits - logits[:, :1])
        logs = np.log(weights / weights.sum(1, keepdims=True), where=weights > 0, out=np.full_like(weights, -np.inf))
        return VerifiedReply(
            np.array(tokens, np.int32), np.stack(self._likeliest[: len(tokens)]), logs.astype(np.float16)
        )
