"""Reads from a GGUF file the shape of a Llama-type model that may learn, and where its matrices are. Without torch.

It accepts only files of which it knows every tensor: what the training copy left out, it would teach wrongly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gguf import GGMLQuantizationType
from gguf.quants import _type_traits

from engine.speculation.drafter.shape import PLAIN, LlamaShape, Rope, Variant, Windows
from engine.speculation.model.files.gguf_header import GgufHeader, TensorPlace, read_header
from engine.speculation.model.files.model_files import part_paths
from engine.speculation.model.llama.dequantizing import dequantized
from engine.values.errors import DrafterUnusable

VARIANTS = {  # Mistral calls itself llama
    "llama": PLAIN,
    "qwen2": PLAIN,
    "qwen3": Variant(head_norms=True),
    "gemma3": Variant(head_norms=True, post_norms=True, gelu=True, scales_embedding=True),
}
EMBEDDING, HEAD, NORM = "token_embd.weight", "output.weight", "output_norm.weight"
# The tensors of a layer that are one matrix here, in the order of its outputs.
PARTS = {
    "qkv": ("attn_q", "attn_k", "attn_v"),
    "attention_out": ("attn_output",),
    "gate_up": ("ffn_gate", "ffn_up"),
    "down": ("ffn_down",),
}
# The norms of a layer, with their names in `LayerWeights`.
NORMS = {
    "attention_norm": "attn_norm",
    "mlp_norm": "ffn_norm",
    "query_norm": "attn_q_norm",
    "key_norm": "attn_k_norm",
    "attention_post_norm": "post_attention_norm",
    "mlp_post_norm": "post_ffw_norm",
}
_MOST_LAYERS = 256
_PERIOD, _THETA_IN_WINDOWS = 6, 10_000.0  # of Gemma 3, where its file does not say
_CAPS = ("attn_logit_softcapping", "final_logit_softcapping")  # which Gemma 2 has, and nothing here

Rows = npt.NDArray[Any]

_PLAIN = (GGMLQuantizationType.F32, GGMLQuantizationType.F16)


@dataclass(frozen=True, slots=True)
class GgufModel:
    path: Path
    architecture: str
    shape: LlamaShape
    tensors: dict[str, TensorPlace]

    @property
    def num_weights(self) -> int:
        return self.shape.num_layer_weights + self.shape.outputs * self.shape.hidden

    def tensor_names(self, matrix: str) -> tuple[str, ...]:
        """The tensors of a matrix of `drafter.adapter.matrix_sizes`, in the order of its outputs."""
        number, _, part = matrix.rpartition(".")
        if not number:
            return (EMBEDDING if self.shape.tied else HEAD,)
        return tuple(f"blk.{number}.{each}.weight" for each in PARTS[part])

    def in_training_order(self, name: str, rows: Rows) -> Rows:
        """Separates the halves of a head of queries or keys that are rotated together, as in Hugging Face's
        checkpoints; llama.cpp interleaves them. `rows` is [outputs, …]."""
        heads = self._num_parted_heads(name)
        return rows.reshape(heads, -1, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape) if heads else rows

    def in_file_order(self, name: str, rows: Rows) -> Rows:
        """The opposite of `in_training_order`."""
        heads = self._num_parted_heads(name)
        return rows.reshape(heads, 2, -1, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape) if heads else rows

    def _num_parted_heads(self, name: str) -> int:
        """The number of heads to reorder; 0 for a tensor that both have in one order."""
        if self.architecture != "llama":
            return 0
        part = name.split(".")[-2]
        return {"attn_q": self.shape.num_heads, "attn_k": self.shape.num_kv_heads}.get(part, 0)


def read_gguf_model(path: Path) -> GgufModel:
    """Raises DrafterUnusable for a file that cannot learn, and what reading its header raises."""
    header = read_header(path)
    architecture = header.text("general.architecture")
    if architecture not in VARIANTS or len(part_paths(path)) > 1:
        raise _cannot_learn(path)
    shape = _shape(path, header, architecture)
    found = {name: place.shape for name, place in header.tensors.items()}
    if found != dict(_expected(shape)) or not all(map(is_readable, header.tensors.values())):
        raise _cannot_learn(path)
    return GgufModel(path, architecture, shape, dict(header.tensors))


def _shape(path: Path, header: GgufHeader, architecture: str) -> LlamaShape:
    def number(key: str, otherwise: int = 0) -> int:
        return header.number(f"{architecture}.{key}") or otherwise

    def measure(key: str, otherwise: float) -> float:
        value = header.values.get(f"{architecture}.{key}", otherwise)
        return float(value) if isinstance(value, int | float) and isfinite(value) else 0.0

    hidden, num_heads = number("embedding_length"), number("attention.head_count")
    num_kv_heads = number("attention.head_count_kv", num_heads)
    head_dim = number("attention.key_length", hidden // max(1, num_heads))
    layers, embedding = number("block_count"), header.tensors.get(EMBEDDING)
    epsilon, theta = measure("attention.layer_norm_rms_epsilon", 0.0), measure("rope.freq_base", 10_000.0)
    divisor = _position_divisor(header, architecture)
    variant = VARIANTS[architecture]
    if architecture == "gemma3":
        period = header.values.get(f"{architecture}.attention.sliding_window_pattern", _PERIOD)
        rope = Rope(measure("rope.freq_base_swa", _THETA_IN_WINDOWS))
        windows = Windows(number("attention.sliding_window"), period if isinstance(period, int) else 0, rope)
        variant = replace(variant, windows=windows)
    is_sound = (
        0 < layers <= _MOST_LAYERS
        and embedding is not None
        and len(embedding.shape) == 2
        and num_heads > 0
        and num_heads % num_kv_heads == 0
        and head_dim > 0
        and head_dim % 2 == 0
        and all(number(key, head_dim) == head_dim for key in ("attention.value_length", "rope.dimension_count"))
        and epsilon > 0
        and theta > 1
        and divisor > 0
        and not any(header.values.get(f"{architecture}.{cap}") for cap in _CAPS)
        and (variant.windows is None or _are_sound(variant.windows))
    )
    if not is_sound or embedding is None:
        raise _cannot_learn(path)
    biased = [header.tensors.get(f"blk.0.{part}.bias") is not None for part in ("attn_q", "attn_output", "ffn_up")]
    vocabulary = embedding.shape[1]
    return LlamaShape(
        vocabulary=vocabulary,
        outputs=vocabulary,
        hidden=hidden,
        num_layers=layers,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        feed_forward=number("feed_forward_length"),
        max_positions=number("context_length", 2048),
        norm_epsilon=epsilon,
        rope=Rope(theta, divisor),
        tied=not header.has_own_output,
        qkv_bias=biased[0],
        attention_out_bias=biased[1],
        mlp_bias=biased[2],
        variant=variant,
    )


def _are_sound(windows: Windows) -> bool:
    return windows.num_tokens > 0 and windows.period > 0 and windows.rope.theta > 1


def _position_divisor(header: GgufHeader, architecture: str) -> float:
    """The divisor of positions; 0 if they are scaled in another way than linearly."""
    kind = header.values.get(f"{architecture}.rope.scaling.type", "none")
    factor = header.values.get(f"{architecture}.rope.scaling.factor", 1.0)
    if kind == "none":
        return 1.0
    return float(factor) if kind == "linear" and isinstance(factor, int | float) and isfinite(factor) else 0.0


def _sizes(shape: LlamaShape) -> dict[str, tuple[int, int]]:
    """Outputs and inputs of a layer's matrices, by their part of the name."""
    queries, keys = shape.num_heads * shape.head_dim, shape.num_kv_heads * shape.head_dim
    hidden, inner = shape.hidden, shape.feed_forward
    return {
        "attn_q": (queries, hidden),
        "attn_k": (keys, hidden),
        "attn_v": (keys, hidden),
        "attn_output": (hidden, queries),
        "ffn_gate": (inner, hidden),
        "ffn_up": (inner, hidden),
        "ffn_down": (hidden, inner),
    }


def _expected(shape: LlamaShape) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every tensor, with its shape as the file has it: inputs first."""
    yield EMBEDDING, (shape.hidden, shape.vocabulary)
    yield NORM, (shape.hidden,)
    if not shape.tied:
        yield HEAD, (shape.hidden, shape.vocabulary)
    has_biases = (shape.qkv_bias, shape.attention_out_bias, shape.mlp_bias, shape.mlp_bias)
    biased = [part for parts, is_biased in zip(PARTS.values(), has_biases, strict=True) if is_biased for part in parts]
    sizes, norms = _sizes(shape), [*NORMS.values()]
    widths = dict.fromkeys(norms[:2], shape.hidden)
    if shape.variant.head_norms:
        widths |= dict.fromkeys(norms[2:4], shape.head_dim)
    if shape.variant.post_norms:
        widths |= dict.fromkeys(norms[4:], shape.hidden)
    for number in range(shape.num_layers):
        for norm, width in widths.items():
            yield f"blk.{number}.{norm}.weight", (width,)
        for part, (outputs, inputs) in sizes.items():
            yield f"blk.{number}.{part}.weight", (inputs, outputs)
            if part in biased:
                yield f"blk.{number}.{part}.bias", (outputs,)


def _cannot_learn(path: Path) -> DrafterUnusable:
    return DrafterUnusable("{name} is not a Llama-type model that can be taught here.", name=path.name)


def is_readable(place: TensorPlace) -> bool:
    kind = GGMLQuantizationType(place.kind) if place.num_bytes else None
    return kind in _PLAIN or kind in _type_traits


def read_rows(path: Path, place: TensorPlace, spans: Iterable[tuple[int, int]]) -> npt.NDArray[np.float32]:
    """float32 [rows, inputs], those of all spans; a vector is one row. Raises OSError where the file is gone."""
    row_bytes = place.num_bytes // (place.shape[1] if len(place.shape) == 2 else 1)
    stored = bytearray()
    with path.open("rb") as file:
        for first, end in spans:
            file.seek(place.start + first * row_bytes)
            stored += file.read((end - first) * row_bytes)
    data = np.frombuffer(stored, np.uint8).reshape(-1, row_bytes)
    return dequantized(data, GGMLQuantizationType(place.kind))
