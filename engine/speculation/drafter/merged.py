"""A drafter with its adapter merged into its weights, as other programs take it: plain matrices in float32."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import psutil
import torch

from engine.speculation.drafter.adapter import Adapter, adapted, matrix_sizes
from engine.speculation.drafter.matrices import DenseEmbedding
from engine.speculation.drafter.model import LlamaDrafter, LlamaWeights
from engine.speculation.drafter.shape import LlamaShape
from engine.values.errors import DrafterUnusable

EMBEDDING, HEAD, NORM = "model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"
_BYTES = 8  # of a weight while it is merged: what it was, and what becomes of it


@dataclass(frozen=True, eq=False)
class MergedDrafter:
    name: str
    shape: LlamaShape
    own: LlamaWeights  # in memory, dense, float32
    adapter: Adapter | None
    num_tokens: int  # that it must read: those of the program that runs it, with padding or without
    samples: Sequence[Sequence[int]]  # tokens of a few texts

    @cached_property
    def weights(self) -> LlamaWeights:
        return self.own if self.adapter is None else adapted(self.own, self.adapter)

    @property
    def changed(self) -> frozenset[str]:
        """The matrices that differ from the drafter's own, by the names of `matrix_sizes`."""
        parts = {} if self.adapter is None else self.adapter.parts
        return frozenset(name for name, part in parts.items() if bool(part.up.any()))

    @property
    def is_tied(self) -> bool:
        """True if the head is still the embedding: other programs add nothing to a head alone, and cut none."""
        return self.shape.tied and "head" not in self.changed and self.shape.outputs == self.shape.vocabulary

    def computed(self) -> LlamaDrafter:
        return LlamaDrafter(self.shape, self.weights)

    def named(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Every weight in float32, with the name and the order of rows of a Hugging Face checkpoint; the head only if
        it is not the embedding."""
        shape, weights = self.shape, self.weights
        assert isinstance(weights.embedding, DenseEmbedding)
        yield EMBEDDING, self._filled(weights.embedding.weight)
        queries, keys = shape.num_heads * shape.head_dim, shape.num_kv_heads * shape.head_dim
        for number, layer in enumerate(weights.layers):
            prefix = f"model.layers.{number}."
            yield prefix + "input_layernorm.weight", layer.attention_norm
            yield prefix + "post_attention_layernorm.weight", layer.mlp_norm
            for matrix, parts, sizes in (
                (layer.qkv, ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"), (queries, keys, keys)),
                (layer.attention_out, ("self_attn.o_proj",), (shape.hidden,)),
                (layer.gate_up, ("mlp.gate_proj", "mlp.up_proj"), (shape.feed_forward, shape.feed_forward)),
                (layer.down, ("mlp.down_proj",), (shape.hidden,)),
            ):
                for part, rows in zip(parts, torch.split(matrix.dense(), list(sizes)), strict=True):
                    yield f"{prefix}{part}.weight", rows
                if matrix.bias is not None:
                    for part, values in zip(parts, torch.split(matrix.bias, list(sizes)), strict=True):
                        yield f"{prefix}{part}.bias", values
        yield NORM, weights.final_norm
        if not self.is_tied:
            yield HEAD, self._filled(weights.head.dense())

    def _filled(self, table: torch.Tensor) -> torch.Tensor:
        """Drops rows after the last token. Missing rows become copies of the row of the token that is least likely of
        all, so that a token that cannot be guessed is never drafted."""
        missing = self.num_tokens - len(table)
        if missing <= 0:
            return table[: self.num_tokens]
        return torch.cat((table, table[self._unlikeliest].expand(missing, -1)))

    @cached_property
    def _unlikeliest(self) -> int:
        """The token with the lowest best chance anywhere in the samples."""
        drafter = self.computed()
        best = np.full(self.shape.outputs, -np.inf, np.float32)
        for tokens in self.samples:
            drafter.roll_back(0)
            for token in tokens:
                logits = drafter.read([token])
                np.maximum(best, logits - logits.max(), out=best)
        return int(best.argmin())

    @property
    def num_weights(self) -> int:
        tables = self.num_tokens * self.shape.hidden * (1 if self.is_tied else 2)
        return self.shape.num_layer_weights + tables


def check_memory(name: str, shape: LlamaShape) -> None:
    """Raises DrafterUnusable."""
    needed = _BYTES * sum(outputs * inputs for outputs, inputs in matrix_sizes(shape).values())
    free = psutil.virtual_memory().available
    if needed > free:
        raise DrafterUnusable(
            "Writing {name} takes {needed:.1f} GB of memory, but only {free:.1f} GB are free; close other programs "
            "first.",
            name=name,
            needed=needed / 1e9,
            free=free / 1e9,
        )
