"""Reads the weights of a Hugging Face checkpoint into the form that the drafter runs on.

Safetensors files with the usual names are read here, which takes a few hundredths of a second; transformers, whose
import alone takes two seconds, reads whatever is named in another way. Both end in the same names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from engine.drafter.json_file import read_json
from engine.drafter.model import LayerWeights, LlamaShape, LlamaWeights
from engine.errors import DrafterUnusable

_WHOLE = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
# Numbers of a tied embedding up to which it is held twice, as rows to look up as well: a column of the head comes
# from as many places in memory as it has numbers, 30 µs of a step that takes 1.5 ms.
_TWIN_LIMIT = 1 << 24
_SAMPLE = 256  # values at either end of a weight that go into the fingerprint


@dataclass(frozen=True, slots=True)
class LoadedWeights:
    weights: LlamaWeights
    fingerprint: str  # sha256 of a sample of every weight, whatever device they went to


def load_weights(folder: Path, shape: LlamaShape, device: str, dtype: torch.dtype) -> LoadedWeights:
    """Raises DrafterUnusable when weights are missing, damaged, of another shape or no numbers."""
    expected = dict(_expected(shape))
    with ExitStack() as stack:
        places = _find(folder, stack)
        if all(name in places for name in expected):
            try:
                for name in expected:
                    _check_shape(folder, name, places[name].shape(name), expected[name])
                return _arrange(folder, shape, lambda name: places[name].tensor(name), device, dtype)
            except (SafetensorError, OSError) as error:
                raise _damaged(folder) from error
    tensors = _through_transformers(folder)
    for name, size in expected.items():
        if name not in tensors:
            raise DrafterUnusable(f"The weights of {folder.name} lack “{name}”; download the drafter again.")
        _check_shape(folder, name, list(tensors[name].shape), size)
    return _arrange(folder, shape, tensors.__getitem__, device, dtype)


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


def _arrange(
    folder: Path, shape: LlamaShape, read: Callable[[str], torch.Tensor], device: str, dtype: torch.dtype
) -> LoadedWeights:
    """Joins and transposes what belongs together."""
    digest = hashlib.sha256()

    def checked(name: str) -> torch.Tensor:
        tensor = read(name)
        if tensor.dtype not in _FLOATS:
            raise DrafterUnusable(f"{folder.name} is quantized; a drafter needs weights in 16 or 32 bits.")
        # The least and the largest are what is not a number where anything is.
        if not torch.isfinite(torch.stack(torch.aminmax(tensor))).all():
            raise DrafterUnusable(f"The weight “{name}” of {folder.name} is not a number; download the drafter again.")
        flat = tensor.reshape(-1)
        sample = torch.cat((flat[:_SAMPLE], flat[-_SAMPLE:])).to(torch.float32)
        digest.update(f"{name}{tuple(tensor.shape)}".encode())
        digest.update(sample.numpy().tobytes())
        return tensor

    def vector(*names: str) -> torch.Tensor:
        """[the sum of their outputs]"""
        return torch.cat([checked(name).to(torch.float32) for name in names]).to(device, dtype)

    def matrix(*names: str) -> torch.Tensor:
        """[inputs, the sum of their outputs]"""
        parts = [checked(name) for name in names]
        joined = torch.empty((parts[0].shape[1], sum(len(part) for part in parts)), dtype=dtype, device=device)
        start = 0
        for part in parts:
            joined[:, start : start + len(part)].copy_(part.t())
            start += len(part)
        return joined

    def layer(prefix: str) -> LayerWeights:
        qkv = [f"{prefix}self_attn.{part}_proj" for part in ("q", "k", "v")]
        gate_up = [f"{prefix}mlp.{part}_proj" for part in ("gate", "up")]
        out, down = f"{prefix}self_attn.o_proj", f"{prefix}mlp.down_proj"
        return LayerWeights(
            attention_norm=vector(f"{prefix}input_layernorm.weight"),
            qkv=matrix(*(f"{part}.weight" for part in qkv)),
            qkv_bias=vector(*(f"{part}.bias" for part in qkv)) if shape.qkv_bias else None,
            attention_out=matrix(f"{out}.weight"),
            attention_out_bias=vector(f"{out}.bias") if shape.attention_out_bias else None,
            mlp_norm=vector(f"{prefix}post_attention_layernorm.weight"),
            gate_up=matrix(*(f"{part}.weight" for part in gate_up)),
            gate_up_bias=vector(*(f"{part}.bias" for part in gate_up)) if shape.mlp_bias else None,
            down=matrix(f"{down}.weight"),
            down_bias=vector(f"{down}.bias") if shape.mlp_bias else None,
        )

    with torch.inference_mode(False), torch.no_grad():
        if shape.tied:
            head = matrix("model.embed_tokens.weight")
            embedding = head.t()
            if head.numel() <= _TWIN_LIMIT:
                embedding = embedding.contiguous()
        else:
            head = matrix("lm_head.weight")
            embedding = checked("model.embed_tokens.weight").to(device, dtype, copy=True)
        layers = tuple(layer(f"model.layers.{index}.") for index in range(shape.num_layers))
        weights = LlamaWeights(embedding, layers, vector("model.norm.weight"), head)
    return LoadedWeights(weights, digest.hexdigest())


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
