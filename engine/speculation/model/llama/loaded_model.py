"""What every model that llama.cpp runs has: a context, a batch for its passes, a tokenizer and a stop flag."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from llama_cpp import llama_cpp as lib

from engine.speculation.model.interface import Interrupted, TargetDescription, Vocabulary
from engine.speculation.model.llama.opening import describe, free_model
from engine.speculation.model.llama.runtime import last_error
from engine.speculation.model.llama.tokenizing import Tokenizer
from engine.speculation.model.llama.vocabulary import read_vocabulary
from engine.values.config import TargetSettings
from engine.values.errors import TargetUnusable
from engine.values.stop_signal import StopSignal

ABORTED = 2  # returned by llama_decode when the abort callback ended it
_NO_SLOT = 1  # and when the context is full


def _native_is_set() -> Any:
    """A native `bool is_set(void *flag)` for llama.cpp's abort callback: C's own strlen, which is 0 as long as the
    flag is an empty string. A Python callback would take the interpreter's lock five hundred times in every pass."""
    c_library = ctypes.CDLL("ucrtbase") if sys.platform == "win32" else ctypes.CDLL(None)
    return ctypes.cast(c_library.strlen, lib.ggml_abort_callback)


_IS_SET = _native_is_set()


def raise_failure(result: int, is_full: str) -> NoReturn:
    """Raises what llama_decode returned: Interrupted, TargetUnusable with the sentence `is_full`, or RuntimeError."""
    if result == ABORTED:
        raise Interrupted
    if result == _NO_SLOT:
        raise TargetUnusable(is_full)
    raise RuntimeError(f"llama_decode failed with {result}: {last_error()}")


class LoadedModel:
    """A model with its context and a batch for its passes: the common part of targets of one sequence and of
    several."""

    def __init__(
        self,
        path: Path,
        name: str,
        model: Any,
        context: Any,
        settings: TargetSettings,
        batch_size: int,
        beside: LoadedModel | None = None,
        most_sequences: int = 1,
    ) -> None:
        """Owns model and context from here on. `beside`: another one on the same model; `most_sequences`: that a token
        of a batch may be in."""
        self._model = model
        self._context = context
        self._stop: StopSignal | None = None
        self._batch = lib.llama_batch_init(batch_size, 0, most_sequences)
        self._batch_tokens = np.ctypeslib.as_array(self._batch.token, (batch_size,))
        self._batch_positions = np.ctypeslib.as_array(self._batch.pos, (batch_size,))
        self._batch_outputs = np.ctypeslib.as_array(self._batch.logits, (batch_size,))
        self._batch_num_sequences = np.ctypeslib.as_array(self._batch.n_seq_id, (batch_size,))
        self._batch_num_sequences[:] = 1
        self._memory = lib.llama_get_memory(context)
        self.vocabulary: Vocabulary = beside.vocabulary if beside else read_vocabulary(lib.llama_model_get_vocab(model))
        self._tokenizer = Tokenizer(model, self.vocabulary, path.name)
        self.description: TargetDescription = (
            beside.description if beside else describe(model, context, path, name, settings)
        )

    def tokenize(self, text: str) -> list[int]:
        return self.vocabulary.special_tokens.tokens_of(text, self._tokenizer.tokenize)

    def spell(self, text: str) -> list[int]:
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
