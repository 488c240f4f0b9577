"""Writes a model of a given shape with random weights, to time passes on (`slipstream bench --body`).

    python -m tests.benchmarks.body OUT.gguf --shape 3B --form Q4_K_M

llama.cpp computes with it as with the real one, in the same time; what it says means nothing. The shapes are those of
Llama 3.2 1B and 3B and of Llama 3 8B. The forms lay out their tensors as llama.cpp's own quantizing does, in blocks of
random bytes whose scales keep all activations near 1. The tokens are the starter's, and unused ones behind them.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gguf import GGML_QUANT_SIZES, GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType, TokenType, dequantize
from gguf import GGMLQuantizationType as Form

from engine import starter_path


@dataclass(frozen=True, slots=True)
class Shape:
    layers: int
    width: int
    feed_forward: int
    heads: int
    key_heads: int
    vocabulary: int = 128_256
    tied: bool = True  # whether the output has the weights of the embedding
    context: int = 131_072

    @property
    def head_width(self) -> int:
        return self.width // self.heads


SHAPES = {
    "1B": Shape(16, 2048, 8192, 32, 8),
    "3B": Shape(28, 3072, 8192, 24, 8),
    "8B": Shape(32, 4096, 14_336, 32, 8, tied=False, context=8192),
}
FORMS = {
    "Q4_0": (Form.Q4_0, LlamaFileType.MOSTLY_Q4_0),
    "Q4_1": (Form.Q4_1, LlamaFileType.MOSTLY_Q4_1),
    "Q4_K_M": (Form.Q4_K, LlamaFileType.MOSTLY_Q4_K_M),
    "Q8_0": (Form.Q8_0, LlamaFileType.MOSTLY_Q8_0),
}
# Where in a block the 16-bit scales lie, and what each is of the first, so that weights are 0 on average.
_SCALES: Mapping[Form, tuple[tuple[int, float], ...]] = {
    Form.Q4_0: ((0, 1.0),),
    Form.Q4_1: ((0, 1.0), (2, -7.5)),
    Form.Q8_0: ((0, 1.0),),
    Form.Q4_K: ((0, 1.0), (2, 7.5)),
    Form.Q6_K: ((208, 1.0),),
}
_SAMPLE = 4096  # blocks, to see how far weights spread
_TOKENS, _TOKEN_TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"


@dataclass(frozen=True, slots=True)
class Tensor:
    name: str
    rows: int
    columns: int
    form: Form


def tensors(shape: Shape, form: str) -> Iterator[Tensor]:
    """The matrices of a Llama, with the forms that `llama_tensor_get_type` in llama.cpp's llama-quant.cpp chooses."""
    usual = FORMS[form][0]
    best = Form.Q8_0 if usual is Form.Q8_0 else Form.Q6_K
    yield Tensor("token_embd", shape.vocabulary, shape.width, best if shape.tied else usual)
    if not shape.tied:
        yield Tensor("output", shape.vocabulary, shape.width, best)
    for layer in range(shape.layers):
        better = best if form == "Q4_K_M" and _gets_more_bits(layer, shape.layers) else usual
        for name, rows, columns, chosen in (
            ("attn_q", shape.width, shape.width, usual),
            ("attn_k", shape.key_heads * shape.head_width, shape.width, usual),
            ("attn_v", shape.key_heads * shape.head_width, shape.width, better),
            ("attn_output", shape.width, shape.width, usual),
            ("ffn_gate", shape.feed_forward, shape.width, usual),
            ("ffn_up", shape.feed_forward, shape.width, usual),
            ("ffn_down", shape.width, shape.feed_forward, better),
        ):
            yield Tensor(f"blk.{layer}.{name}", rows, columns, chosen)


def _gets_more_bits(layer: int, num_layers: int) -> bool:
    """llama.cpp's `use_more_bits`."""
    eighth = num_layers // 8
    return layer < eighth or layer >= 7 * num_layers // 8 or (layer - eighth) % 3 == 2


def norms(shape: Shape) -> Iterator[str]:
    yield "output_norm"
    for layer in range(shape.layers):
        yield from (f"blk.{layer}.attn_norm", f"blk.{layer}.ffn_norm")


class RandomBlocks:
    """Quantized weights at random."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._spreads: dict[Form, float] = {}  # standard deviation of weights whose scale is 1

    def make(self, tensor: Tensor) -> npt.NDArray[np.uint8]:
        """Shape (rows, bytes of a row); outputs spread as far as inputs do."""
        if tensor.form not in self._spreads:
            self._spreads[tensor.form] = float(dequantize(self._blocks(tensor.form, _SAMPLE, 1.0), tensor.form).std())
        in_block, _ = GGML_QUANT_SIZES[tensor.form]
        scale = 1 / (math.sqrt(tensor.columns) * self._spreads[tensor.form])
        blocks = self._blocks(tensor.form, tensor.rows * tensor.columns // in_block, scale)
        return blocks.reshape(tensor.rows, -1)

    def _blocks(self, form: Form, count: int, scale: float) -> npt.NDArray[np.uint8]:
        _, num_bytes = GGML_QUANT_SIZES[form]
        blocks = np.frombuffer(bytearray(self._random.bytes(count * num_bytes)), np.uint8).reshape(count, num_bytes)
        for place, multiple in _SCALES[form]:
            blocks[:, place : place + 2] = np.array([scale * multiple], "<f2").view(np.uint8)
        return blocks


def write_body(out: Path, shape: Shape, form: str, seed: int = 0) -> None:
    """One tensor after the other: no more of the model is in memory."""
    writer = GGUFWriter(out, "llama")
    for key, value, kinds in _values(shape, form):
        writer.add_key_value(key, value, *kinds)
    matrices = list(tensors(shape, form))
    for matrix in matrices:
        in_block, num_bytes = GGML_QUANT_SIZES[matrix.form]
        size = (matrix.rows, matrix.columns // in_block * num_bytes)
        writer.add_tensor_info(f"{matrix.name}.weight", size, np.dtype(np.uint8), math.prod(size), matrix.form)
    ones = np.ones(shape.width, np.float32)
    for name in norms(shape):
        writer.add_tensor_info(f"{name}.weight", ones.shape, ones.dtype, ones.nbytes)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    blocks = RandomBlocks(seed)
    for matrix in matrices:
        writer.write_tensor_data(blocks.make(matrix))
    for _ in norms(shape):
        writer.write_tensor_data(ones)
    writer.close()


def _values(shape: Shape, form: str) -> Iterator[tuple[str, Any, tuple[GGUFValueType, ...]]]:
    """What describes the model: keys, values and kinds of values."""
    numbers = {
        "general.file_type": FORMS[form][1],
        "general.quantization_version": 2,
        "llama.block_count": shape.layers,
        "llama.context_length": shape.context,
        "llama.embedding_length": shape.width,
        "llama.feed_forward_length": shape.feed_forward,
        "llama.attention.head_count": shape.heads,
        "llama.attention.head_count_kv": shape.key_heads,
        "llama.rope.dimension_count": shape.head_width,
        "llama.vocab_size": shape.vocabulary,
    }
    yield from ((key, int(value), (GGUFValueType.UINT32,)) for key, value in numbers.items())
    yield "llama.attention.layer_norm_rms_epsilon", 1e-5, (GGUFValueType.FLOAT32,)
    yield "llama.rope.freq_base", 500_000.0, (GGUFValueType.FLOAT32,)
    yield "general.name", f"Random weights {form}", (GGUFValueType.STRING,)
    for field in GGUFReader(starter_path()).fields.values():
        if not field.name.startswith("tokenizer."):
            continue
        value = field.contents()
        if field.name in (_TOKENS, _TOKEN_TYPES):
            unused = range(len(value), shape.vocabulary)
            value += [f"<unused {token}>" if field.name == _TOKENS else int(TokenType.UNUSED) for token in unused]
        yield field.name, value, tuple(field.types)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--shape", choices=list(SHAPES), required=True)
    parser.add_argument("--form", choices=list(FORMS), required=True)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    write_body(arguments.out, SHAPES[arguments.shape], arguments.form, arguments.seed)


if __name__ == "__main__":
    main()
