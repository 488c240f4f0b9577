"""Reads the weights of a Hugging Face checkpoint into the form that the drafter runs on.

Safetensors files with the usual names are read here, which takes a few hundredths of a second; transformers, whose
import alone takes two seconds, reads whatever is named in another way. Both end in the same names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from engine.drafter.files import read_json
from engine.drafter.matrices import (
    DenseEmbedding,
    DenseMatrix,
    Int8Embedding,
    Int8Matrix,
    Int8Rows,
    Matrix,
    WeightForm,
)
from engine.drafter.model import LayerWeights, LlamaShape, LlamaWeights
from engine.errors import DrafterUnusable

_WHOLE = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
_EMBEDDING = "model.embed_tokens.weight"
SCALES = "_scale"  # what the name of int8 rows is followed by, for their scales
_SAMPLE = 256  # values at either end of a weight that go into the fingerprint


@dataclass(frozen=True, slots=True)
class LoadedWeights:
    weights: LlamaWeights
    fingerprint: str  # sha256 of a sample of every weight, whatever device they went to


def load_weights(folder: Path, shape: LlamaShape, device: str, dtype: torch.dtype, form: WeightForm) -> LoadedWeights:
    """Raises DrafterUnusable when weights are missing, damaged, of another shape or no numbers."""
    expected = dict(_expected(shape))
    with ExitStack() as stack:
        places = _find(folder, stack)
        if all(name in places for name in expected):
            try:
                for name in expected:
                    _check_shape(folder, name, places[name].shape(name), expected[name])
                return _arrange(folder, shape, lambda name: _stored(folder, places, name), device, dtype, form)
            except (SafetensorError, OSError) as error:
                raise _damaged(folder) from error
    tensors = _through_transformers(folder)
    for name, size in expected.items():
        if name not in tensors:
            raise DrafterUnusable(f"The weights of {folder.name} lack “{name}”; download the drafter again.")
        _check_shape(folder, name, list(tensors[name].shape), size)
    return _arrange(folder, shape, tensors.__getitem__, device, dtype, form)


@dataclass(frozen=True, slots=True)
class _File:
    handle: Any  # what safe_open gives

    def shape(self, name: str) -> list[int]:
        return list(self.handle.get_slice(name).get_shape())

    def tensor(self, name: str) -> torch.Tensor:
        tensor: torch.Tensor = self.handle.get_tensor(name)
        return tensor


def _find(folder: Path, stack: ExitStack) -> dict[str, _File]:
    """Which file holds which weight. Only headers are read."""
    if (folder / _WHOLE).exists():
        files = [_WHOLE]
    else:
        index = read_json(folder / _INDEX)
        if index is None:
            raise DrafterUnusable(_no_weights(folder))
        listed = index.get("weight_map")
        files = sorted({str(file) for file in listed.values()}) if isinstance(listed, dict) else []
        if not files or any(Path(file).name != file for file in files):
            raise _damaged(folder)
    places: dict[str, _File] = {}
    for file in files:
        if not (folder / file).exists():
            raise DrafterUnusable(f"{folder} lacks {file}; download the drafter again.")
        try:
            handle = stack.enter_context(safe_open(folder / file, framework="pt"))
        except (SafetensorError, OSError) as error:
            raise _damaged(folder) from error
        places.update(dict.fromkeys(handle.keys(), _File(handle)))
    return places


def _no_weights(folder: Path) -> str:
    if any(file for pattern in ("*.bin", "*.pt", "*.pth") for file in folder.glob(pattern)):
        return (
            f"The weights in {folder} are in PyTorch's old format, which can run programs when it is read; "
            "convert them to safetensors."
        )
    return f"{folder} holds no {_WHOLE}; download the drafter again."


def _expected(shape: LlamaShape) -> Iterator[tuple[str, list[int]]]:
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
            f"The weight “{name}” of {folder.name} has another shape than its config.json says; "
            "download the drafter again."
        )


def _stored(folder: Path, places: Mapping[str, _File], name: str) -> torch.Tensor | Int8Rows:
    """A weight as the file holds it: floats, or int8 rows whose scales stand beside them."""
    weight = places[name].tensor(name)
    if weight.dtype is not torch.int8:
        return weight
    scales = name + SCALES
    if scales not in places or weight.ndim != 2:
        raise DrafterUnusable(
            f"The weight “{name}” of {folder.name} is quantized in an unknown way; a drafter needs weights in 16 or "
            "32 bits, or int8 rows as Slipstream writes them."
        )
    _check_shape(folder, scales, places[scales].shape(scales), [len(weight)])
    return Int8Rows(weight, places[scales].tensor(scales).to(torch.float32))


def _arrange(
    folder: Path,
    shape: LlamaShape,
    read: Callable[[str], torch.Tensor | Int8Rows],
    device: str,
    dtype: torch.dtype,
    form: WeightForm,
) -> LoadedWeights:
    """Joins and transposes what belongs together."""
    digest = hashlib.sha256()

    def checked(name: str) -> torch.Tensor | Int8Rows:
        stored = read(name)
        values, scales = (stored, stored) if isinstance(stored, torch.Tensor) else (stored.values, stored.scales)
        if scales.dtype not in _FLOATS:
            raise DrafterUnusable(f"{folder.name} is quantized; a drafter needs weights in 16 or 32 bits.")
        # The least and the largest are what is not a number where anything is.
        if not torch.isfinite(torch.stack(torch.aminmax(scales))).all():
            raise DrafterUnusable(f"The weight “{name}” of {folder.name} is not a number; download the drafter again.")
        flat = values.reshape(-1)
        sample = torch.cat((flat[:_SAMPLE], flat[-_SAMPLE:])).to(torch.float32)
        digest.update(f"{name}{tuple(values.shape)}".encode())
        digest.update(sample.numpy().tobytes())
        return stored

    def vector(*names: str) -> torch.Tensor:
        """[the sum of their outputs]"""
        return torch.cat([_dense(checked(name)).to(torch.float32) for name in names]).to(device, dtype)

    def matrix(*names: str, bias: bool = False) -> Matrix:
        """From their common inputs to the sum of their outputs."""
        parts = [checked(f"{name}.weight") for name in names]
        added = vector(*(f"{name}.bias" for name in names)) if bias else None
        if form is WeightForm.INT8:
            rows = [_int8(part) for part in parts]
            joined = Int8Rows(torch.cat([part.values for part in rows]), torch.cat([part.scales for part in rows]))
            if joined.can_run:
                return Int8Matrix(joined, added)
        return DenseMatrix(_transposed([_dense(part) for part in parts], device, dtype), added)

    def layer(prefix: str) -> LayerWeights:
        attention, mlp = f"{prefix}self_attn", f"{prefix}mlp"
        return LayerWeights(
            attention_norm=vector(f"{prefix}input_layernorm.weight"),
            qkv=matrix(*(f"{attention}.{part}_proj" for part in ("q", "k", "v")), bias=shape.qkv_bias),
            attention_out=matrix(f"{attention}.o_proj", bias=shape.attention_out_bias),
            mlp_norm=vector(f"{prefix}post_attention_layernorm.weight"),
            gate_up=matrix(f"{mlp}.gate_proj", f"{mlp}.up_proj", bias=shape.mlp_bias),
            down=matrix(f"{mlp}.down_proj", bias=shape.mlp_bias),
        )

    with torch.inference_mode(False), torch.no_grad():
        table = checked(_EMBEDDING)
        head = table if shape.tied else checked("lm_head.weight")
        layers = tuple(layer(f"model.layers.{index}.") for index in range(shape.num_layers))
        final_norm = vector("model.norm.weight")
        if form is WeightForm.INT8:
            rows = _int8(table)
            head_rows = rows if shape.tied else _int8(head)
            outputs = Int8Rows(head_rows.values[: shape.outputs], head_rows.scales[: shape.outputs])
            product = Int8Matrix(outputs) if outputs.can_run else DenseMatrix(outputs.dense().t().contiguous())
            weights = LlamaWeights(Int8Embedding(rows), layers, final_norm, product)
        else:
            embedding = DenseEmbedding(_dense(table).to(device, dtype, copy=True))
            joined = _transposed([_dense(head)[: shape.outputs]], device, dtype)
            weights = LlamaWeights(embedding, layers, final_norm, DenseMatrix(joined))
    return LoadedWeights(weights, digest.hexdigest())


def _dense(stored: torch.Tensor | Int8Rows) -> torch.Tensor:
    return stored if isinstance(stored, torch.Tensor) else stored.dense()


def _int8(stored: torch.Tensor | Int8Rows) -> Int8Rows:
    return Int8Rows.of(stored) if isinstance(stored, torch.Tensor) else stored


def _transposed(parts: Sequence[torch.Tensor], device: str, dtype: torch.dtype) -> torch.Tensor:
    """[inputs, the sum of their outputs]: MKL reads that more than twice as fast."""
    joined = torch.empty((parts[0].shape[1], sum(len(part) for part in parts)), dtype=dtype, device=device)
    start = 0
    for part in parts:
        joined[:, start : start + len(part)].copy_(part.t())
        start += len(part)
    return joined


def _through_transformers(folder: Path) -> dict[str, torch.Tensor]:
    # Here, because it takes two seconds and is seldom needed.
    from transformers import LlamaForCausalLM
    from transformers.utils import logging

    reports: Any = logging
    kind: Any = LlamaForCausalLM
    # It reports to the terminal what is told here in a sentence.
    verbosity = reports.get_verbosity()
    reports.set_verbosity_error()
    reports.disable_progress_bar()
    try:
        model, report = kind.from_pretrained(
            folder,
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
            dtype="auto",
            output_loading_info=True,
        )
    # What a strange file makes transformers raise is not limited to any kind.
    except Exception as error:
        raise _damaged(folder) from error
    finally:
        reports.set_verbosity(verbosity)
    # Missing weights would be random numbers.
    tensors: dict[str, torch.Tensor] = model.state_dict()
    return {name: tensor for name, tensor in tensors.items() if name not in report["missing_keys"]}


def _damaged(folder: Path) -> DrafterUnusable:
    return DrafterUnusable(f"The weights in {folder} are cut short or damaged; download the drafter again.")
