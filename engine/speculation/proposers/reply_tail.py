"""A growing reply in the drafter's tokens, and what it teaches about translation."""

from __future__ import annotations

from collections.abc import Sequence

from engine.speculation.drafter.interface import DrafterVocabulary
from engine.speculation.numerics.ngram_cache import NgramCache
from engine.speculation.numerics.string_trie import StringTrie
from engine.speculation.numerics.translation import align, translate

_OPEN_TOKENS = 4  # at the end, that the next bytes may still change
_MOST_OPEN_TOKENS = 48  # in a text without spaces
_MOST_UNSPELLED_BYTES = 64
_SPACES = b" \n\t\r"


class ReplyTail:
    """The drafter's tokens of a text that grows at its end.

    A tokenizer may split the same text differently once more of it is known, so the tail is tokenized again and again.
    A border before the tail moves from one beginning of a word to the next, since no tokenizer merges across it; tokens
    before the border are settled.
    """

    def __init__(self, vocabulary: DrafterVocabulary) -> None:
        self._vocabulary = vocabulary
        self.tokens: list[int] = []
        self.num_settled = 0  # of `tokens`; they do not change any more
        self.num_dropped = 0  # times that bytes were left out
        self._open = b""  # the bytes after the border

    def extend(self, data: bytes) -> bool:
        """Returns False while the vocabulary has no tokens for the end of the text; bytes that cannot be spelled are
        left out after a while."""
        self._open += data
        encoded = self._vocabulary.encode(self._open)
        if encoded is None:
            if len(self._open) > _MOST_UNSPELLED_BYTES:
                self._open = b""
                self.num_dropped += 1
                self.num_settled = len(self.tokens)
            return False
        del self.tokens[self.num_settled :]
        self.tokens += encoded
        self._settle()
        return True

    def with_guess(self, data: bytes) -> list[int] | None:
        """The tokens after the settled ones if the text went on with `data`; None where the vocabulary has none.
        Changes nothing."""
        return self._vocabulary.encode(self._open + data)

    def _settle(self) -> None:
        pieces = self._vocabulary.pieces
        border = len(self.tokens) - _OPEN_TOKENS
        while border > self.num_settled:
            piece, before = pieces[self.tokens[border]], pieces[self.tokens[border - 1]]
            if piece[:1] == b" " and before[-1:] not in _SPACES:
                break
            border -= 1
        else:
            if len(self.tokens) - self.num_settled < _MOST_OPEN_TOKENS:
                return
            border = len(self.tokens) - _MOST_OPEN_TOKENS // 2
        num_bytes = sum(len(pieces[token]) for token in self.tokens[self.num_settled : border])
        self._open = self._open[num_bytes:]
        self.num_settled = border


class NgramLessons:
    """Follows one reply in both vocabularies, and teaches the cache which of the drafter's tokens each settled token of
    the target was made of."""

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
        """Resumes from here, with nothing waiting, since the two sides no longer spell the same bytes."""
        self._waiting.clear()
        self._num_learned = num_drafted

    def learn(self, new: Sequence[int], drafted: Sequence[int], num_settled: int) -> None:
        """Takes in `new` tokens of the target; `drafted` is the whole reply in the drafter's tokens, of which
        `num_settled` do not change any more."""
        self._waiting += new
        settled = list(drafted[self._num_learned : num_settled])
        if not settled:
            return
        groups = list(align(self._waiting, self._target_pieces, settled, self._drafter_pieces))
        num_target = sum(len(tokens) for tokens, _ in groups)
        num_drafter = sum(len(string) for _, string in groups)
        self._doubt_wrong_merges(groups, settled[:num_drafter])
        for tokens, string in groups:
            if len(tokens) == 1:
                self._cache.learn(tokens[0], tuple(string))
        del self._waiting[:num_target]
        self._num_learned += num_drafter

    def _doubt_wrong_merges(self, groups: Sequence[tuple[list[int], list[int]]], drafted: list[int]) -> None:
        """Doubts merges where the longest match is not what the target wrote."""
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
