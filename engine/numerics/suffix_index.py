"""Where the last few tokens of a text were seen before, and what came after them there.

Two forms behind one question. `SuffixIndex` holds texts that do not change any more: their positions in the order of
the last three tokens (as one number, the latest token first), so that two binary searches find all places that end
alike, latest last. `GrowingText` holds one text that grows at its end and is cut back now and then: a list of places
for each pair of tokens. What two places share further back is compared when they are found, which is less than sorting
by it: a million tokens take 16 MB and a tenth of a second.

The idea of matching the longest suffix is SuffixDecoding's (arXiv 2411.04975), which keeps a tree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Tokens = npt.NDArray[np.int32]

LONGEST_MATCH = 32  # tokens that are compared; a longer match says no more
SHORTEST_MATCH = 2  # a single token was seen nearly everywhere
_MOST_PAIRS = 1024  # places that share two tokens, of which the latest are found
_BORDER = -1  # between two texts; no token
_BITS = np.uint64(21)  # for a token, so that three of them are one number
_MOST_TOKENS = 2**21 - 1
_NO_POSITIONS = np.zeros(0, np.int32)


class Occurrence(NamedTuple):
    """A place that ends as the text in question does."""

    tokens: Tokens  # of the text, or texts, that it is a place in
    position: int  # of the last token that is alike
    length: int  # how many are alike, SHORTEST_MATCH … LONGEST_MATCH

    def continuation(self, limit: int) -> list[int]:
        """What followed, at most `limit` tokens, none of another text."""
        following: list[int] = self.tokens[self.position + 1 : self.position + 1 + limit].tolist()
        return following[: following.index(_BORDER)] if _BORDER in following else following


class SuffixIndex:
    """Any number of texts, unchanging; those given later count as later."""

    def __init__(self, texts: Iterable[Sequence[int] | Tokens] = ()) -> None:
        """Tokens are 0 … 2²¹ - 2."""
        border = np.array([_BORDER], np.int32)
        parts = [border] * LONGEST_MATCH  # nothing is looked up before the first
        for text in texts:
            parts += [np.asarray(text, np.int32), border]
        self._tokens: Tokens = np.concatenate(parts)
        assert self._tokens.max() < _MOST_TOKENS
        self.num_tokens = int(np.count_nonzero(self._tokens != _BORDER))
        # The last token of a text has nothing after it, and one alone nothing before it.
        tokens = self._tokens
        inside = np.flatnonzero((tokens[1:-1] != _BORDER) & (tokens[2:] != _BORDER) & (tokens[:-2] != _BORDER)) + 1
        keys = _keys(tokens, inside)
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._positions: Tokens = inside[order].astype(np.int32)

    def find(self, tail: Tokens, most: int) -> list[Occurrence]:
        """Up to `most` places that end as `tail` does, latest last: those that share three tokens or more, or where
        there are none, some that share two."""
        if len(tail) < SHORTEST_MATCH or not len(self._positions):
            return []
        last, before = int(tail[-1]), int(tail[-2])
        pair = (last << 42) | (before << 21)
        if len(tail) > SHORTEST_MATCH:
            low, high = self._keys.searchsorted(np.array([pair | int(tail[-3]), (pair | int(tail[-3])) + 1], np.uint64))
            if low < high:
                return _occurrences(self._tokens, self._positions[max(low, high - most) : high], tail)
        low, high = self._keys.searchsorted(np.array([pair, pair + (1 << 21)], np.uint64))
        pairs = np.sort(self._positions[max(low, high - _MOST_PAIRS) : high])  # they are in the order of the third
        return _occurrences(self._tokens, pairs[-most:], tail)


class GrowingText:
    """One text, in which the places of every pair of tokens are known."""

    def __init__(self) -> None:
        self._tokens: Tokens = np.full(1024, _BORDER, np.int32)
        self._size = LONGEST_MATCH  # nothing is looked up before the first
        self._places: defaultdict[tuple[int, int], list[int]] = defaultdict(list)

    def __len__(self) -> int:
        return self._size - LONGEST_MATCH

    def become(self, tokens: Sequence[int]) -> None:
        """From now on the text is `tokens`; what they begin with as it did costs little."""
        known = self._common(tokens)
        self._cut(known)
        self.extend(tokens[known:])

    def extend(self, new: Sequence[int]) -> None:
        start, self._size = self._size, self._size + len(new)
        if self._size > len(self._tokens):
            self._tokens = np.concatenate((self._tokens, np.full(self._size, _BORDER, np.int32)))
        self._tokens[start : self._size] = new
        before = int(self._tokens[start - 1])
        for place, token in enumerate(new, start):
            if place > LONGEST_MATCH:
                self._places[(before, token)].append(place)
            before = token

    @property
    def last(self) -> int | None:
        """Its last token."""
        return int(self._tokens[self._size - 1]) if len(self) else None

    def tail(self) -> Tokens:
        """Its last tokens."""
        return self._tokens[max(LONGEST_MATCH, self._size - LONGEST_MATCH) : self._size]

    def find(self, most: int) -> list[Occurrence]:
        """Up to `most` earlier places that end as the text does, latest last."""
        if len(self) < SHORTEST_MATCH:
            return []
        before, last = self._tokens[self._size - 2 : self._size].tolist()
        places = self._places[before, last]
        if len(places) < 2:  # nowhere but here
            return []
        positions = np.array(places[-most - 1 : -1], np.int32)  # the last one is the end itself
        return _occurrences(self._tokens[: self._size], positions, self.tail())

    def _common(self, tokens: Sequence[int]) -> int:
        """How many of `tokens`, from the first on, are the text's already."""
        length = min(len(self), len(tokens))
        mine = self._tokens[LONGEST_MATCH : LONGEST_MATCH + length]
        differing = np.flatnonzero(mine != np.asarray(tokens[:length], np.int32))
        return int(differing[0]) if len(differing) else length

    def _cut(self, length: int) -> None:
        for end in range(self._size - 1, LONGEST_MATCH + length - 1, -1):
            if end > LONGEST_MATCH:
                self._places[(int(self._tokens[end - 1]), int(self._tokens[end]))].pop()
        self._size = LONGEST_MATCH + length


def _keys(tokens: Tokens, places: npt.NDArray[np.intp]) -> npt.NDArray[np.uint64]:
    """The last three tokens at each place, the latest one in the highest bits."""
    wide = np.where(tokens == _BORDER, _MOST_TOKENS, tokens).astype(np.uint64)
    return (wide[places] << (_BITS + _BITS)) | (wide[places - 1] << _BITS) | wide[places - 2]


def _occurrences(tokens: Tokens, positions: Tokens, tail: Tokens) -> list[Occurrence]:
    if not len(positions):
        return []
    size = min(len(tail), LONGEST_MATCH)
    back = np.arange(size, dtype=np.int32)
    alike = tokens[positions[:, None] - back] == tail[::-1][:size]
    lengths = np.where(alike.all(1), size, alike.argmin(1))
    return [
        Occurrence(tokens, position, length)
        for position, length in zip(positions.tolist(), lengths.tolist(), strict=True)
        if length >= SHORTEST_MATCH
    ]
