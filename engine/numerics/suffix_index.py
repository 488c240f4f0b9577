"""Finds where the last few tokens of a text occurred before, and what came after them there.

`SuffixIndex` holds finished texts: their positions sorted by the last three tokens (as one number, the latest token
first), so that two binary searches find all places that end alike, latest last. `GrowingText` holds one text that grows
at its end and is cut back now and then: a list of places for each pair of tokens. Tokens further back are compared only
where a place is found, which is cheaper than sorting by them: a million tokens take 16 MB and a tenth of a second.

The idea of matching the longest suffix is SuffixDecoding's (arXiv 2411.04975), which uses a tree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.numerics.draft import common_prefix_length

Tokens = npt.NDArray[np.int32]

LONGEST_MATCH = 32  # tokens that are compared; a longer match predicts no better
SHORTEST_MATCH = 2  # a single token occurs nearly everywhere
_MAX_PAIRS = 1024  # places that share two tokens, of which the latest are found
_BORDER = -1  # between two texts; no token
_BITS = np.uint64(21)  # of a token, so that three of them are one number
_MAX_TOKEN = 2**21 - 2


class Occurrence(NamedTuple):
    """A place that ends as the text in question does."""

    tokens: Tokens | list[int]  # of the text, or texts, that it is in
    position: int  # of the last token of the match
    length: int  # of the match, SHORTEST_MATCH … LONGEST_MATCH tokens

    def continuation(self, limit: int) -> list[int]:
        """The tokens after the match, at most `limit` and none of another text."""
        following = self.tokens[self.position + 1 : self.position + 1 + limit]
        if isinstance(following, list):
            return following
        tokens: list[int] = following.tolist()
        return tokens[: tokens.index(_BORDER)] if _BORDER in tokens else tokens


class SuffixIndex:
    """Any number of texts, which do not change; those given later count as later."""

    def __init__(self, texts: Iterable[Sequence[int] | Tokens] = ()) -> None:
        """Tokens are 0 … _MAX_TOKEN."""
        border = np.array([_BORDER], np.int32)
        parts = [border] * LONGEST_MATCH  # a comparison never reaches beyond the first
        for text in texts:
            parts += [np.asarray(text, np.int32), border]
        self._tokens: Tokens = np.concatenate(parts)
        assert self._tokens.max() <= _MAX_TOKEN
        self.num_tokens = int(np.count_nonzero(self._tokens != _BORDER))
        # The last token of a text has nothing after it, and one alone nothing before it.
        tokens = self._tokens
        inside = np.flatnonzero((tokens[1:-1] != _BORDER) & (tokens[2:] != _BORDER) & (tokens[:-2] != _BORDER)) + 1
        keys = _keys(tokens, inside)
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._positions: Tokens = inside[order].astype(np.int32)

    def find(self, tail: Sequence[int], limit: int) -> list[Occurrence]:
        """Up to `limit` places that end as `tail` does, latest last: those that share three tokens or more, or where
        there are none, some that share two."""
        if len(tail) < SHORTEST_MATCH or not len(self._positions):
            return []
        pair = (tail[-1] << 42) | (tail[-2] << 21)
        if len(tail) > SHORTEST_MATCH:
            low, high = self._keys.searchsorted(np.array([pair | tail[-3], (pair | tail[-3]) + 1], np.uint64))
            if low < high:
                return _occurrences(self._tokens, self._positions[max(low, high - limit) : high], tail)
        low, high = self._keys.searchsorted(np.array([pair, pair + (1 << 21)], np.uint64))
        pairs = np.sort(self._positions[max(low, high - _MAX_PAIRS) : high])  # they are sorted by the third token
        return _occurrences(self._tokens, pairs[-limit:], tail)


class GrowingText:
    """One text, in which the places of every pair of tokens are known.

    It uses plain lists: it is searched in every round, when a pass has just filled the processor's caches, and numpy's
    calls are slow then.
    """

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._places: defaultdict[tuple[int, int], list[int]] = defaultdict(list)

    def __len__(self) -> int:
        return len(self._tokens)

    @property
    def last(self) -> int | None:
        """The last token."""
        return self._tokens[-1] if self._tokens else None

    def become(self, tokens: Sequence[int]) -> None:
        """Changes the text to `tokens`; the part at the beginning that stays the same costs little."""
        known = common_prefix_length(self._tokens, tokens)
        self.cut(known)
        self.extend(tokens[known:])

    def cut(self, length: int) -> None:
        """Leaves only its first tokens."""
        for end in range(len(self._tokens) - 1, max(length, 1) - 1, -1):
            self._places[self._tokens[end - 1], self._tokens[end]].pop()
        del self._tokens[length:]

    def extend(self, new: Sequence[int]) -> None:
        for token in new:
            if self._tokens:
                self._places[self._tokens[-1], token].append(len(self._tokens))
            self._tokens.append(token)

    def tail(self) -> list[int]:
        """The last tokens."""
        return self._tokens[-LONGEST_MATCH:]

    def find(self, limit: int) -> list[Occurrence]:
        """Up to `limit` earlier places that end as the text does, latest last."""
        tokens = self._tokens
        end = len(tokens) - 1
        if end < 1:
            return []
        places = self._places[tokens[end - 1], tokens[end]][-limit - 1 : -1]  # the last one is the end itself
        found = []
        for place in places:
            length = SHORTEST_MATCH
            longest = min(LONGEST_MATCH, place + 1)
            while length < longest and tokens[place - length] == tokens[end - length]:
                length += 1
            found.append(Occurrence(tokens, place, length))
        return found


def _keys(tokens: Tokens, places: npt.NDArray[np.intp]) -> npt.NDArray[np.uint64]:
    """The last three tokens at each place as one number, the latest one in the highest bits."""
    wide = np.where(tokens == _BORDER, _MAX_TOKEN + 1, tokens).astype(np.uint64)
    return (wide[places] << (_BITS + _BITS)) | (wide[places - 1] << _BITS) | wide[places - 2]


def _occurrences(tokens: Tokens, positions: Tokens, tail: Sequence[int]) -> list[Occurrence]:
    if not len(positions):
        return []
    back = np.array(tail[: -LONGEST_MATCH - 1 : -1], np.int32)
    alike = tokens[positions[:, None] - np.arange(len(back), dtype=np.int32)] == back
    lengths = np.where(alike.all(1), len(back), alike.argmin(1))
    return [
        Occurrence(tokens, position, length)
        for position, length in zip(positions.tolist(), lengths.tolist(), strict=True)
        if length >= SHORTEST_MATCH
    ]
