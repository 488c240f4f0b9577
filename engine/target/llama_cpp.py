"""A target run by llama.cpp, through the low-level functions of llama-cpp-python.

The high-level `Llama` class is left alone: it cannot return several rows of logits without keeping a whole context of
them, and ignores whether a rollback worked.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
from llama_cpp import llama_cpp as lib

from engine.config import TargetSettings
from engine.errors import Cancelled, TargetUnusable
from engine.numerics.draft_length import MAX_LENGTH
from engine.stop_signal import StopSignal
from engine.target.interface import (
    FloatRows,
    Interrupted,
    StateRows,
    TargetDescription,
    TargetFeature,
    TargetLimits,
    Vocabulary,
)
from engine.target.opening import context_parameters, describe, free_model, number_of, open_context, open_model
from engine.target.passes import sample_tokens
from engine.target.runtime import forget_errors, last_error
from engine.target.states import num_copies, state_bytes
from engine.target.tokenizing import Tokenizer
from engine.target.vocabulary import read_vocabulary

MAX_TOKENS = 512  # of one pass: enough to keep every core busy
MAX_ROWS = 64  # of logits: llama.cpp reserves rows × vocabulary floats for them

_MOST_SAVED = 0.25  # of the memory that is free, for a copy of what is held
# Of logits computed again, as a share of how they spread: other kernels for batches of another size make it up to 0.12,
# what was not taken back more than 1.
_LARGEST_DEVIATION = 0.4

ABORTED = 2  # what llama_decode returns when the abort callback ended it
NO_SLOT = 1  # and when the context is full
_SEQUENCE = 0


def _native_is_set() -> Any:
    """A native `bool is_set(void *flag)` for llama.cpp's abort callback: C's own strlen, which is 0 as long as the
    flag is an empty string. A Python callback would take the interpreter's lock five hundred times in every pass."""
    c_library = ctypes.CDLL("ucrtbase") if sys.platform == "win32" else ctypes.CDLL(None)
    return ctypes.cast(c_library.strlen, lib.ggml_abort_callback)


_IS_SET = _native_is_set()


def _keeps_states(context: Any) -> bool:
    """Whether states are told token by token: models that were made for searching texts tell one for all of them."""
    return bool(lib.llama_pooling_type(context) == lib.LLAMA_POOLING_TYPE_NONE)


@dataclass(frozen=True, slots=True)
class _SavedState:
    state: npt.NDArray[np.uint8]  # as llama.cpp writes it, shape (bytes,)
    num_held: int


def _bytes_of(state: npt.NDArray[np.uint8]) -> Any:
    return state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))


class LoadedModel:
    """A model with its context and a batch for its passes: what a target of one sequence and one of several share."""

    def __init__(
        self,
        path: Path,
        name: str,
        model: Any,
        context: Any,
        settings: TargetSettings,
        batch_size: int,
        beside: LoadedModel | None = None,
    ) -> None:
        """Owns model and context from here on. `beside`: another one on the same model."""
        self._model = model
        self._context = context
        self._stop: StopSignal | None = None
        self._batch = lib.llama_batch_init(batch_size, 0, 1)
        self._batch_tokens = np.ctypeslib.as_array(self._batch.token, (batch_size,))
        self._batch_positions = np.ctypeslib.as_array(self._batch.pos, (batch_size,))
        self._batch_outputs = np.ctypeslib.as_array(self._batch.logits, (batch_size,))
        np.ctypeslib.as_array(self._batch.n_seq_id, (batch_size,))[:] = 1
        self._memory = lib.llama_get_memory(context)
        self.vocabulary: Vocabulary = beside.vocabulary if beside else read_vocabulary(lib.llama_model_get_vocab(model))
        self._tokenizer = Tokenizer(model, self.vocabulary, path.name)
        self.description: TargetDescription = (
            beside.description if beside else describe(model, context, path, name, settings)
        )

    def tokenize(self, text: str) -> list[int]:
        """As `Target.tokenize`."""
        return self.vocabulary.marks.tokens_of(text, self._tokenizer.tokenize)

    def spell(self, text: str) -> list[int]:
        """As `SpellingVocabulary.spell`."""
        return self._tokenizer.tokenize(text, with_special=False)

    def close(self) -> None:
        if self._context is not None:
            lib.llama_batch_free(self._batch)
            lib.llama_free(self._context)
            free_model(self._model)
            self._context = None

    def _watch(self, stop: StopSignal) -> None:
        """Lets `stop` end a running pass. Works on the CPU only (llama.h); on a GPU the passes themselves are short."""
        if stop is not self._stop:
            lib.llama_set_abort_callback(self._context, _IS_SET, ctypes.c_void_p(stop.address))
            self._stop = stop  # also keeps the flag alive while llama.cpp knows its address


class LlamaCppTarget(LoadedModel):
    """Implements `engine.target.interface.Target`: one sequence of tokens, taken back in llama.cpp's own memory."""

    def __init__(
        self,
        path: Path,
        name: str,
        model: Any,
        context: Any,
        settings: TargetSettings,
        stop: StopSignal,
        max_rows: int = MAX_ROWS,
    ) -> None:
        """Use `load`. Owns model and context from here on, also when it raises."""
        self._views: dict[tuple[int, int, int], FloatRows] = {}
        self._adapter: Any = None
        self.num_held = 0
        self._num_revocable = 0  # of the last tokens, where the model keeps a few states
        context_size = lib.llama_n_ctx(context)
        most = lib.llama_n_rs_seq(context) or context_size
        self.limits = TargetLimits(context_size, min(MAX_TOKENS, lib.llama_n_batch(context)), max_rows, most)
        try:
            super().__init__(path, name, model, context, settings, MAX_TOKENS)
            for row in range(MAX_TOKENS):
                self._batch.seq_id[row][0] = _SEQUENCE
            works = self._probe(stop)
        except BaseException:
            self.close()
            raise
        features = {TargetFeature.ROLLBACK: works, TargetFeature.STATES: _keeps_states(context)}
        self.features = frozenset(feature for feature, offered in features.items() if offered)
        self.limits = replace(self.limits, max_rollback=most if works else 0)

    @classmethod
    def load(
        cls,
        path: Path,
        name: str,
        settings: TargetSettings,
        on_progress: Callable[[float], None],
        stop: StopSignal,
        max_rows: int = MAX_ROWS,
        is_trial: bool = False,
    ) -> LlamaCppTarget:
        """Loads a GGUF file; a pass returns at most `max_rows` of logits. `is_trial`: see `open_model`. Raises
        TargetMissing, TargetUnsupported, TargetUnusable (CardsTooSmall where less on graphics cards would help) or
        Cancelled."""
        model = open_model(path, settings, on_progress, stop, is_trial)
        parameters = context_parameters(settings)
        parameters.n_ctx = settings.context_for(max(0, lib.llama_model_n_ctx_train(model)))
        parameters.n_batch = parameters.n_ubatch = MAX_TOKENS
        parameters.n_outputs_max = max_rows
        one_bytes = state_bytes(lambda key: number_of(model, key))
        parameters.n_rs_seq = num_copies(one_bytes, lib.llama_model_size(model), MAX_LENGTH)  # 0 where it has no state
        context = open_context(model, path, parameters, settings)
        try:
            return cls(path, name, model, context, settings, stop, max_rows)
        except Interrupted:
            raise Cancelled(f"Loading {path.name} was cancelled.") from None

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        count = len(tokens)
        assert 1 <= count <= self.limits.max_tokens
        assert 1 <= num_rows <= min(count, self.limits.max_rows)
        assert self.num_held + count <= self.limits.context_size
        if stop.is_set():
            raise Interrupted
        self._watch(stop)
        self._batch_tokens[:count] = tokens
        self._batch_positions[:count] = np.arange(self.num_held, self.num_held + count)
        self._batch_outputs[:count] = 0
        self._batch_outputs[count - num_rows : count] = 1
        self._batch.n_tokens = count
        result = lib.llama_decode(self._context, self._batch)
        if result != 0:
            self._recover(result)
        self.num_held += count
        self._num_revocable = min(count - 1, self.limits.max_rollback)
        return self._view(lib.llama_get_logits(self._context), num_rows, len(self.vocabulary))  # waits for the backend

    def evaluate_with_states(self, tokens: Sequence[int], stop: StopSignal) -> tuple[FloatRows, StateRows]:
        # Every token then gets a row, so that a prompt would pay for it; switching costs nothing.
        lib.llama_set_embeddings(self._context, True)
        try:
            rows = self.evaluate(tokens, len(tokens), stop)
            states = lib.llama_get_embeddings(self._context)
            return rows, self._view(states, len(tokens), lib.llama_model_n_embd_out(self._model))
        finally:
            lib.llama_set_embeddings(self._context, False)

    def roll_back(self, num_kept: int) -> bool:
        assert 0 <= num_kept <= self.num_held
        if num_kept == self.num_held:
            return True
        # llama.cpp would also take back what it has kept no state of, and go on from another one.
        can = num_kept == 0 or self.limits.rolls_back_freely or self.num_held - num_kept <= self._num_revocable
        if can and lib.llama_memory_seq_rm(self._memory, _SEQUENCE, num_kept, -1):
            self.num_held, self._num_revocable = num_kept, 0
            return True
        self._clear()
        return False

    def save(self) -> _SavedState | None:
        size = lib.llama_state_seq_get_size(self._context, _SEQUENCE)
        if not self.num_held or size > _MOST_SAVED * psutil.virtual_memory().available:
            return None
        state = np.empty(size, np.uint8)
        written = lib.llama_state_seq_get_data(self._context, _bytes_of(state), size, _SEQUENCE)
        return _SavedState(state[:written], self.num_held) if written else None

    def restore(self, saved: object) -> bool:
        assert isinstance(saved, _SavedState)
        self._clear()
        if not lib.llama_state_seq_set_data(self._context, _bytes_of(saved.state), len(saved.state), _SEQUENCE):
            self._clear()
            return False
        self.num_held = saved.num_held
        return True

    def use_threads(self, num_threads: int) -> None:
        """For passes over one token; larger ones go on with all threads."""
        lib.llama_set_n_threads(self._context, num_threads, self.description.threads)

    def use_adapter(self, path: Path | None) -> None:
        """From the next pass on, with the low-rank additions in this GGUF file, or None, and with no others; it holds
        nothing then. The file is not needed any more. llama.cpp checks little: `engine.drafter.gguf_adapter` has
        checked the file. Raises TargetUnusable where llama.cpp refuses it; then there are none."""
        self._clear()
        # The model may be that of another context, too, so it would outlive this one with all its adapters.
        lib.llama_set_adapters_lora(self._context, None, 0, None)
        if self._adapter is not None:
            lib.llama_adapter_lora_free(self._adapter)
            self._adapter = None
        if path is None:
            return
        forget_errors()
        adapter = lib.llama_adapter_lora_init(self._model, os.fsencode(path))
        if not adapter:
            raise TargetUnusable(
                f"What {self.description.name} has learned cannot be used (llama.cpp: {last_error()})."
            )
        self._adapter = adapter
        adapters = (lib.llama_adapter_lora_p_ctypes * 1)(adapter)
        lib.llama_set_adapters_lora(self._context, adapters, 1, (ctypes.c_float * 1)(1.0))

    def close(self) -> None:
        self._views.clear()
        if self._context is not None:
            self.use_adapter(None)
        super().close()

    def _view(self, pointer: Any, num_rows: int, width: int) -> FloatRows:
        """Of llama.cpp's own buffer. Making such a view costs more than using it, so views are reused."""
        key = (ctypes.addressof(pointer.contents), num_rows, width)
        view = self._views.get(key)
        if view is None:
            if len(self._views) > 4 * self.limits.max_rows:  # the buffer has moved
                self._views.clear()
            view = np.ctypeslib.as_array(pointer, (num_rows, width))
            view.flags.writeable = False
            self._views[key] = view
        return view

    def _recover(self, result: int) -> None:
        """Drops what a failed pass left behind, then raises."""
        held_before = self.num_held
        self.num_held = max(held_before, lib.llama_memory_seq_pos_max(self._memory, _SEQUENCE) + 1)
        self._num_revocable = 0
        self.roll_back(held_before)
        if result == ABORTED:
            raise Interrupted
        if result == NO_SLOT:
            raise TargetUnusable("The context of this model is full; start a new chat or choose a bigger context size.")
        raise RuntimeError(f"llama_decode failed with {result}: {last_error()}")

    def _clear(self) -> None:
        lib.llama_memory_clear(self._memory, True)
        self.num_held = self._num_revocable = 0

    def _probe(self, stop: StopSignal) -> bool:
        """Whether a draft can be taken back: after the longest one was, its tokens must get the logits as before.
        Raises TargetUnusable or Interrupted."""
        limits = self.limits
        longest = min(MAX_LENGTH, limits.max_rollback, limits.max_rows, limits.max_tokens - 1, limits.context_size - 1)
        first, *draft = sample_tokens(self, 1 + longest)
        before = self.evaluate([first, *draft], len(draft), stop).copy()
        if not np.isfinite(before.max()):
            raise TargetUnusable(f"{self.description.path.name} computes no numbers; it is damaged: download it again.")
        works = self.roll_back(1)
        if works:  # the first of them again: of a slow model every token counts
            deviation = (self.evaluate(draft[:1], 1, stop)[0] - before[0]).std()
            works = bool(deviation <= _LARGEST_DEVIATION * before[0].std())
        self._clear()
        return works
