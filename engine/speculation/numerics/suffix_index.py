"""Finds where the last few tokens of a text occurred before, and what came after them there.

All places are sorted by the tokens that end there, the latest one first: a suffix array of the text read backwards. So
the places that are most like the end of a text stand together, and one binary search finds them among any number.
Tokens are packed into four bytes each, the lowest first; read backwards, byte by byte, they are compared in one call. A
million tokens take 8 MB and a tenth of a second to half a second, the more the texts repeat.

`SuffixIndex` holds finished texts, `GrowingText` one that grows at its end and is cut back now and then.

The idea of matching the longest suffix is SuffixDecoding's (arXiv 2411.04975), which uses a tree.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.speculation.numerics.draft import common_prefix_length
from engine.speculation.numerics.habits import GrowingHabits, Habits

Tokens = npt.NDArray[np.int32]

LONGEST_MATCH = 32  # tokens that are compared
SHORTEST_MATCH = 2  # a single token occurs nearly everywhere
_MOST_ALIKE = 128  # places on either side with matches of the same length, of which the latest are found
_FEW = 64  # tokens are sorted in one by one; so are as many as a sixteenth of the text
_FEW_SHARE = 16
_BORDER = -1  # between two texts; no token
_SIZE = 4  # bytes of a token
_BITS = np.uint64(21)  # of a token, so that three of them are one number
_MAX_TOKEN = 2**21 - 2
_MOST_COUNTED = 8192  # tokens of a growing text that came at once, the latest


class Occurrence(NamedTuple):
    """A place that ends as the text in question does."""

    tokens: Tokens | list[int]  # of the text, or texts, that it is in
    position: int  # of the last token of the match
    length: int  # of the match, at least SHORTEST_MATCH tokens

    def continuation(self, limit: int) -> list[int]:
        """The tokens after the match, at most `limit` and none of another text."""
        following = self.tokens[self.position + 1 : self.position + 1 + limit]
        if isinstance(following, list):
            return following
        tokens: list[int] = following.tolist()
        return tokens[: tokens.index(_BORDER)] if _BORDER in tokens else tokens

    def moved(self, new: Sequence[int]) -> Occurrence | None:
        """The place moved on by these tokens, if they follow here; None if they do not."""
        if self.continuation(len(new)) != [*new]:
            return None
        return Occurrence(self.tokens, self.position + len(new), self.length + len(new))


class SortedPlaces:
    """Places in texts, sorted by the tokens that end there, the latest one first."""

    tokens: Tokens | list[int]  # all of them, after LONGEST_MATCH borders, beyond which no comparison reaches
    _data: bytes | bytearray  # these tokens, packed
    _order: Sequence[int]

    def find(self, tail: Sequence[int], limit: int) -> list[Occurrence]:
        """Up to `limit` places that end as `tail` does: those most like it, the longest match last, and of matches of
        one length the latest. Matches of at most half the longest length say little next to it, and are left out."""
        wanted: bytes | bytearray = _packed(tail[-LONGEST_MATCH:])[::-1]
        # The longest matches are next to where the tail would be.
        low = high = bisect_left(self._order, wanted, key=self._ending(len(wanted)))
        below, above = self._length(low - 1, wanted), self._length(high, wanted)
        least = max(SHORTEST_MATCH, max(below, above) // 2 + 1)
        found: list[tuple[int, int]] = []
        while len(found) < limit and max(below, above) >= least:
            if below > above:
                low -= 1
                found.append((below, self._order[low]))
                below = self._length(low - 1, wanted)
            else:
                found.append((above, self._order[high]))
                high += 1
                above = self._length(high, wanted)
        if found and found[-1][0] == max(below, above):  # there are more of that length: the latest are wanted
            shortest = found[-1][0]
            found = [each for each in found if each[0] > shortest]
            latest = self._latest(wanted[: shortest * _SIZE], low, high, limit)
            longer = {place for _, place in found}
            others = [place for place in latest if place not in longer]
            found += [(shortest, place) for place in others[len(found) - limit :]]
        return [Occurrence(self.tokens, place, length) for length, place in sorted(found)]

    def _latest(self, wanted: bytes | bytearray, low: int, high: int, limit: int) -> list[int]:
        """The latest places that end with `wanted`, in order; all between `low` and `high` do, and only some of the
        others are looked at."""
        order, ending = self._order, self._ending(len(wanted))
        first = bisect_left(order, wanted, max(0, low - _MOST_ALIKE), low, key=ending)
        end = bisect_right(order, wanted, high, min(len(order), high + _MOST_ALIKE), key=ending)
        return sorted(order[first:end])[-limit:]

    def _length(self, at: int, wanted: bytes | bytearray) -> int:
        """The number of tokens of a tail that the place at that position of the order shares."""
        if not 0 <= at < len(self._order):
            return 0
        width = len(wanted)
        different = int.from_bytes(wanted) ^ int.from_bytes(self._ending(width)(self._order[at]))
        return (8 * width - different.bit_length()) // (8 * _SIZE)

    def _ending(self, width: int) -> Callable[[int], bytes | bytearray]:
        """A function for the last tokens at a place, the latest one first, as `width` bytes that sort as they are."""
        data = self._data

        def ending(place: int) -> bytes | bytearray:
            end = place * _SIZE + _SIZE - 1
            return data[end : end - width : -1]

        return ending


class SuffixIndex(SortedPlaces):
    """Any number of texts, which do not change; those given later count as later."""

    def __init__(self, texts: Iterable[Sequence[int] | Tokens] = ()) -> None:
        """Tokens are 0 … _MAX_TOKEN."""
        border = np.array([_BORDER], "<i4")
        parts = [border] * LONGEST_MATCH
        for text in texts:
            parts += [np.asarray(text, "<i4"), border]
        self._data = np.concatenate(parts).tobytes()
        self.tokens = tokens = np.frombuffer(self._data, "<i4")
        assert tokens.max() <= _MAX_TOKEN
        self.num_tokens = int(np.count_nonzero(tokens != _BORDER))
        # The last token of a text has nothing after it, and one alone nothing before it.
        is_place = np.zeros(len(tokens), np.bool_)
        is_place[1:-1] = (tokens[1:-1] != _BORDER) & (tokens[2:] != _BORDER) & (tokens[:-2] != _BORDER)
        order = _sorted_places(tokens)
        self._order = order[is_place[order]].astype(np.int32).data
        self.habits = Habits(tokens)


class GrowingText(SortedPlaces):
    """One text, in which all places are known that something follows.

    It uses plain lists: it is searched in every round, when a pass has just filled the processor's caches, and numpy's
    calls are slow then.
    """

    def __init__(self) -> None:
        self.tokens: list[int] = [_BORDER] * LONGEST_MATCH
        self._data: bytearray = bytearray(_packed(self.tokens))
        self._order: list[int] = []
        self._habits = GrowingHabits()
        self._num_counted = 0  # of the tokens, in these

    def __len__(self) -> int:
        return len(self.tokens) - LONGEST_MATCH

    @property
    def last(self) -> int | None:
        return self.tokens[-1] if len(self) else None

    @property
    def habits(self) -> GrowingHabits:
        """The habits, brought up to date only when asked for."""
        self._habits.extend(self.tokens[LONGEST_MATCH + max(self._num_counted, len(self) - _MOST_COUNTED) :])
        self._num_counted = len(self)
        return self._habits

    def become(self, tokens: Sequence[int]) -> None:
        """Changes the text to `tokens`; the part at the beginning that stays the same costs little."""
        known = common_prefix_length(self.tokens[LONGEST_MATCH:], tokens)
        if known < len(self):
            self._cut(known)
        self.extend(tokens[known:])

    def extend(self, new: Sequence[int]) -> None:
        first = max(len(self.tokens) - 1, LONGEST_MATCH)  # nothing followed it until now
        self.tokens += new
        self._data += _packed(new)
        end = len(self.tokens) - 1
        if len(new) > _FEW + len(self) // _FEW_SHARE:
            order = _sorted_places(np.array(self.tokens[:end], np.int32))
            self._order = order[order >= LONGEST_MATCH].tolist()
        else:
            ending = self._ending(LONGEST_MATCH * _SIZE)
            for place in range(first, end):
                insort(self._order, place, key=ending)

    def tail(self) -> list[int]:
        return self.tokens[max(LONGEST_MATCH, len(self.tokens) - LONGEST_MATCH) :]

    def _cut(self, length: int) -> None:
        if length < self._num_counted:
            self._habits, self._num_counted = GrowingHabits(), 0
        end = length + LONGEST_MATCH
        del self.tokens[end:]
        del self._data[end * _SIZE :]
        self._order = [place for place in self._order if place < end - 1]


def _packed(tokens: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(tokens)}i", *tokens)


def _sorted_places(tokens: Tokens) -> npt.NDArray[np.intp]:
    """All places from the third on, by the LONGEST_MATCH tokens that end there, the latest one first: by three of them
    as one number, and then, among those still alike, by the rank of the place as many tokens earlier as are sorted
    already, which sorts twice as many (Karp, Miller and Rosenberg, 1972)."""
    wide = np.where(tokens == _BORDER, _MAX_TOKEN + 1, tokens).astype(np.uint64)
    keys = (wide[2:] << (_BITS + _BITS)) | (wide[1:-1] << _BITS) | wide[:-2]
    order = np.argsort(keys) + 2
    ranks = np.zeros(len(tokens), np.int64)  # of places; those alike have that of the first of them
    at = np.arange(len(order))  # in `order`, of places that are like others
    keys, depth = keys[order - 2], 3
    while True:
        is_new = np.concatenate([[True], keys[1:] != keys[:-1]])
        first = np.maximum.accumulate(np.where(is_new, at, 0))
        ranks[order[at]] = first
        left = ~(is_new & np.append(is_new[1:], True))
        at, first = at[left], first[left]
        if not len(at) or depth == LONGEST_MATCH:
            return order
        back = min(depth, LONGEST_MATCH - depth)
        alike = order[at]
        keys = (first << 32) | ranks[alike - back]
        sorting = np.argsort(keys)
        order[at], keys = alike[sorting], keys[sorting]
        depth += back
