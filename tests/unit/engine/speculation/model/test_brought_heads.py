"""What llama.cpp offers for heads that a model brings along (decision 33): enough for one guess, not for a second."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from llama_cpp import llama_cpp as lib

from engine.speculation.model.llama.runtime import last_error
from tests.fakes.tiny_models import tiny_mtp

Rows = npt.NDArray[np.float32]
TOKENS = [1, 260, 261, 262, 263, 264]


class Pair:
    """A tiny model in a context of its own and in one of its head."""

    def __init__(self, path: Path, undo: ExitStack) -> None:
        parameters = lib.llama_model_default_params()
        parameters.load_mtp = True  # else the head's tensors are left out
        self.model: Any = lib.llama_model_load_from_file(os.fsencode(path), parameters)
        assert self.model, last_error()
        undo.callback(lib.llama_model_free, self.model)
        self.target, self.head = (self._context(kind, undo) for kind in (0, lib.LLAMA_CONTEXT_TYPE_MTP))
        lib.llama_set_embeddings(self.target, True)
        self.extended = lib.llama_batch_ext_init(self.head)
        undo.callback(lib.llama_batch_ext_free, self.extended)
        self.width = lib.llama_model_n_embd(self.model)

    def _context(self, kind: int, undo: ExitStack) -> Any:
        parameters = lib.llama_context_default_params()
        parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = 64
        parameters.n_threads = parameters.n_threads_batch = 1
        parameters.ctx_type = kind
        context = lib.llama_init_from_model(self.model, parameters)
        assert context, last_error()
        undo.callback(lib.llama_free, context)
        return context

    def states(self, tokens: Sequence[int]) -> Rows:
        """After each of the tokens, behind the last norm."""
        ids = (ctypes.c_int32 * len(tokens))(*tokens)
        assert lib.llama_decode(self.target, lib.llama_batch_get_one(ids, len(tokens))) == 0
        rows = [lib.llama_get_embeddings_ith(self.target, row) for row in range(len(tokens))]
        return np.stack([np.ctypeslib.as_array(row, (self.width,)) for row in rows])

    def guesses(self, tokens: Sequence[int], states: Rows, start: int) -> Rows:
        """The head's logits after each token, from it and the state before it."""
        lib.llama_batch_ext_clear(self.extended)
        for place, (token, state) in enumerate(zip(tokens, states, strict=True)):
            index = lib.llama_batch_ext_add_token(self.extended, 0, token)
            pointer = state.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
            assert lib.llama_batch_ext_set_embd_token(self.extended, index, lib.llama_embd(pointer, 1, self.width))
            position = lib.llama_pos(start + place)
            assert lib.llama_batch_ext_set_pos(self.extended, index, ctypes.pointer(position))
            assert lib.llama_batch_ext_set_output_logits(self.extended, index, True)
        assert lib.llama_process(self.head, lib.LLAMA_PROCESS_TYPE_DECODE, self.extended) == 0
        size = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(self.model))
        rows = [lib.llama_get_logits_ith(self.head, row) for row in range(len(tokens))]
        return np.stack([np.ctypeslib.as_array(row, (size,)) for row in rows])

    def take_back(self, num_kept: int) -> None:
        assert lib.llama_memory_seq_rm(lib.llama_get_memory(self.head), 0, num_kept, -1)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with ExitStack() as undo:
        yield Pair(tiny_mtp(tmp_path / "tiny.gguf"), undo)


def test_a_head_guesses_from_the_targets_states_and_can_be_taken_back(pair: Pair) -> None:
    states = pair.states(TOKENS)
    together = pair.guesses(TOKENS[1:], states[:-1], 1)
    pair.take_back(3)
    again = pair.guesses(TOKENS[3:], states[2:-1], 3)
    assert again == pytest.approx(together[2:], abs=1e-5)
    pair.take_back(3)
    elsewhere = pair.guesses(TOKENS[3:], states[[0, 0, 0]], 3)
    assert np.abs(elsewhere - together[2:]).max() > 0.5, "the state counts"


def test_what_a_second_guess_needs_no_public_function_tells(pair: Pair) -> None:
    """When this fails, such heads can be used: see decision 33."""
    pair.guesses(TOKENS[1:], pair.states(TOKENS)[:-1], 1)
    assert not lib.llama_get_embeddings_ith(pair.head, 0)
    assert not hasattr(lib._lib, "llama_get_embeddings_nextn_ith")
