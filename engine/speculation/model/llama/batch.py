"""A target of llama.cpp that continues several sequences in one pass.

The weights are read once for all of them, which is what a pass spends its time on. Every sequence has its own part of
the context ("split" and not "unified", in llama.cpp's words): rows do not look through each other's past.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from llama_cpp import llama_cpp as lib

from engine.speculation.model.interface import FloatRow, TargetLimits
from engine.speculation.model.llama.llama_cpp import MAX_TOKENS, LlamaCppTarget
from engine.speculation.model.llama.loaded_model import ABORTED, LoadedModel, raise_failure
from engine.speculation.model.llama.opening import context_parameters, open_context, open_model, share_model
from engine.values.config import TargetSettings
from engine.values.sentences import template
from engine.values.stop_signal import StopSignal

DEFAULT_NUM_SLOTS = 16
DEFAULT_CONTEXT_SIZE = 768  # tokens of each sequence

_FULL = template("There is no room for more conversations side by side; choose a smaller model.")
_GENTLE_TOKENS = 64  # computed at once if a user may begin to wait: a pass ends between two of its products


class BatchTarget(LoadedModel):
    """Implements `model.interface.ParallelTarget`: evaluates the tokens of many sequences in one pass."""

    def __init__(
        self,
        path: Path,
        name: str,
        model: Any,
        context: Any,
        settings: TargetSettings,
        beside: LoadedModel | None = None,
    ) -> None:
        size = lib.llama_n_ctx_seq(context)
        self.limits = TargetLimits(size, size, 1, 0)
        self.num_slots: int = lib.llama_n_seq_max(context)
        self._num_held = [0] * self.num_slots
        batch_size = self.num_slots * size  # all slots may begin at once
        super().__init__(path, name, model, context, settings, batch_size, beside)

    @classmethod
    def load(
        cls,
        path: Path,
        name: str,
        settings: TargetSettings,
        on_progress: Callable[[float], None],
        stop: StopSignal,
        num_slots: int = DEFAULT_NUM_SLOTS,
    ) -> BatchTarget:
        """Loads a GGUF file. `settings.context_size` is that of each sequence. Raises TargetMissing, TargetUnusable,
        TargetUnsupported or Cancelled."""
        assert 1 <= num_slots <= lib.llama_max_parallel_sequences()
        model = open_model(path, settings, on_progress, stop)
        trained = lib.llama_model_n_ctx_train(model)
        size = settings.context_size or (min(trained, DEFAULT_CONTEXT_SIZE) if trained > 0 else DEFAULT_CONTEXT_SIZE)
        context = _open(model, path, settings, num_slots, size, MAX_TOKENS)
        return cls(path, name, model, context, settings)

    @classmethod
    def beside(cls, target: LlamaCppTarget, num_slots: int, context_size: int) -> BatchTarget:
        """A target on the weights of another that stays as it is, for another thread. `context_size` is that of each
        sequence. Raises TargetUnusable, as when there is no memory."""
        path, threads = target.description.path, target.description.threads
        model, settings = share_model(target._model), TargetSettings(threads=threads)
        context = _open(model, path, settings, num_slots, context_size, _GENTLE_TOKENS)
        return cls(path, target.description.name, model, context, settings, target)

    def evaluate(self, tokens: Mapping[int, Sequence[int]], stop: StopSignal | None = None) -> dict[int, FloatRow]:
        slots = sorted(tokens)  # neighbours share a pass; llama.cpp computes those after a gap in another one
        assert slots
        if stop is not None:
            self._watch(stop)
            if stop.is_set():
                self._recover(ABORTED)
        place = 0
        self._batch_outputs[:] = 0
        for slot in slots:
            count, num_held = len(tokens[slot]), self._num_held[slot]
            assert 1 <= count <= self.limits.context_size - num_held
            self._batch_tokens[place : place + count] = tokens[slot]
            self._batch_positions[place : place + count] = np.arange(num_held, num_held + count)
            for row in range(place, place + count):
                self._batch.seq_id[row][0] = slot
            place += count
            self._batch_outputs[place - 1] = 1
        self._batch.n_tokens = place
        result = lib.llama_decode(self._context, self._batch)
        if result != 0:
            self._recover(result)
        for slot in slots:
            self._num_held[slot] += len(tokens[slot])
        pointer = lib.llama_get_logits(self._context)  # waits for the backend
        rows = np.ctypeslib.as_array(pointer, (len(slots), len(self.vocabulary)))
        rows.flags.writeable = False
        return dict(zip(slots, rows, strict=True))

    def copy(self, slot: int, into: int) -> None:
        assert not self._num_held[into]
        lib.llama_memory_seq_cp(self._memory, slot, into, -1, -1)
        self._num_held[into] = self._num_held[slot]

    def drop(self, slot: int) -> None:
        lib.llama_memory_seq_rm(self._memory, slot, -1, -1)  # removing a whole sequence never fails (llama.h)
        self._num_held[slot] = 0

    def _recover(self, result: int) -> None:
        """Drops all sequences, as it is unknown how far a failed pass came in each, then raises."""
        lib.llama_memory_clear(self._memory, True)
        self._num_held = [0] * len(self._num_held)
        raise_failure(result, _FULL)


def _open(model: Any, path: Path, settings: TargetSettings, num_slots: int, size: int, at_once: int) -> Any:
    """A context for `num_slots` sequences, of which `at_once` tokens are computed at once. The model is freed if it
    fails."""
    parameters = context_parameters(settings)
    parameters.n_ctx = parameters.n_batch = num_slots * size
    parameters.n_ubatch = max(at_once, num_slots)
    parameters.n_seq_max = parameters.n_outputs_max = num_slots
    parameters.kv_unified = False
    return open_context(model, path, parameters, settings)
