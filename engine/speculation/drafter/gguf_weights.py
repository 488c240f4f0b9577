"""The weights of a GGUF file for training: read from the file when asked for, a few rows at a time, so that a copy in
bfloat16 needs no memory beyond its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from engine.speculation.drafter.adapter import Adapter, matrix_sizes
from engine.speculation.drafter.gguf_adapter import Addition, HeadAddition, adapter_tensors, check_tensors
from engine.speculation.drafter.gguf_shape import EMBEDDING, NORM, NORMS, PARTS, GgufModel, read_rows
from engine.speculation.drafter.matrices import DenseEmbedding, DenseMatrix, Matrix, StoredEmbedding, StoredMatrix
from engine.speculation.drafter.model import LayerWeights, LlamaWeights

_WEIGHTS_AT_ONCE = 1 << 20  # that are spread out to float32


def stored_weights(model: GgufModel) -> LlamaWeights:
    """Weights that stay in the file. Raises OSError if it is gone, even when they are asked for."""
    tensors = _Tensors(model)
    layers = tuple(_layer(tensors, number, tensors.matrix) for number in range(model.shape.num_layers))
    embedding = StoredEmbedding(tensors.embeddings)
    return LlamaWeights(embedding, layers, tensors.vector(NORM), tensors.matrix("head"))


def dense_weights(model: GgufModel) -> LlamaWeights:
    """Weights that are all in memory, in float32. Raises OSError if the file is gone."""
    tensors = _Tensors(model)
    layers = tuple(_layer(tensors, number, tensors.dense) for number in range(model.shape.num_layers))
    embedding = DenseEmbedding(tensors.embeddings(range(model.shape.vocabulary)))
    return LlamaWeights(embedding, layers, tensors.vector(NORM), tensors.dense("head"))


def addition_of(model: GgufModel, adapter: Adapter) -> Addition:
    """An adapter of a drafter of this shape, as llama.cpp applies it. Raises AdapterUnusable."""
    parts = {name: (part.down.numpy(), part.up.numpy()) for name, part in adapter.parts.items()}
    tensors = adapter_tensors(model, parts)
    check_tensors(model, tensors)
    of_head = parts.get("head")
    head = HeadAddition(*of_head) if model.shape.tied and of_head is not None and of_head[1].any() else None
    return Addition(model.architecture, tensors, head)


def _layer(tensors: _Tensors, number: int, read: Callable[[str], Matrix]) -> LayerWeights:
    parts: dict[str, Any] = {part: read(f"{number}.{part}") for part in PARTS}
    names = {norm: f"blk.{number}.{part}.weight" for norm, part in NORMS.items()}
    parts |= {norm: tensors.vector(name) for norm, name in names.items() if tensors.has(name)}
    return LayerWeights(**parts)


class _Tensors:
    def __init__(self, model: GgufModel) -> None:
        self._model = model
        self._sizes = matrix_sizes(model.shape)

    def matrix(self, name: str) -> StoredMatrix:
        names = self._model.tensor_names(name)
        return StoredMatrix(partial(self._read, names, self._sizes[name], torch.bfloat16), self._bias(names))

    def dense(self, name: str) -> DenseMatrix:
        names = self._model.tensor_names(name)
        weight = self._read(names, self._sizes[name], torch.float32, lambda: None)
        return DenseMatrix(weight.t().contiguous(), self._bias(names))

    def has(self, name: str) -> bool:
        return name in self._model.tensors

    def vector(self, name: str) -> torch.Tensor:
        """float32 [outputs]"""
        return torch.from_numpy(self._model.in_training_order(name, self._rows(name, [(0, 1)])[0]))

    def embeddings(self, tokens: Sequence[int]) -> torch.Tensor:
        """float32 [tokens, hidden]"""
        return torch.from_numpy(self._rows(EMBEDDING, [(token, token + 1) for token in tokens]))

    def _bias(self, names: Sequence[str]) -> torch.Tensor | None:
        biases = [each.removesuffix("weight") + "bias" for each in names]
        return torch.cat([self.vector(each) for each in biases]) if biases[0] in self._model.tensors else None

    def _read(
        self, names: Sequence[str], size: tuple[int, int], dtype: torch.dtype, check: Callable[[], None]
    ) -> torch.Tensor:
        """[outputs, inputs]"""
        dense = torch.empty(size, dtype=dtype)
        at_once = max(1, _WEIGHTS_AT_ONCE // size[1])
        first = 0
        for name in names:
            num_rows = self._model.tensors[name].shape[1]
            places = torch.from_numpy(first + np.argsort(self._model.in_training_order(name, np.arange(num_rows))))
            is_in_order = bool((places.diff() == 1).all())
            for start in range(0, num_rows, at_once):
                check()
                end = min(start + at_once, num_rows)
                rows = torch.from_numpy(self._rows(name, [(start, end)]))
                dense[slice(first + start, first + end) if is_in_order else places[start:end]] = rows.to(dtype)
            first += num_rows
        return dense

    def _rows(self, name: str, spans: Sequence[tuple[int, int]]) -> npt.NDArray[np.float32]:
        """float32 [rows, inputs], those of all spans; a vector is one row."""
        return read_rows(self._model.path, self._model.tensors[name], spans)
