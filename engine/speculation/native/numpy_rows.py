"""Rows of logits read by numpy: the plain words of what `rows.cpp` does, and what does it where that is missing."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

LogitRow = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
Probabilities = npt.NDArray[np.float64]

_GROUP_SIZE = 64  # logits that one maximum stands for
_CHUNK_SIZE = 16_384  # logits: a part of the row that stays in the processor's cache
_MOST_HEAPS = 64


class NumpyRows:
    """The functions of `rows.py`."""

    def best(self, row: LogitRow) -> tuple[int, float]:
        best = int(row.argmax())
        return best, float(row[best])

    def outlook(self, row: LogitRow) -> tuple[int, float]:
        best, maximum = self.best(row)
        return best, maximum + math.log(self.sum_of_exponentials(row, maximum)) if math.isfinite(maximum) else maximum

    def largest(self, row: LogitRow, count: int) -> tuple[Ids, LogitRow]:
        """These are at least a bound taken from the maxima of groups, so that few groups need to be looked into."""
        num_groups = len(row) // _GROUP_SIZE
        num_grouped = num_groups * _GROUP_SIZE
        groups = row[:num_grouped].reshape(_GROUP_SIZE, num_groups)  # a group is a column
        maxima, rest = groups.max(axis=0), row[num_grouped:]
        if math.isnan((np.append(maxima, rest) if len(rest) else maxima).max()):
            ids = np.array([row.argmax()])
            return ids, row[ids]
        bound = _reached(maxima, count) if count <= num_groups else np.float32(-np.inf)
        columns = np.flatnonzero(maxima >= bound)
        at, of_columns = np.nonzero(groups.take(columns, axis=1) >= bound)
        ids = at * num_groups + columns[of_columns]
        if len(rest):
            ids = np.concatenate((ids, num_grouped + np.flatnonzero(rest >= bound)))
        ids, values = _descending(ids, row[ids])
        return ids[:count], values[:count]

    def reaching(self, row: LogitRow, bound: float) -> tuple[Ids, LogitRow]:
        ids = np.flatnonzero(row >= np.float32(bound))
        return _descending(ids, row[ids])

    def sum_of_exponentials(self, row: LogitRow, maximum: float) -> float:
        buffer = np.empty(min(_CHUNK_SIZE, len(row)), np.float32)
        total = 0.0
        for start in range(0, len(row), _CHUNK_SIZE):
            chunk = row[start : start + _CHUNK_SIZE]
            weights = buffer[: len(chunk)]
            np.exp(np.subtract(chunk, np.float32(maximum), out=weights), out=weights)
            total += float(weights.sum())
        return total

    def chances(self, values: LogitRow, temperature: float, top_p: float, log_min_p: float) -> Probabilities:
        logits = values.astype(np.float64)
        if top_p < 1:
            weights = np.exp(logits - logits[0])
            reached = np.searchsorted(np.cumsum(weights / weights.sum()), top_p)
            logits = logits[: int(reached) + 1]
        logits = logits[: max(1, np.count_nonzero(logits >= logits[0] + log_min_p))]
        probabilities: Probabilities = np.exp((logits - logits[0]) / temperature)
        probabilities /= probabilities.sum()
        return probabilities

    def place_of(self, weights: Probabilities, share: float) -> int:
        cumulative = np.cumsum(weights)
        # Scaled by the last sum, so that rounding can never put the throw beyond it.
        place = int(np.searchsorted(cumulative, share * cumulative[-1], side="right"))
        return min(place, len(weights) - 1)


def _reached(values: LogitRow, count: int) -> np.float32:
    """A value that at least `count` of them reach, and not many more."""
    bound: np.float32
    if count > _MOST_HEAPS:
        bound = np.partition(values, -count)[-count]
    else:  # dealt out to that many heaps, the largest of each; in a round this takes half the time
        bound = values[: len(values) // count * count].reshape(-1, count).max(axis=0).min()
    return bound


def _descending(ids: Ids, values: LogitRow) -> tuple[Ids, LogitRow]:
    """Sorts by value, largest first and equal ones in the order given."""
    order = np.argsort(-values, kind="stable")
    return ids[order], values[order]
