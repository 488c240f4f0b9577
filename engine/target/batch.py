"""A target of llama.cpp that goes on with several sequences in one pass.

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
from engine.target.cpu import usable_cores
from engine.target.interface import FloatRow, TargetDescription, Vocabulary
from engine.target.llama_cpp import MAX_TOKENS
from engine.target.opening import context_parameters, describe, open_context, open_model
from engine.target.runtime import last_error
from engine.target.vocabulary import read_vocabulary, tokenize

DEFAULT_NUM_SLOTS = 16
DEFAULT_CONTEXT_SIZE = 768  # tokens of each sequence

_NO_SLOT = 1  # what llama_decode returns when the context is full


class BatchTarget:
    """Implements `engine.target.interface.ParallelTarget`."""

    def __init__(self, path: Path, name: str, model: Any, context: Any, threads: int, settings: TargetSettings) -> None:
        """Use `load`. Owns model and context from here on."""
        self._model = model
        self._context = context
        self._memory = lib.llama_get_memory(context)
        self._vocab = lib.llama_model_get_vocab(model)
        self._vocabulary = read_vocabulary(self._vocab)
        self._description = describe(model, path, name, threads, settings)
        self._context_size: int = lib.llama_n_ctx_seq(context)
        self._num_held = [0] * lib.llama_n_seq_max(context)  # by slot
        size = len(self._num_held) * self._context_size  # all slots may begin at once
        self._batch = lib.llama_batch_init(size, 0, 1)
        self._batch_tokens = np.ctypeslib.as_array(self._batch.token, (size,))
        self._batch_positions = np.ctypeslib.as_array(self._batch.pos, (size,))
        self._batch_outputs = np.ctypeslib.as_array(self._batch.logits, (size,))
        np.ctypeslib.as_array(self._batch.n_seq_id, (size,))[:] = 1

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
        threads = settings.threads or usable_cores()
        parameters = context_parameters(threads)
        trained = lib.llama_model_n_ctx_train(model)
        size = settings.context_size or (min(trained, DEFAULT_CONTEXT_SIZE) if trained > 0 else DEFAULT_CONTEXT_SIZE)
        parameters.n_ctx = parameters.n_batch = num_slots * size
        parameters.n_ubatch = max(MAX_TOKENS, num_slots)
        parameters.n_seq_max = parameters.n_outputs_max = num_slots
        parameters.kv_unified = False
        context = open_context(model, path, parameters, settings)
        return cls(path, name, model, context, threads, settings)

    @property
    def description(self) -> TargetDescription:
        return self._description

    @property
    def vocabulary(self) -> Vocabulary:
        return self._vocabulary

    @property
    def num_slots(self) -> int:
        return len(self._num_held)

    @property
    def context_size(self) -> int:
        return self._context_size

    def tokenize(self, text: str) -> list[int]:
        return tokenize(self._vocab, text)

    def evaluate(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, FloatRow]:
        slots = sorted(tokens)  # neighbours share a pass; llama.cpp computes those behind a gap in another one
        assert slots
        place = 0
        self._batch_outputs[:] = 0
        for slot in slots:
            count, num_held = len(tokens[slot]), self._num_held[slot]
            assert 1 <= count <= self._context_size - num_held
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
        rows = np.ctypeslib.as_array(pointer, (len(slots), len(self._vocabulary)))
        rows.flags.writeable = False
        return dict(zip(slots, rows, strict=True))

    def drop(self, slot: int) -> None:
        lib.llama_memory_seq_rm(self._memory, slot, -1, -1)  # removing a whole sequence never fails (llama.h)
        self._num_held[slot] = 0

    def close(self) -> None:
        if self._context is not None:
            lib.llama_batch_free(self._batch)
            lib.llama_free(self._context)
            lib.llama_model_free(self._model)
            self._context = None

    def _recover(self, result: int) -> None:
        """How far a failed pass came is not known for each sequence: drop all, then raise."""
        lib.llama_memory_clear(self._memory, True)
        self._num_held = [0] * len(self._num_held)
        if result == _NO_SLOT:
            raise TargetUnusable("There is no room for more conversations side by side; choose a smaller model.")
        raise RuntimeError(f"llama_decode failed with {result}: {last_error()}")
