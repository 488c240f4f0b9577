"""A drafter that torch runs, which learns: its adapters and its learner."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Unpack

from engine.speculation.drafter.adapter import Adapter, adapted, matrix_sizes, share_of
from engine.speculation.drafter.checkpoint import LoadedDrafter, load_drafter
from engine.speculation.drafter.tokenizer import DrafterTokenizer
from engine.speculation.drafter.tokenizer_apart import TokenizerApart
from engine.speculation.learning.learner import Learner, LearnerSettings
from engine.speculation.learning.samples import SampleMaker
from engine.speculation.model.interface import Vocabulary
from engine.speculation.model.llama.cpu import usable_cores
from engine.speculation.proposers.drafted import DrafterProposer
from engine.speculation.proposers.drafting import Drafting, LearnerState, NgramMemory, Translator, make_proposer
from engine.speculation.proposers.shared_vocabulary import shares_vocabulary
from engine.values.config import SpeculationSettings
from engine.values.drafters import DrafterSource


class TeachableDrafting(Drafting):
    def __init__(
        self,
        source: DrafterSource,
        drafter: LoadedDrafter,
        target: Vocabulary,
        proposer: DrafterProposer,
        translator: Translator,
        is_shared: bool,
    ) -> None:
        """Samples to learn from are translated even if the proposer needs no translation: `is_shared`."""
        super().__init__(source, drafter.fingerprint, target, proposer, None if is_shared else translator)
        self._drafter = drafter
        self._strings = translator.map.strings
        self._own_weights = drafter.model.weights
        self._adapter: Adapter | None = None  # in use

    @property
    def teachable(self) -> TeachableDrafting:
        return self

    @property
    def num_weights(self) -> int:
        return sum(outputs * inputs for outputs, inputs in matrix_sizes(self._drafter.model.shape).values())

    def make_learner(self, settings: LearnerSettings | None = None, **known: Unpack[LearnerState]) -> Learner:
        maker = SampleMaker(self.vocabulary, self._drafter.tokenizer, self._strings)
        known["adapter"] = known.get("adapter") or self._adapter
        return Learner.going_on(self._drafter.model.shape, self._own_weights, maker, settings, **known)

    def read_adapter(self, data: bytes) -> Adapter:
        return Adapter.from_bytes(data, self._drafter.model.shape)

    def use(self, adapter: Adapter | None, strength: float = 1.0) -> None:
        if adapter is None and self._adapter is None:
            return  # the drafter need not read again what it holds
        self._adapter, drafts = adapter, share_of(adapter, strength)
        self._drafter.model.offer(self._own_weights if drafts is None else adapted(self._own_weights, drafts))


def open_teachable(
    settings: SpeculationSettings,
    source: DrafterSource,
    maps: Path,
    target: Vocabulary,
    memory: NgramMemory | None,
    pause: Callable[[], None] = lambda: None,
) -> TeachableDrafting:
    """Calls `pause` before what takes long. Raises DrafterUnusable, StoreUnusable, and what `pause` raises."""
    pause()
    read = DrafterTokenizer.from_folder if source.trusted else TokenizerApart
    drafter = load_drafter(source.path, settings.device, usable_cores(), read_tokenizer=read)
    tokenizer, outputs = drafter.tokenizer, drafter.model.shape.outputs
    translator = Translator(maps, target, tokenizer, outputs, settings.merge, pause)
    is_shared = outputs == len(tokenizer.pieces) and shares_vocabulary(target, tokenizer.pieces)
    proposer = make_proposer(source, drafter.model, tokenizer, target, None if is_shared else translator, memory)
    return TeachableDrafting(source, drafter, target, proposer, translator, is_shared)
