"""A target of llama.cpp that continues several sequences in one pass.

The weights are read once for all of them, which is what a pass spends its time on. Every sequence has a part of the
context to itself ("split" and not "unified", in llama.cpp's words): rows do not look through each other's past.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from llama_cpp import llama_cpp as lib

from engine.config import TargetSettings
from engine.errors import TargetUnusable
from engine.stop_signal import StopSignal
from engine.target.interface import FloatRow
from engine.target.llama_cpp import MAX_TOKENS, LoadedModel
from engine.target.opening import context_parameters, open_context, open_model
from engine.target.runtime import last_error

DEFAULT_NUM_SLOTS = 16
DEFAULT_CONTEXT_SIZE = 768  # tokens of each sequence

_NO_SLOT = 1  # what llama_decode returns when the context is full


class BatchTarget(LoadedModel):
    """Implements `engine.target.interface.ParallelTarget`: evaluates the tokens of many sequences in one pass."""

    def __init__(self, path: Path, name: str, model: Any, context: Any, settings: TargetSettings) -> None:
        """Use `load`. Owns model and context from here on."""
        self.context_size: int = lib.llama_n_ctx_seq(context)
        self.num_slots: int = lib.llama_n_seq_max(context)
        self._num_held = [0] * self.num_slots
        batch_size = self.num_slots * self.context_size  # all slots may begin at once
        super().__init__(path, name, model, context, settings, batch_size)

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
        parameters = context_parameters(settings)
        trained = lib.llama_model_n_ctx_train(model)
        size = settings.context_size or (min(trained, DEFAULT_CONTEXT_SIZE) if trained > 0 else DEFAULT_CONTEXT_SIZE)
        parameters.n_ctx = parameters.n_batch = num_slots * size
        parameters.n_ubatch = max(MAX_TOKENS, num_slots)
        parameters.n_seq_max = parameters.n_outputs_max = num_slots
        parameters.kv_unified = False
        context = open_context(model, path, parameters, settings)
        return cls(path, name, model, context, settings)

    def evaluate(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, FloatRow]:
        slots = sorted(tokens)  # neighbours share a pass; llama.cpp computes those behind a gap in another one
        assert slots
        place = 0
        self._batch_outputs[:] = 0
        for slot in slots:
            count, num_held = len(tokens[slot]), self._num_held[slot]
            assert 1 <= count <= self.context_size - num_held
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

    def drop(self, slot: int) -> None:
        lib.llama_memory_seq_rm(self._memory, slot, -1, -1)  # removing a whole sequence never fails (llama.h)
        self._num_held[slot] = 0

    def _recover(self, result: int) -> None:
        """Drops all sequences, as nobody knows how far a failed pass came in each, then raises."""
        lib.llama_memory_clear(self._memory, True)
        self._num_held = [0] * len(self._num_held)
        if result == _NO_SLOT:
            raise TargetUnusable("There is no room for more conversations side by side; choose a smaller model.")
        raise RuntimeError(f"llama_decode failed with {result}: {last_error()}")
