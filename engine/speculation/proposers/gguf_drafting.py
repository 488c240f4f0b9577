"""A drafter that llama.cpp runs. One of a Llama-type model learns: torch trains additions to its weights, and llama.cpp
applies them. torch is imported only when there is something to learn, or to use of what was learned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from engine.speculation.drafter.gguf import GgufDrafter, GgufVocabulary, load_gguf
from engine.speculation.drafter.gguf_adapter import FOLDER
from engine.speculation.drafter.gguf_shape import GgufModel, read_gguf_model
from engine.speculation.drafter.torch_library import import_apart, preload_torch
from engine.speculation.model.interface import Vocabulary
from engine.speculation.proposers.drafted import DrafterProposer
from engine.speculation.proposers.drafting import Drafting, LearnerState, NgramMemory, Translator, make_proposer
from engine.speculation.proposers.shared_vocabulary import shares_vocabulary
from engine.values.config import SpeculationSettings
from engine.values.drafters import DrafterSource
from engine.values.errors import DrafterUnusable
from engine.values.stop_signal import StopSignal

if TYPE_CHECKING:
    from engine.speculation.drafter.adapter import Adapter
    from engine.speculation.learning.learner import Learner

_QUICK_BYTES = 200_000_000  # of weights, which llama.cpp loads in tenths of a second


class TeachableGgufDrafting(Drafting):
    def __init__(
        self,
        source: DrafterSource,
        drafter: GgufDrafter,
        vocabulary: GgufVocabulary,
        model: GgufModel,
        target: Vocabulary,
        proposer: DrafterProposer,
        translator: Translator | None,
        make_translator: Callable[[], Translator],
    ) -> None:
        """`make_translator`: samples to learn from are translated even if the proposer needs no translation."""
        super().__init__(source, source.key, target, proposer, translator)
        self._drafter = drafter
        self._drafter_vocabulary = vocabulary
        self._model = model
        self._make_translator = make_translator
        self._adapter: Adapter | None = None  # in use

    @property
    def teachable(self) -> TeachableGgufDrafting:
        return self

    @property
    def num_weights(self) -> int:
        return self._model.num_weights

    def make_learner(self, **known: Unpack[LearnerState]) -> Learner:
        preload_torch()
        import_apart("engine.speculation.drafter.gguf_weights", "engine.speculation.learning.learner")
        from engine.speculation.drafter.gguf_weights import stored_weights
        from engine.speculation.learning.learner import Learner
        from engine.speculation.learning.samples import SampleMaker

        strings = (self._translator or self._make_translator()).map.strings
        maker = SampleMaker(self.vocabulary, self._drafter_vocabulary, strings)
        known["adapter"] = known.get("adapter") or self._adapter
        return Learner.going_on(self._model.shape, stored_weights(self._model), maker, **known)

    def read_adapter(self, data: bytes) -> Adapter:
        preload_torch()
        import_apart("engine.speculation.drafter.adapter")
        from engine.speculation.drafter.adapter import Adapter

        return Adapter.from_bytes(data, self._model.shape)

    def use(self, adapter: Adapter | None, strength: float = 1.0) -> None:
        if adapter is None and self._adapter is None:
            return  # the drafter need not read again what it holds
        self._adapter = adapter
        if adapter is None:
            self._drafter.offer(None)
            return
        from engine.speculation.drafter.adapter import share_of
        from engine.speculation.drafter.gguf_weights import addition_of

        drafts = share_of(adapter, strength)
        self._drafter.offer(None if drafts is None else addition_of(self._model, drafts))


def open_gguf(
    settings: SpeculationSettings,
    source: DrafterSource,
    data_dir: Path,
    target: Vocabulary,
    memory: NgramMemory | None,
    pause: Callable[[], None] = lambda: None,
) -> Drafting:
    """Calls `pause` before what takes long. Raises DrafterUnusable, StoreUnusable, and what `pause` raises."""
    if not source.trusted or source.size_bytes > _QUICK_BYTES:
        pause()
    drafter, vocabulary = load_gguf(source.path, source.name, source.trusted, StopSignal(), data_dir / FOLDER)

    def make_translator(pause: Callable[[], None] = lambda: None) -> Translator:
        return Translator(data_dir / "vocabulary-maps", target, vocabulary, merges=settings.merge, pause=pause)

    translator = None if shares_vocabulary(target, vocabulary.pieces) else make_translator(pause)
    proposer = make_proposer(source, drafter, vocabulary, target, translator, memory)
    try:
        model = read_gguf_model(source.path)
    except DrafterUnusable:
        return Drafting(source, source.key, target, proposer, translator)
    return TeachableGgufDrafting(source, drafter, vocabulary, model, target, proposer, translator, make_translator)
