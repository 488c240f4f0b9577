"""A drafter that is loaded for one target: its proposer, and the n-grams of their translation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypedDict, Unpack

from engine.speculation.drafter.interface import Drafter, DrafterVocabulary
from engine.speculation.model.interface import Vocabulary
from engine.speculation.numerics.ngram_cache import NgramCache
from engine.speculation.numerics.string_trie import StringTrie
from engine.speculation.numerics.vocabulary_map import VocabularyMap, open_map
from engine.speculation.proposers.drafted import DrafterProposer
from engine.speculation.proposers.interface import SuppliedProposer
from engine.speculation.proposers.shared_vocabulary import SharedVocabularyDrafter
from engine.speculation.proposers.translated import TranslatedDrafter
from engine.values.drafters import DrafterSource
from engine.values.learned import Gain, NgramRecord

if TYPE_CHECKING:
    from engine.speculation.drafter.adapter import Adapter
    from engine.speculation.learning.learner import Learner


class NgramMemory(Protocol):
    """Stores n-grams from one start of the app to the next, for each pair of vocabularies."""

    def load(self, target_fingerprint: str, drafter_fingerprint: str) -> Sequence[NgramRecord]: ...
    def save(self, target_fingerprint: str, drafter_fingerprint: str, changed: Sequence[NgramRecord]) -> None: ...


class LearnerState(TypedDict, total=False):
    adapter: Adapter | None
    candidate: Adapter | None
    gain: Gain  # of the adapter, on replies since it is in use
    numbers: Sequence[float]  # see `learning.judge.Evidence`
    remembers: bool  # whether drafts are made with memory, which scores then count; by default they are


class Teachable(Protocol):
    """A drafting whose drafter learns adapters."""

    vocabulary: Vocabulary  # of the target
    target_fingerprint: str
    pair: tuple[str, str]

    @property
    def num_weights(self) -> int:
        """The number of weights in the drafter's matrices."""

    def make_learner(self, **known: Unpack[LearnerState]) -> Learner:
        """A learner for the known adapter, by default the one in use, that goes on from the candidate, by default from
        the same; for any one thread. Its judge goes on from what the adapter brought and what is known of the
        candidate."""

    def read_adapter(self, data: bytes) -> Adapter:
        """Raises AdapterUnusable."""

    def use(self, adapter: Adapter | None, strength: float = 1.0) -> None:
        """Switches to that share of this adapter from the next reply on; None: to its original weights. From any
        thread."""


class Translator:
    """Translates between the tokens of a drafter and those of a target: the map of both vocabularies, and what was
    learned."""

    def __init__(
        self,
        maps: Path,
        target: Vocabulary,
        drafter: DrafterVocabulary,
        num_outputs: int | None = None,
        merges: bool = True,
        pause: Callable[[], None] = lambda: None,
    ) -> None:
        """`maps`: the folder of vocabulary maps. Takes seconds the first time, when the map is built, before which
        `pause` is called. The drafter can guess its first `num_outputs` tokens; without `merges`, several of them never
        become one of the target."""
        pieces, outputs = drafter.pieces, num_outputs or len(drafter.pieces)

        def build() -> VocabularyMap:
            pause()
            return VocabularyMap.build(target.pieces, target.silent, pieces, drafter.encode_many, outputs)

        self._pair = target.fingerprint, drafter.fingerprint
        self.map = open_map(maps, self._pair[0], f"{drafter.fingerprint} {outputs}", build)
        self._merges = merges

    def open(self, memory: NgramMemory | None) -> tuple[StringTrie, NgramCache | None, Callable[..., None]]:
        """Opens what a proposer translates with, and a function that stores changes to it. Raises StoreUnusable."""
        if not self._merges:
            return StringTrie(self.map.only_direct()), None, lambda _changed: None
        trie = StringTrie(self.map)
        cache = NgramCache(trie)
        if memory is not None:
            cache.load(memory.load(*self._pair))

        def store(changed: Sequence[NgramRecord]) -> None:
            if memory is not None and changed:
                memory.save(*self._pair, changed)

        return trie, cache, store


class Drafting:
    """A loaded drafter and what drafts with it. `proposer` belongs to the thread of the target."""

    def __init__(
        self,
        source: DrafterSource,
        drafter_fingerprint: str,
        target: Vocabulary,
        proposer: SuppliedProposer,
        translator: Translator | None,
    ) -> None:
        """`translator`: None where both have one vocabulary."""
        self.source = source
        self.proposer = proposer
        self.vocabulary = target
        self.target_fingerprint = target.fingerprint
        self.drafter_fingerprint = drafter_fingerprint
        self.pair = (self.target_fingerprint, drafter_fingerprint)  # adapters are stored by it
        self._translator = translator

    @property
    def key(self) -> str:
        return self.source.key

    @property
    def teachable(self) -> Teachable | None:
        """This, if the drafter can learn adapters."""
        return None

    def renew_ngrams(self, memory: NgramMemory) -> None:
        """Switches to the n-grams of `memory` from the next reply on, and stores changes there; what it has learned and
        not stored yet is dropped. From any thread. Raises StoreUnusable."""
        if self._translator is not None:
            trie, cache, store = self._translator.open(memory)
            if cache is not None:
                self.proposer.offer_ngrams(trie, cache, store)


def make_proposer(
    source: DrafterSource,
    drafter: Drafter,
    vocabulary: DrafterVocabulary,
    target: Vocabulary,
    translator: Translator | None,
    memory: NgramMemory | None,
) -> DrafterProposer:
    """Raises StoreUnusable."""
    if translator is None:
        return SharedVocabularyDrafter(drafter, vocabulary.pieces, target, source.label)
    return TranslatedDrafter(drafter, vocabulary, target, *translator.open(memory), source.label)
