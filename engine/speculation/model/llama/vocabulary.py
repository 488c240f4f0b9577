"""Vocabularies as llama.cpp reads them from models."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

from llama_cpp import llama_cpp as lib

from engine.speculation.model.interface import Vocabulary
from engine.speculation.model.llama.opening import explain, read_head
from engine.speculation.model.llama.runtime import forget_errors, last_error
from engine.speculation.model.llama.tokenizing import Tokenizer, check_kind
from engine.values.errors import MendableError, TargetUnusable


class VocabularyFile:
    """The vocabulary of a GGUF file, without its weights; such files may also hold nothing else."""

    def __init__(self, model: Any, name: str) -> None:
        """Use `load_vocabulary`. Owns the model from here on. `name`: of the file."""
        self._model = model
        self.vocabulary = read_vocabulary(lib.llama_model_get_vocab(model))
        self._tokenizer = Tokenizer(model, self.vocabulary, name)

    def tokenize(self, text: str) -> list[int]:
        assert self._model is not None
        return self.vocabulary.special_tokens.tokens_of(text, self._tokenizer.tokenize)

    def spell(self, text: str) -> list[int]:
        assert self._model is not None
        return self._tokenizer.tokenize(text, with_special=False)

    def close(self) -> None:
        if self._model is not None:
            lib.llama_model_free(self._model)
            self._model = None


def load_vocabulary(path: Path) -> VocabularyFile:
    """Raises TargetMissing or TargetUnusable (or TargetUnsupported)."""
    read_head(path)
    parameters = lib.llama_model_default_params()
    parameters.vocab_only = True
    forget_errors()
    model = lib.llama_model_load_from_file(os.fsencode(path), parameters)
    if not model:
        raise explain(path, last_error())
    try:
        check_kind(model, path.name)
        if lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model)) <= 0:
            raise TargetUnusable("{name} holds no vocabulary; choose another model file.", name=path.name)
        return VocabularyFile(model, path.name)
    except MendableError:
        lib.llama_model_free(model)
        raise


def read_vocabulary(vocab: Any) -> Vocabulary:
    size = lib.llama_vocab_n_tokens(vocab)
    hidden = lib.LLAMA_TOKEN_ATTR_CONTROL | lib.LLAMA_TOKEN_ATTR_UNKNOWN
    begin, end = lib.llama_vocab_bos(vocab), lib.llama_vocab_eos(vocab)
    return Vocabulary(
        pieces=_read_pieces(vocab, size),
        special=frozenset(token for token in range(size) if lib.llama_vocab_get_attr(vocab, token) & hidden),
        end_of_generation=frozenset(token for token in range(size) if lib.llama_vocab_is_eog(vocab, token)),
        begin=begin if begin >= 0 else None,
        end=end if end >= 0 else None,
        begins_prompts=begin >= 0 and lib.llama_vocab_get_add_bos(vocab),
    )


def _read_pieces(vocab: Any, size: int) -> tuple[bytes, ...]:
    buffer = ctypes.create_string_buffer(256)
    pieces = []
    for token in range(size):
        length = lib.llama_token_to_piece(vocab, token, buffer, len(buffer), 0, True)
        if length < 0:
            buffer = ctypes.create_string_buffer(-length)
            length = lib.llama_token_to_piece(vocab, token, buffer, len(buffer), 0, True)
        pieces.append(buffer.raw[:length])
    return tuple(pieces)
