"""What a reply teaches about translation: which drafter tokens each token of the target was made of, in context."""

from __future__ import annotations

from collections.abc import Sequence

from engine.numerics.ngram_cache import NgramCache
from engine.numerics.string_trie import StringTrie
from engine.numerics.translation import align, translate


class NgramLessons:
    """Follows one reply in both vocabularies and teaches the cache what has settled."""

    def __init__(
        self, trie: StringTrie, cache: NgramCache, target_pieces: Sequence[bytes], drafter_pieces: Sequence[bytes]
    ) -> None:
        self._trie = trie
        self._cache = cache
        self._target_pieces = target_pieces
        self._drafter_pieces = drafter_pieces
        self._waiting: list[int] = []  # the target's tokens whose drafter's tokens may still change
        self._num_learned = 0  # of the drafter's tokens

    def skip(self, num_drafted: int) -> None:
        """The two sides do not stand for the same bytes any more; go on from here, with nothing waiting."""
        self._waiting.clear()
        self._num_learned = num_drafted

    def learn(self, new: Sequence[int], drafted: Sequence[int], num_settled: int) -> None:
        """`new` tokens of the target were written; `drafted` is the whole reply in the drafter's tokens, of which
        `num_settled` do not change any more."""
        self._waiting += new
        settled = list(drafted[self._num_learned : num_settled])
        if not settled:
            return
        groups = list(align(self._waiting, self._target_pieces, settled, self._drafter_pieces))
        if not groups:
            return
        num_target = sum(len(tokens) for tokens, _ in groups)
        num_drafter = sum(len(string) for _, string in groups)
        self._doubt_wrong_merges(groups, settled[:num_drafter])
        for tokens, string in groups:
            if len(tokens) == 1:
                self._cache.learn(tokens[0], tuple(string))
        del self._waiting[:num_target]
        self._num_learned += num_drafter

    def _doubt_wrong_merges(self, groups: Sequence[tuple[list[int], list[int]]], drafted: list[int]) -> None:
        """Where the longest match is not what the target wrote."""
        written: dict[int, tuple[list[int], int]] = {}
        place = 0
        for tokens, string in groups:
            written[place] = (tokens, len(string))
            place += len(string)
        place = 0
        for segment in translate(self._trie, drafted, lambda _token: None):
            if segment.num_draft > 1 and written.get(place) != ([*segment.tokens], segment.num_draft):
                self._cache.doubt(segment.tokens[0])
            place += segment.num_draft
