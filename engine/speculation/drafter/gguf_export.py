"""Writes a drafter as a GGUF file, with the vocabulary of the model that it drafts for: llama.cpp compares both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType, RopeScalingType
from gguf.quants import quantize

from engine.speculation.drafter.from_gguf import OF_LAYER
from engine.speculation.drafter.gguf_shape import EMBEDDING, HEAD, NORM, GgufModel
from engine.speculation.drafter.merged import MergedDrafter
from engine.speculation.drafter.model import frequencies
from engine.speculation.drafter.shape import LlamaShape, Rope
from engine.values.errors import DrafterUnusable

_BLOCK = 32  # weights with one scale in Q8_0
_INT8_MAX = 127
_QUANTIZATION_VERSION = 2
_VOCABULARY = "tokenizer."
_ROPE_FACTORS = "rope_freqs.weight"
_OTHER_NAMES = {"model.embed_tokens": EMBEDDING, "lm_head": HEAD, "model.norm": NORM}

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class GgufOrder:
    vocabulary: Path  # a GGUF file with the vocabulary that it is to have
    original: GgufModel | None  # the file that the drafter came from: what has not changed is copied
    bits: int  # of a weight that is not copied: 8 or 16


def write_gguf(path: Path, drafter: MergedDrafter, order: GgufOrder) -> None:
    """Raises DrafterUnusable for a vocabulary that cannot be copied, and OSError."""
    original = order.original
    writer = GGUFWriter(path, "llama" if original is None else original.architecture)
    writer.add_name(f"{drafter.name}, drafter")
    writer.add_file_type(LlamaFileType.MOSTLY_Q8_0 if order.bits == 8 else LlamaFileType.MOSTLY_F16)
    writer.add_quantization_version(_QUANTIZATION_VERSION)
    if original is None:
        _add_shape(writer, drafter.shape, drafter.num_tokens)
    else:
        _copy(writer, original.path, f"{original.architecture}.", {f"{original.architecture}.vocab_size"})
        writer.add_vocab_size(drafter.num_tokens)
    _copy(writer, order.vocabulary, _VOCABULARY)
    try:
        for name, array, kind in _tensors(drafter, order):
            writer.add_tensor(name, array, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
    finally:
        writer.close()


def _add_shape(writer: GGUFWriter, shape: LlamaShape, num_tokens: int) -> None:
    writer.add_vocab_size(num_tokens)
    writer.add_context_length(shape.max_positions)
    writer.add_embedding_length(shape.hidden)
    writer.add_block_count(shape.num_layers)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.num_heads)
    writer.add_head_count_kv(shape.num_kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_rope_freq_base(shape.rope.theta)
    writer.add_layer_norm_rms_eps(shape.norm_epsilon)
    if shape.rope.position_divisor != 1:
        writer.add_rope_scaling_type(RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(shape.rope.position_divisor)


def _copy(writer: GGUFWriter, path: Path, prefix: str, but: set[str] | frozenset[str] = frozenset()) -> None:
    try:
        for field in GGUFReader(path).fields.values():
            if field.name.startswith(prefix) and field.name not in but:
                kind, *inner = field.types
                of_items = inner[-1] if kind is GGUFValueType.ARRAY else None
                writer.add_key_value(field.name, field.contents(), kind, of_items)
    except (ValueError, IndexError, KeyError) as error:
        raise DrafterUnusable(
            "The vocabulary of {name} cannot be copied ({reason}); choose another file of that model.",
            name=path.name,
            reason=error,
        ) from error


_Tensor = tuple[str, npt.NDArray[Any], GGMLQuantizationType]


def _tensors(drafter: MergedDrafter, order: GgufOrder) -> Iterator[_Tensor]:
    original = order.original
    places = original or GgufModel(Path(), "llama", drafter.shape, {})
    kept = {} if original is None else dict(_unchanged(drafter, original))
    for name, weight in drafter.named():
        in_file = tensor_name(name)
        if in_file in kept:
            yield in_file, kept[in_file], GGMLQuantizationType(places.tensors[in_file].kind)
            continue
        rows: Floats = places.in_file_order(in_file, weight.to("cpu", torch.float32).contiguous().numpy())
        yield in_file, *_stored(np.ascontiguousarray(rows), order.bits, seed=len(in_file))
    if drafter.shape.rope.stretch is not None:
        yield _ROPE_FACTORS, _rope_factors(drafter.shape), GGMLQuantizationType.F32


def tensor_name(name: str) -> str:
    """The name in a GGUF file for a weight of a Hugging Face checkpoint."""
    part, _, kind = name.rpartition(".")
    if part in _OTHER_NAMES:
        return _OTHER_NAMES[part]
    _, _, number, inner = part.split(".", 3)
    return f"blk.{number}.{OF_LAYER[inner]}.{kind}"


def _unchanged(drafter: MergedDrafter, original: GgufModel) -> Iterator[tuple[str, npt.NDArray[np.uint8]]]:
    changed = {name for matrix in drafter.changed for name in _names(original, matrix)}
    data = np.memmap(original.path, np.uint8, "r")
    for name, place in original.tensors.items():
        is_table = name in (EMBEDDING, HEAD)
        if len(place.shape) != 2 or name in changed or (is_table and place.shape[1] != drafter.num_tokens):
            continue
        yield name, np.array(data[place.start : place.start + place.num_bytes]).reshape(place.shape[1], -1)


def _names(original: GgufModel, matrix: str) -> tuple[str, ...]:
    """The tensors that an addition changes. One to a head that is the embedding changes the head alone, which then
    becomes separate."""
    return () if matrix == "head" and original.shape.tied else original.tensor_names(matrix)


def _stored(rows: Floats, bits: int, seed: int) -> tuple[npt.NDArray[Any], GGMLQuantizationType]:
    if rows.ndim == 1:
        return rows, GGMLQuantizationType.F32
    if bits == 16 or rows.shape[1] % _BLOCK:
        return quantize(rows, GGMLQuantizationType.F16), GGMLQuantizationType.F16
    return in_8_bits(rows, seed), GGMLQuantizationType.Q8_0


def in_8_bits(rows: Floats, seed: int) -> npt.NDArray[np.uint8]:
    """Rounds to Q8_0, up or down at random in proportion to the distance: most of what was learned is far less than
    half a step, and rounding to the nearest value would lose it."""
    blocks = rows.reshape(-1, _BLOCK)
    scales = (np.abs(blocks).max(1, keepdims=True) / _INT8_MAX).astype(np.float16)
    steps = scales.astype(np.float32)
    dice = np.random.default_rng(seed).random(blocks.shape, np.float32)
    values = np.floor(np.divide(blocks, steps, out=np.zeros_like(blocks), where=steps > 0) + dice)
    stored = np.clip(values, -_INT8_MAX, _INT8_MAX).astype(np.int8)
    return np.concatenate((scales.view(np.uint8), stored.view(np.uint8)), 1).reshape(len(rows), -1)


def _rope_factors(shape: LlamaShape) -> Floats:
    """The divisors that llama.cpp applies to each rotation, [head_dim / 2]."""
    plain = frequencies(Rope(shape.rope.theta), shape.head_dim)
    return (plain / frequencies(Rope(shape.rope.theta, stretch=shape.rope.stretch), shape.head_dim)).numpy()
