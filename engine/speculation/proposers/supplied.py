"""A proposer that `DrafterSupply` finds and loads for a target: one at a time, the one that is expected to pay most."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from engine.speculation.numerics.ngram_cache import NgramCache
from engine.speculation.numerics.string_trie import StringTrie
from engine.speculation.proposers.interface import Proposer, Supplies
from engine.values.drafters import Guesses
from engine.values.learned import NgramRecord

StoreNgrams = Callable[[Sequence[NgramRecord]], None]


class SuppliedProposer(Proposer):
    """Counts its guesses, by which it is compared with others."""

    loads = True

    def __init__(self, label: str) -> None:
        self.label = label
        self._guesses = Guesses()  # since they were taken, of replies that may be learned from

    @classmethod
    def label_of(cls, supplies: Supplies) -> str:
        return supplies.drafter_label()

    @classmethod
    def build(cls, supplies: Supplies, is_cancelled: Callable[[], bool]) -> Proposer:
        assert supplies.load_drafter is not None
        return supplies.load_drafter(is_cancelled)

    @abstractmethod
    def measure_cost(self) -> float: ...

    def take_guesses(self) -> tuple[Guesses, float]:
        """The guesses since the last time, and the seconds of one as they are now."""
        guesses, self._guesses = self._guesses, Guesses()
        return guesses, self.step_s

    def offer_ngrams(self, trie: StringTrie, cache: NgramCache, store: StoreNgrams) -> None:  # noqa: ARG002
        """Switches to these with the next reply, if it translates. From any thread."""
        return
