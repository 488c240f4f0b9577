"""One drafter for one target: its proposer, its learner, and the n-grams of their translation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from engine.config import SpeculationSettings
from engine.drafter.adapter import Adapter, adapted, matrix_sizes
from engine.drafter.checkpoint import LoadedDrafter, load_drafter
from engine.errors import Cancelled
from engine.learning.learner import Learner, LearnerSettings
from engine.learning.samples import SampleMaker
from engine.messages.learned import NgramRecord
from engine.numerics.ngram_cache import NgramCache
from engine.numerics.string_trie import StringTrie
from engine.numerics.vocabulary_map import VocabularyMap, open_map
from engine.proposers.drafted import DrafterProposer
from engine.target.cpu import usable_cores
from engine.target.interface import Vocabulary, vocabulary_fingerprint


class NgramMemory(Protocol):
    """Stores n-grams from one start of the app to the next, for each pair of vocabularies."""

    def load(self, target_fingerprint: str, drafter_fingerprint: str) -> Sequence[NgramRecord]: ...
    def save(self, target_fingerprint: str, drafter_fingerprint: str, changed: Sequence[NgramRecord]) -> None: ...


class Drafting:
    """Owns a drafter, with all that drafts with it and all that changes it: adapters and n-grams.

    `proposer` belongs to the thread of the target.
    """

    def __init__(
        self,
        drafter: LoadedDrafter,
        vocabulary: Vocabulary,
        strings: VocabularyMap,
        proposer: DrafterProposer,
        target_fingerprint: str,
        merges: bool,
    ) -> None:
        """Use `open_drafting`."""
        self.proposer = proposer
        self.target_fingerprint = target_fingerprint
        self.drafter_fingerprint = drafter.fingerprint
        self.pair = (target_fingerprint, drafter.fingerprint)  # adapters are stored by it
        self._drafter = drafter
        self.vocabulary = vocabulary  # of the target
        self._strings = strings
        self._merges = merges
        self._own_weights = drafter.model.weights
        self._adapter: Adapter | None = None  # in use

    def make_learner(self, settings: LearnerSettings | None = None, adapter: Adapter | None = None) -> Learner:
        """One that goes on from `adapter`, by default the one in use; for any one thread."""
        maker = SampleMaker(self.vocabulary, self._drafter.tokenizer, self._strings.strings)
        shape, settings = self._drafter.model.shape, settings or LearnerSettings()
        return Learner(shape, self._own_weights, maker, settings, adapter or self._adapter)

    @property
    def num_weights(self) -> int:
        """Of the drafter's matrices."""
        return sum(outputs * inputs for outputs, inputs in matrix_sizes(self._drafter.model.shape).values())

    def read_adapter(self, data: bytes) -> Adapter:
        """Raises AdapterUnusable."""
        return Adapter.from_bytes(data, self._drafter.model.shape)

    def use(self, adapter: Adapter | None) -> None:
        """From the next reply on it drafts with this adapter; None: with its original weights. From any thread."""
        if adapter is None and self._adapter is None:
            return  # the drafter need not read again what it holds
        self._adapter = adapter
        self._drafter.model.offer(self._own_weights if adapter is None else adapted(self._own_weights, adapter))

    def renew_ngrams(self, memory: NgramMemory) -> None:
        """From the next reply on it translates with the n-grams of `memory`, and stores changes there; what it has
        learned and not stored yet is dropped. From any thread. Raises StoreUnusable."""
        if self._merges:
            pair = self.target_fingerprint, self._drafter.tokenizer.fingerprint
            trie = StringTrie(self._strings)
            self.proposer.offer_ngrams(trie, *_open_cache(trie, memory, *pair))


def open_drafting(
    settings: SpeculationSettings,
    folder: Path,
    maps: Path,
    vocabulary: Vocabulary,
    memory: NgramMemory | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Drafting:
    """Loads the drafter in `folder`, and the map between its vocabulary and the target's from the folder `maps`. Takes
    seconds the first time, when that map is built.

    Raises DrafterUnusable, StoreUnusable, and Cancelled when `is_cancelled` says so between two steps.
    """
    if is_cancelled():
        raise Cancelled("Loading the drafter was cancelled.")
    drafter = load_drafter(folder, settings.device, usable_cores())
    tokenizer, outputs = drafter.tokenizer, drafter.model.shape.outputs
    never_drafted = vocabulary.special | vocabulary.end_of_generation
    target_fingerprint = vocabulary_fingerprint(vocabulary)

    def build() -> VocabularyMap:
        return VocabularyMap.build(vocabulary.pieces, never_drafted, tokenizer.pieces, tokenizer.encode_many, outputs)

    strings = open_map(maps, target_fingerprint, f"{tokenizer.fingerprint} {outputs}", build)
    trie = StringTrie(strings) if settings.merge else StringTrie.direct_only(strings)
    cache = _open_cache(trie, memory, target_fingerprint, tokenizer.fingerprint) if settings.merge else (None,)
    proposer = DrafterProposer(drafter.model, tokenizer, vocabulary, trie, *cache)
    return Drafting(drafter, vocabulary, strings, proposer, target_fingerprint, settings.merge)


def _open_cache(
    trie: StringTrie, memory: NgramMemory | None, target_fingerprint: str, drafter_fingerprint: str
) -> tuple[NgramCache, Callable[[Sequence[NgramRecord]], None]]:
    """The n-grams of these two vocabularies, and a function that stores changes to them. Raises StoreUnusable."""
    cache = NgramCache(trie)
    if memory is not None:
        cache.load(memory.load(target_fingerprint, drafter_fingerprint))

    def store(changed: Sequence[NgramRecord]) -> None:
        if memory is not None and changed:
            memory.save(target_fingerprint, drafter_fingerprint, changed)

    return cache, store
