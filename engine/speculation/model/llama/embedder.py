"""A model of llama.cpp that makes a vector of each text, by which texts are found and compared. It writes none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from llama_cpp import llama_cpp as lib

from engine.speculation.model.files.model_files import NO_EMBEDDER
from engine.speculation.model.interface import FloatRow, Interrupted
from engine.speculation.model.llama.loaded_model import ABORTED, LoadedModel
from engine.speculation.model.llama.opening import context_parameters, explain, free_model, open_model
from engine.speculation.model.llama.runtime import forget_errors, last_error
from engine.values.config import TargetSettings
from engine.values.errors import TargetUnsupported, TargetUnusable
from engine.values.stop_signal import StopSignal

_MOST_TOKENS = 2048  # of a text: such models see all of it at once, which takes memory by its square
_USUAL_TOKENS = 512  # if the file does not say
_MOST_SEQUENCES = 16  # texts of one pass
_POOLINGS = (lib.LLAMA_POOLING_TYPE_MEAN, lib.LLAMA_POOLING_TYPE_CLS, lib.LLAMA_POOLING_TYPE_LAST)
_SETTINGS = TargetSettings(gpu_layers=0)  # graphics cards are the target's
_TRIED = "a"


class Embedder(LoadedModel):
    """Texts in, vectors of length 1 out."""

    def __init__(self, path: Path, name: str, model: Any, context: Any) -> None:
        """Use `load`. Owns model and context from here on, even when it raises."""
        self.max_tokens: int = lib.llama_n_ubatch(context)  # of a text, and of one pass
        self.width: int = lib.llama_model_n_embd_out(model)
        try:
            super().__init__(path, name, model, context, _SETTINGS, self.max_tokens)
            self._batch_outputs[:] = 1
            if lib.llama_pooling_type(context) not in _POOLINGS:
                raise TargetUnsupported(NO_EMBEDDER, name=path.name)
            self._before, self._after = self._around()
        except BaseException:
            self.close()
            raise

    @classmethod
    def load(cls, path: Path, name: str, stop: StopSignal, is_trial: bool = False) -> Embedder:
        """Loads a GGUF file. `is_trial`: see `open_model`. Raises TargetMissing, TargetUnusable, TargetUnsupported or
        Cancelled."""
        try:
            model = open_model(path, _SETTINGS, lambda _progress: None, stop, is_trial)
        except TargetUnsupported as error:  # says what is wrong with it as a chat model
            raise TargetUnsupported(NO_EMBEDDER, name=path.name) from error
        trained = lib.llama_model_n_ctx_train(model)
        parameters = context_parameters(_SETTINGS)
        parameters.embeddings = parameters.kv_unified = True
        size = min(trained if trained > 0 else _USUAL_TOKENS, _MOST_TOKENS)
        parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = size
        parameters.n_seq_max = _MOST_SEQUENCES
        forget_errors()
        context = lib.llama_init_from_model(model, parameters)
        if not context:
            free_model(model)
            raise explain(path, last_error())
        return cls(path, name, model, context)

    @property
    def name(self) -> str:
        return self.description.name

    def tokenize(self, text: str) -> list[int]:
        """Tokens with the special ones that such a model reads around a text; in the text there are none."""
        return [*self._before, *self.spell(text), *self._after]

    def embed(self, texts: Sequence[Sequence[int]], stop: StopSignal) -> list[FloatRow]:
        """A vector for each, shape (`width`,). Each has 1 to `max_tokens` tokens of `tokenize`. Raises Interrupted, and
        TargetUnusable for a model that computes no numbers."""
        return [row for batch in self._batches(texts) for row in self._evaluate(batch, stop)]

    def _batches(self, texts: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
        batch: list[Sequence[int]] = []
        for text in texts:
            assert 1 <= len(text) <= self.max_tokens
            if batch and (len(batch) == _MOST_SEQUENCES or sum(map(len, batch)) + len(text) > self.max_tokens):
                yield batch
                batch = []
            batch.append(text)
        if batch:
            yield batch

    def _evaluate(self, batch: Sequence[Sequence[int]], stop: StopSignal) -> Iterator[FloatRow]:
        if stop.is_set():
            raise Interrupted
        self._watch(stop)
        place = 0
        for sequence, text in enumerate(batch):
            end = place + len(text)
            self._batch_tokens[place:end] = text
            self._batch_positions[place:end] = np.arange(len(text))
            for row in range(place, end):
                self._batch.seq_id[row][0] = sequence
            place = end
        self._batch.n_tokens = place
        if self._memory:
            lib.llama_memory_clear(self._memory, True)
        result = lib.llama_decode(self._context, self._batch)
        if result == ABORTED:
            raise Interrupted
        if result != 0:
            raise RuntimeError(f"llama_decode failed with {result}: {last_error()}")
        for sequence in range(len(batch)):
            pointer = lib.llama_get_embeddings_seq(self._context, sequence)
            vector: FloatRow = np.ctypeslib.as_array(pointer, (self.width,)).astype(np.float32)
            length = float(np.linalg.norm(vector))
            if not np.isfinite(length) or length == 0:
                raise TargetUnusable(
                    "{name} does not compute numbers; it is damaged: download it again.",
                    name=self.description.path.name,
                )
            yield (vector / length).astype(np.float32)

    def _around(self) -> tuple[list[int], list[int]]:
        """The tokens that llama.cpp puts before and after a text, for any kind of vocabulary. Raises
        TargetUnsupported."""
        vocab, data = lib.llama_model_get_vocab(self._model), _TRIED.encode()
        found = (lib.llama_token * 16)()
        count = lib.llama_tokenize(vocab, data, len(data), found, len(found), True, False)
        whole, alone = list(found[: max(0, count)]), self.spell(_TRIED)
        for start in range(len(whole) - len(alone) + 1):
            if alone and whole[start : start + len(alone)] == alone:
                return whole[:start], whole[start + len(alone) :]
        raise TargetUnsupported(NO_EMBEDDER, name=self.description.path.name)
