"""Proposers for tests: the real neural one over a fake drafter, and one that guesses at random."""

from __future__ import annotations

import numpy as np

from engine.numerics.draft import Draft
from engine.numerics.draft_length import FixedCosts
from engine.numerics.ngram_cache import NgramCache
from engine.numerics.string_trie import StringTrie
from engine.numerics.vocabulary_map import VocabularyMap
from engine.pace import Pace
from engine.proposers.interface import Context
from engine.proposers.neural import NeuralProposer
from engine.speculation import Speculation
from engine.target.interface import TargetFeature, Vocabulary
from tests.fakes.drafter import FakeDrafter, FakeDrafterVocabulary, Logits


class RandomProposer:
    """Implements `engine.proposers.interface.Proposer`: any tokens, ends of the reply among them."""

    name = "random"
    needs = frozenset[TargetFeature]()

    def __init__(self, num_tokens: int, seed: int = 0) -> None:
        self._num_tokens = num_tokens
        self._random = np.random.default_rng(seed)

    def propose(self, context: Context, limit: int) -> Draft:  # noqa: ARG002
        length = int(self._random.integers(0, limit + 1))
        return Draft(tuple(self._random.integers(0, self._num_tokens, length).tolist()), proposer=self.name)

    def measure_cost(self) -> float:
        return 0.0

    def end_reply(self) -> None: ...


class SteadyPace(Pace):
    """Always drafts that many tokens."""

    def __init__(self, length: int) -> None:
        super().__init__(FixedCosts({1: 1.0}))
        self._steady = length

    def length(self) -> int:
        return self._steady


def neural_proposer(target: Vocabulary, logits: Logits, merge: bool = True, max_held: int = 4096) -> NeuralProposer:
    vocabulary = FakeDrafterVocabulary()
    strings = VocabularyMap.build(target.pieces, target.special, vocabulary.pieces, vocabulary.encode_many)
    trie = StringTrie(strings) if merge else StringTrie.direct_only(strings)
    cache = NgramCache(trie) if merge else None
    return NeuralProposer(FakeDrafter(logits, max_held), vocabulary, target, trie, cache)


def drafting(proposer: NeuralProposer | RandomProposer, length: int = 4) -> Speculation:
    return Speculation(SteadyPace(length), proposer)
