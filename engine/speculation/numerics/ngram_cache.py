"""The n-gram cache of OmniDraft (arXiv 2507.02659, algorithm 1): the strings that target tokens are made of in texts.

The vocabulary map says what the drafter's tokenizer makes of a target token on its own; within a text it may split it
differently. The cache counts the strings that were seen, and the one that was seen most often for a token is the one in
the trie (is *live*). Used by one thread at a time.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from math import log2

from engine.speculation.numerics.string_trie import StringTrie
from engine.values.learned import NgramRecord

CAPACITY = 50_000  # entries; the paper lost nothing at a quarter of its size

_PRIOR = 1  # the count of a string of the vocabulary map that was never seen
_HALF_LIFE = 200_000  # learned tokens after which an unused entry weighs half as much


@dataclass(slots=True)
class _Tally:
    token: int
    count: int
    doubts: int
    last_use: int

    @property
    def is_doubtful(self) -> bool:
        return self.doubts > self.count

    @property
    def weight(self) -> float:
        """The eviction key: the count, halved for every half-life without use. As it is a logarithm, all entries lose
        the same, so that their order stays while nothing is used."""
        return log2(self.count + 1) + self.last_use / _HALF_LIFE


class NgramCache:
    """Keeps the strings of `trie` in step with what was seen.

    A string has one entry, for one token. Only tokens with the same bytes can claim the same string; writing one takes
    from the other's count, so the more frequent token has it.
    """

    def __init__(self, trie: StringTrie, capacity: int = CAPACITY) -> None:
        assert capacity > 0
        self._trie = trie
        self._capacity = capacity
        self._tallies: dict[tuple[int, ...], _Tally] = {}
        self._by_weight: list[tuple[float, tuple[int, ...]]] = []  # a heap; one item per entry, its weight may be old
        self._changed: set[tuple[int, ...]] = set()
        self._now = 0  # learned tokens

    def __len__(self) -> int:
        return len(self._tallies)

    def learn(self, token: int, string: tuple[int, ...]) -> None:
        """Counts that the target wrote `token` where the drafter's tokenizer wrote `string`."""
        if not string or not self._trie.can_hold(token, string):
            return
        self._now += 1
        tally = self._tallies.get(string) or self._new_tally(token, string)
        self._changed.add(string)
        if tally.token != token:
            if tally.count > 0:
                tally.count -= 1
                self._retire_if_doubtful(string, tally)
                return
            tally.token, tally.doubts = token, 0
        tally.count += 1
        tally.last_use = self._now
        current = self._trie.string_of(token)
        if current != string:
            self._promote(token, string, tally, current)

    def doubt(self, token: int) -> None:
        """Counts that the longest match was merged to `token` where the target wrote other tokens of the same bytes.

        A string that is doubted more often than it was confirmed is not live until it is confirmed again. Strings of
        one draft token need no merging and stay live.
        """
        string = self._trie.string_of(token)
        if len(string) < 2:
            return
        tally = self._tallies.get(string) or self._new_tally(token, string)
        if tally.token != token:
            return
        tally.doubts += 1
        tally.last_use = self._now
        self._changed.add(string)
        self._retire_if_doubtful(string, tally)

    def entries(self) -> tuple[NgramRecord, ...]:
        return tuple(_entry(string, tally) for string, tally in self._tallies.items())

    def load(self, entries: Iterable[NgramRecord]) -> None:
        """Fills a cache that has learned nothing yet. Impossible entries are left out; beyond the capacity, only the
        heaviest are loaded."""
        assert not self._tallies
        tallies = {
            entry.string: _Tally(entry.token, entry.count, entry.doubts, entry.last_use)
            for entry in entries
            if entry.string and self._trie.can_hold(entry.token, entry.string)
            if entry.count > 0 and entry.doubts >= 0 and entry.last_use >= 0
        }
        self._now = max((tally.last_use for tally in tallies.values()), default=0)
        if len(tallies) > self._capacity:
            heaviest = heapq.nlargest(self._capacity, tallies, key=lambda string: (tallies[string].weight, string))
            tallies = {string: tallies[string] for string in heaviest}
        self._tallies = tallies
        self._by_weight = sorted((tally.weight, string) for string, tally in tallies.items())  # a heap, too
        for string, tally in tallies.items():
            current = self._trie.string_of(tally.token)
            if current != string:
                self._promote(tally.token, string, tally, current)
            else:
                self._retire_if_doubtful(string, tally)

    def take_changes(self) -> tuple[NgramRecord, ...]:
        """The entries that changed since the last call, to be saved. Removed ones have a count of 0."""
        changes = tuple(
            _entry(string, tally) if (tally := self._tallies.get(string)) else NgramRecord(string, 0, 0, 0, 0)
            for string in self._changed
        )
        self._changed.clear()
        return changes

    def _new_tally(self, token: int, string: tuple[int, ...]) -> _Tally:
        """A new entry for the token that has this string now, or for `token`."""
        if len(self._tallies) >= self._capacity:
            self._evict()
        holder = self._holder(string)
        owner = token if holder is None else holder
        tally = _Tally(owner, self._prior(owner, string), 0, self._now)
        self._tallies[string] = tally
        heapq.heappush(self._by_weight, (tally.weight, string))
        return tally

    def _evict(self) -> None:
        """Removes the lightest entry. If its string is live, the one of the vocabulary map replaces it."""
        while True:
            old_weight, string = heapq.heappop(self._by_weight)
            tally = self._tallies[string]
            if tally.weight <= old_weight:
                break
            heapq.heappush(self._by_weight, (tally.weight, string))
        del self._tallies[string]
        self._changed.add(string)
        if self._trie.string_of(tally.token) in ((), string):
            self._fall_back(tally.token)

    def _fall_back(self, token: int) -> None:
        """Returns the token to its string of the vocabulary map, unless that is another token's or doubtful."""
        static = self._trie.static_string_of(token)
        tally = self._tallies.get(static)
        is_free = self._holder(static) in (None, token)
        is_usable = is_free and not (tally and (tally.token != token or tally.is_doubtful))
        self._trie.assign(token, static if is_usable else ())

    def _retire_if_doubtful(self, string: tuple[int, ...], tally: _Tally) -> None:
        if tally.is_doubtful and len(string) > 1 and self._trie.string_of(tally.token) == string:
            self._trie.assign(tally.token, ())

    def _promote(self, token: int, string: tuple[int, ...], tally: _Tally, current: tuple[int, ...]) -> None:
        """Makes the string live if its count is above that of the token's current one and that of another's claim."""
        if tally.is_doubtful and len(string) > 1:
            return
        if current and tally.count <= self._count(token, current):
            return
        holder = self._holder(string)
        if holder not in (None, token) and tally.count <= self._prior(holder, string):
            return
        self._trie.assign(token, string)

    def _count(self, token: int, string: tuple[int, ...]) -> int:
        tally = self._tallies.get(string)
        if tally is not None:
            return tally.count if tally.token == token else 0
        return self._prior(token, string)

    def _prior(self, token: int, string: tuple[int, ...]) -> int:
        return _PRIOR if self._trie.static_string_of(token) == string else 0

    def _holder(self, string: tuple[int, ...]) -> int | None:
        node = self._trie.node(string)
        return node.token if node is not None else None


def _entry(string: tuple[int, ...], tally: _Tally) -> NgramRecord:
    return NgramRecord(string, tally.token, tally.count, tally.doubts, tally.last_use)
