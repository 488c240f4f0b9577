"""Counts of what usually follows in a user's texts, after their last one, two, four and eight tokens.

Places with long matches are quoted (see `numerics.suffix_index`). Counts say more where matches are short: they come
from all of the latest texts, the older ones weighing less, and from the present chat. From short to long contexts they
are interpolated, as PPM does (Cleary and Witten, 1984): what a context has seen, and for the rest what a shorter one
has. Only followers that were seen are named; the rest of the probability belongs to no token.

A context is known by a hash that hardly ever collides, and is found by one binary search. A lookup in a chat and two
indexes takes some forty microseconds; tables hold the latest 150,000 tokens of texts, in 17 MB at most.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Tokens = npt.NDArray[np.int32]

_LENGTHS = (1, 2, 4, 8)  # of contexts, in tokens
LONGEST_CONTEXT = _LENGTHS[-1]
_FACTOR = 0x9E3779B97F4A7C15  # odd, of the hash
_MASK = (1 << 64) - 1
_BITS = 21  # of a token
_MOST_COUNTED = 150_000  # tokens of finished texts, the latest
_HALF_LIFE = 100_000  # tokens after which what was seen weighs half as much
_MOST_FOLLOWERS = 8  # of a context that are named
_HERE = 2.0  # weight of what followed in this chat, against the latest of the others
_ESCAPE = 0.5  # for each different follower, to what shorter contexts say

SURE_ALONE = 0.95  # probability of a drafter's likeliest from which on it is not blended with what is expected here

_SURE = (0.3, 0.6, 0.85)  # borders between probabilities of the likeliest
NUM_KINDS = len(_LENGTHS) * (len(_SURE) + 1)


@dataclass(frozen=True, slots=True)
class Seen:
    weights: dict[int, float]  # by token, of those seen most
    total: float  # of all that followed
    num_different: int


@dataclass(frozen=True, slots=True)
class Expected:
    probabilities: dict[int, float]  # by token; they sum to 1 at most
    kind: int  # by the length of the longest context that was seen, and how likely the likeliest is; below NUM_KINDS


class Habits:
    """Habits in finished texts, which do not change."""

    def __init__(self, tokens: Tokens) -> None:
        """Takes the texts one after another, the latest last; negative tokens are borders between texts, and there are
        LONGEST_CONTEXT of them at least."""
        self._tables = [_Table(tokens[-_MOST_COUNTED:], length) for length in _LENGTHS]

    def seen(self, place: int, context: int) -> Seen | None:
        """What followed this context, whose length is at `place` among all lengths."""
        return self._tables[place].seen(context)


class _Table:
    """The contexts of one length. Plain views of arrays: numpy's calls are slow for single numbers."""

    def __init__(self, tokens: Tokens, length: int) -> None:
        windows = np.lib.stride_tricks.sliding_window_view(tokens, length + 1)  # contexts, and what followed them
        windows = windows[(windows >= 0).all(axis=1)]
        ages = np.arange(len(windows))[::-1]
        numbers = np.zeros(len(windows), np.uint64)
        for back in range(1, length + 1):
            numbers = numbers * np.uint64(_FACTOR) + windows[:, -1 - back].astype(np.uint64) + np.uint64(1)
        contexts, groups = np.unique(numbers, return_inverse=True)
        pairs, which = np.unique((groups << _BITS) | windows[:, -1], return_inverse=True)
        weights = np.bincount(which, 0.5 ** (ages / _HALF_LIFE), len(pairs))
        of_pairs = pairs >> _BITS
        starts = np.searchsorted(of_pairs, np.arange(len(contexts) + 1))
        num_different = np.diff(starts)
        named = np.lexsort((-weights, of_pairs))[np.arange(len(pairs)) - starts[of_pairs] < _MOST_FOLLOWERS]
        self._contexts = contexts.data
        self._starts = np.append(0, np.cumsum(np.minimum(num_different, _MOST_FOLLOWERS))).astype(np.int32).data
        self._followers = (pairs[named] & ((1 << _BITS) - 1)).astype(np.int32).data
        self._weights = weights[named].astype(np.float32).data
        self._totals = np.bincount(of_pairs, weights, len(contexts)).astype(np.float32).data
        self._num_different = num_different.astype(np.int32).data

    def seen(self, context: int) -> Seen | None:
        place = bisect_left(self._contexts, context)
        if place == len(self._contexts) or self._contexts[place] != context:
            return None
        named = slice(self._starts[place], self._starts[place + 1])
        weights = dict(zip(self._followers[named], self._weights[named], strict=True))
        return Seen(weights, self._totals[place], self._num_different[place])


class GrowingHabits:
    """Habits in one text that grows at its end. The latest followers of a context count."""

    def __init__(self) -> None:
        self._latest: list[int] = []  # tokens, the latest first
        self._followers: dict[int, list[int]] = {}  # by context, the latest last

    def extend(self, new: Iterable[int]) -> None:
        for token in new:
            for context in _contexts(self._latest):
                followers = self._followers.setdefault(context, [])
                followers.append(token)
                if len(followers) > _MOST_FOLLOWERS:
                    del followers[0]
            self._latest = [token, *self._latest[: LONGEST_CONTEXT - 1]]

    def seen(self, _place: int, context: int) -> Seen | None:
        followers = self._followers.get(context)
        if followers is None:
            return None
        weights = dict.fromkeys(followers, 0.0)
        for token in followers:
            weights[token] += _HERE
        return Seen(weights, _HERE * len(followers), len(weights))


def expected(sources: Sequence[Habits | GrowingHabits], tail: Sequence[int]) -> Expected | None:
    """What is likely after a text that ends so; None where nothing followed its last token."""
    probabilities: dict[int, float] = {}
    num_seen = 0  # lengths
    for place, context in enumerate(_contexts(tail[::-1])):
        found = [seen for source in sources if (seen := source.seen(place, context)) is not None]
        if not found:
            break
        num_seen += 1
        escape = _ESCAPE * sum([seen.num_different for seen in found])
        share = 1 / (escape + sum([seen.total for seen in found]))
        probabilities = {token: escape * share * each for token, each in probabilities.items()}
        for seen in found:
            for token, weight in seen.weights.items():
                probabilities[token] = probabilities.get(token, 0.0) + weight * share
    if not num_seen:
        return None
    sure = bisect_right(_SURE, max(probabilities.values()))
    return Expected(probabilities, (num_seen - 1) * (len(_SURE) + 1) + sure)


def _contexts(latest: Sequence[int]) -> Iterator[int]:
    """The numbers of the contexts that a text ends with, the shortest first; `latest` has the last token first."""
    context = 0
    for length, token in enumerate(latest, 1):
        context = (context * _FACTOR + token + 1) & _MASK
        if length in _LENGTHS:
            yield context
