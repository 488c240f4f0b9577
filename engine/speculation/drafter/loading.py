"""Reads the weights of a Hugging Face checkpoint into the form in which a drafter runs.

Names are the usual ones; some checkpoints leave “model.” out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from engine.speculation.drafter.files import no_weights, open_file, read_json
from engine.speculation.drafter.matrices import (
    GROUP_SIZE,
    DenseEmbedding,
    DenseMatrix,
    Embedding,
    Int4Groups,
    Int4Matrix,
    Int8Embedding,
    Int8Matrix,
    Int8Rows,
    Matrix,
    WeightForm,
)
from engine.speculation.drafter.model import LayerWeights, LlamaWeights
from engine.speculation.drafter.shape import LlamaShape
from engine.values.errors import DrafterUnusable

_LENGTH_BYTES = 8  # at the start of a safetensors file, for the length of its header
_LONGEST_HEADER = 4 << 20  # bytes; one of 128 layers has 200,000
_PREFIXES = ("model.", "lm_head.")  # of the names of weights
_WHOLE = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
_EMBEDDING = "model.embed_tokens.weight"
SCALES = "_scale"  # ends the names of the scales of int8 rows and 4-bit groups
_SAMPLE_SIZE = 256  # values at either end of a weight that go into the fingerprint

_Stored = torch.Tensor | Int8Rows | Int4Groups
_Handles = dict[str, tuple[Any, str]]


def load_weights(
    folder: Path, shape: LlamaShape, device: str, dtype: torch.dtype, form: WeightForm
) -> tuple[LlamaWeights, str]:
    """The weights and their fingerprint, the sha256 of a sample of each, which is the same on any device.

    Raises DrafterUnusable when weights are missing, damaged, of another shape or no numbers.
    """
    with ExitStack() as stack:
        try:
            handles = _open(folder, stack)
            for name, size in expected_weights(shape):
                if name not in handles:
                    raise DrafterUnusable(
                        "The weights of {name} lack “{weight}”; download the drafter again.",
                        name=folder.name,
                        weight=name,
                    )
                _check_shape(folder, name, _shape(*handles[name]), size)
            arranger = _Arranger(folder.name, lambda name: _stored(folder, handles, name), device, dtype, form)
            with torch.inference_mode(False), torch.no_grad():
                return arranger.weights(shape), arranger.digest.hexdigest()
        except (SafetensorError, OSError, MemoryError) as error:
            raise _damaged(folder) from error


def _open(folder: Path, stack: ExitStack) -> _Handles:
    """The open safetensors file of each weight, by its usual name, and its name there. Only headers are read."""
    if (folder / _WHOLE).exists():
        files = [_WHOLE]
    else:
        index = read_json(folder / _INDEX)
        if index is None:
            raise DrafterUnusable(no_weights(folder))
        listed = index.get("weight_map")
        files = sorted({str(file) for file in listed.values()}) if isinstance(listed, dict) else []
        if not files or any(Path(file).name != file for file in files):
            raise _damaged(folder)
    handles: _Handles = {}
    for file in files:
        if not (folder / file).exists():
            raise DrafterUnusable("{folder} lacks {file}; download the drafter again.", folder=folder, file=file)
        _check_header(folder / file)
        handle = stack.enter_context(safe_open(folder / file, framework="pt"))
        for name in list(handle.keys()):
            handles[name if name.startswith(_PREFIXES) else f"{_PREFIXES[0]}{name}"] = handle, name
    return handles


def _check_header(file: Path) -> None:
    """Refuses a header by the length it claims, as it takes many times that memory when it is read. Raises OSError."""
    with open_file(file) as opened:
        if int.from_bytes(opened.read(_LENGTH_BYTES), "little") > _LONGEST_HEADER:
            raise _damaged(file.parent)


def _shape(handle: Any, name: str) -> list[int]:
    """The shape of the matrix, however it is stored."""
    stored = handle.get_slice(name)
    *outer, inner = list(stored.get_shape()) or [0]
    return [*outer, 2 * inner if stored.get_dtype() == "U8" else inner]


def expected_weights(shape: LlamaShape) -> Iterator[tuple[str, list[int]]]:
    """Names and shapes ([outputs, inputs]) as in Hugging Face checkpoints."""
    queries, keys = shape.num_heads * shape.head_dim, shape.num_kv_heads * shape.head_dim
    hidden, inner = shape.hidden, shape.feed_forward
    yield "model.embed_tokens.weight", [shape.vocabulary, hidden]
    yield "model.norm.weight", [hidden]
    if not shape.tied:
        yield "lm_head.weight", [shape.vocabulary, hidden]
    for layer in range(shape.num_layers):
        prefix = f"model.layers.{layer}."
        yield prefix + "input_layernorm.weight", [hidden]
        yield prefix + "post_attention_layernorm.weight", [hidden]
        for part, has_bias, outputs, inputs in (
            ("self_attn.q_proj", shape.qkv_bias, queries, hidden),
            ("self_attn.k_proj", shape.qkv_bias, keys, hidden),
            ("self_attn.v_proj", shape.qkv_bias, keys, hidden),
            ("self_attn.o_proj", shape.attention_out_bias, hidden, queries),
            ("mlp.gate_proj", shape.mlp_bias, inner, hidden),
            ("mlp.up_proj", shape.mlp_bias, inner, hidden),
            ("mlp.down_proj", shape.mlp_bias, hidden, inner),
        ):
            yield f"{prefix}{part}.weight", [outputs, inputs]
            if has_bias:
                yield f"{prefix}{part}.bias", [outputs]


def _check_shape(folder: Path, name: str, found: Sequence[int], expected: Sequence[int]) -> None:
    if list(found) != list(expected):
        raise DrafterUnusable(
            "The weight “{name}” in {folder} has a different shape than its config.json says; download the drafter "
            "again.",
            name=name,
            folder=folder.name,
        )


def _stored(folder: Path, handles: _Handles, name: str) -> _Stored:
    """A weight as stored in the file: floats, or int8 rows or 4-bit groups with scales under a separate name."""
    weight = _tensor(*handles[name])
    if weight.dtype not in (torch.int8, torch.uint8):
        return weight
    scales = name + SCALES
    in_groups = weight.dtype is torch.uint8
    if scales not in handles or weight.ndim != 2 or (in_groups and 2 * weight.shape[1] % GROUP_SIZE):
        raise DrafterUnusable(
            "The weight “{name}” of {folder} is quantized in an unknown way; a drafter needs weights in 16 "
            "or 32 bits, or int8 rows as Slipstream writes them.",
            name=name,
            folder=folder.name,
        )
    groups = [2 * weight.shape[1] // GROUP_SIZE, 2] if in_groups else []
    _check_shape(folder, scales, _shape(*handles[scales]), [len(weight), *groups])
    found = _tensor(*handles[scales]).to(torch.float32)
    return Int4Groups(weight, found) if in_groups else Int8Rows(weight, found)


def _tensor(handle: Any, name: str) -> torch.Tensor:
    tensor: torch.Tensor = handle.get_tensor(name)
    return tensor


class _Arranger:
    """Joins stored weights into the matrices of a model, in their form and on their device, and digests a sample of
    each weight."""

    def __init__(
        self, name: str, read: Callable[[str], _Stored], device: str, dtype: torch.dtype, form: WeightForm
    ) -> None:
        self.digest = hashlib.sha256()
        self._name = name
        self._read = read
        self._place: dict[str, Any] = {"device": device, "dtype": dtype}
        self._form = form

    def weights(self, shape: LlamaShape) -> LlamaWeights:
        table = self._checked(_EMBEDDING)
        rows = _int8(table) if self._form is WeightForm.INT8 else None
        head: Matrix | None = None
        if rows is not None and shape.tied and rows.can_run:  # one piece of memory for both
            whole = Int8Matrix(rows)
            rows, head = whole.rows, whole.first(shape.outputs)
        embedding: Embedding
        if rows is not None:
            embedding = Int8Embedding(rows)
        else:
            embedding = DenseEmbedding(_dense(table).to(**self._place, copy=True))
        if head is None:
            last = table if shape.tied else self._checked("lm_head.weight")
            head = self._joined([_first_rows(last, shape.outputs)])
        layers = tuple(self._layer(shape, f"model.layers.{index}.") for index in range(shape.num_layers))
        return LlamaWeights(embedding, layers, self._vector("model.norm.weight"), head)

    def _layer(self, shape: LlamaShape, prefix: str) -> LayerWeights:
        attention, mlp = f"{prefix}self_attn", f"{prefix}mlp"
        return LayerWeights(
            attention_norm=self._vector(f"{prefix}input_layernorm.weight"),
            qkv=self._matrix(*(f"{attention}.{part}_proj" for part in "qkv"), bias=shape.qkv_bias),
            attention_out=self._matrix(f"{attention}.o_proj", bias=shape.attention_out_bias),
            mlp_norm=self._vector(f"{prefix}post_attention_layernorm.weight"),
            gate_up=self._matrix(f"{mlp}.gate_proj", f"{mlp}.up_proj", bias=shape.mlp_bias),
            down=self._matrix(f"{mlp}.down_proj", bias=shape.mlp_bias),
        )

    def _vector(self, *names: str) -> torch.Tensor:
        """[the sum of their outputs]"""
        return torch.cat([_dense(self._checked(name)).to(torch.float32) for name in names]).to(**self._place)

    def _matrix(self, *names: str, bias: bool) -> Matrix:
        """A matrix from their common inputs to the sum of their outputs."""
        parts = [self._checked(f"{name}.weight") for name in names]
        return self._joined(parts, self._vector(*(f"{name}.bias" for name in names)) if bias else None)

    def _joined(self, parts: Sequence[_Stored], bias: torch.Tensor | None = None) -> Matrix:
        if self._form is WeightForm.INT8:
            groups = [part for part in parts if isinstance(part, Int4Groups)]
            if len(groups) == len(parts) and groups[0].can_run:
                return Int4Matrix(Int4Groups(*_concatenated(groups)), bias)
            rows = Int8Rows(*_concatenated([_int8(part) for part in parts]))
            if rows.can_run:
                return Int8Matrix(rows, bias)
        # [inputs, outputs], which MKL reads more than twice as fast.
        dense = [_dense(part) for part in parts]
        weight = torch.empty((dense[0].shape[1], sum(map(len, dense))), **self._place)
        for part, columns in zip(dense, torch.split(weight, [len(part) for part in dense], 1), strict=True):
            columns.copy_(part.t())
        return DenseMatrix(weight, bias)

    def _checked(self, name: str) -> _Stored:
        stored = self._read(name)
        values, scales = (stored, stored) if isinstance(stored, torch.Tensor) else (stored.values, stored.scales)
        if scales.dtype not in _FLOATS:
            raise DrafterUnusable("{name} is quantized; a drafter needs weights in 16 or 32 bits.", name=self._name)
        # If any value is not a number, the least or the largest is not one.
        if not torch.isfinite(torch.stack(torch.aminmax(scales))).all():
            raise DrafterUnusable(
                "The weight “{name}” of {model} is not a number; download the drafter again.",
                name=name,
                model=self._name,
            )
        flat = values.reshape(-1)
        sample = torch.cat((flat[:_SAMPLE_SIZE], flat[-_SAMPLE_SIZE:])).to(torch.float32)
        self.digest.update(f"{name}{tuple(values.shape)}".encode())
        self.digest.update(sample.numpy().tobytes())
        return stored


def _dense(stored: _Stored) -> torch.Tensor:
    return stored if isinstance(stored, torch.Tensor) else stored.dense()


def _int8(stored: _Stored) -> Int8Rows:
    return stored if isinstance(stored, Int8Rows) else Int8Rows.of(_dense(stored))


def _concatenated(parts: Sequence[Int8Rows] | Sequence[Int4Groups]) -> tuple[torch.Tensor, torch.Tensor]:
    if len(parts) == 1:
        return parts[0].values, parts[0].scales
    return torch.cat([part.values for part in parts]), torch.cat([part.scales for part in parts])


def _first_rows(stored: _Stored, count: int) -> _Stored:
    if isinstance(stored, torch.Tensor):
        return stored[:count]
    return type(stored)(stored.values[:count], stored.scales[:count])


def _damaged(folder: Path) -> DrafterUnusable:
    return DrafterUnusable(
        "The weights in {folder} are cut short or damaged; download the drafter again.", folder=folder
    )
