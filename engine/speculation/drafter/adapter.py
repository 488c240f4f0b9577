"""The additions that a drafter has learned for one target, low-rank, to its matrices (LoRA, arXiv 2106.09685).

They are added to the matrices themselves, so that a draft step costs the same as without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from engine.speculation.drafter.matrices import Matrix
from engine.speculation.drafter.model import LlamaWeights
from engine.speculation.drafter.shape import LlamaShape
from engine.values.errors import AdapterUnusable

_DOWN, _UP = ".down", ".up"
_OF_LAYER = ("qkv", "attention_out", "gate_up", "down")  # matrices, in the order in which they are run
_HEAD = "head"
_ACCEPTANCE = "acceptance."  # of an acceptance head, which earlier versions kept here
_MAX_RANK = 512
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)


@dataclass(frozen=True, slots=True, eq=False)
class LowRank:
    """A matrix [outputs, inputs] as a product of two narrow ones."""

    down: torch.Tensor  # float32 [rank, inputs]
    up: torch.Tensor  # float32 [outputs, rank]

    def product(self) -> torch.Tensor:
        return self.up @ self.down


@dataclass(frozen=True, slots=True, eq=False)
class Adapter:
    """Additions, all of one rank, by the name of the matrix that each is added to: see `matrix_sizes`. Matrices that
    are not named stay as they are."""

    parts: Mapping[str, LowRank]

    @property
    def rank(self) -> int:
        return len(next(iter(self.parts.values())).down)

    def to_bytes(self) -> bytes:
        """The content of a safetensors file, in 16 bits."""
        tensors = {}
        for name, part in self.parts.items():
            tensors[name + _DOWN] = part.down.to(torch.float16).contiguous()
            tensors[name + _UP] = part.up.to(torch.float16).contiguous()
        return save(tensors)

    @classmethod
    def from_bytes(cls, data: bytes, shape: LlamaShape) -> Adapter:
        """Raises AdapterUnusable where this is no adapter of a drafter of this shape."""
        try:
            tensors = {name: each for name, each in load(data).items() if not name.startswith(_ACCEPTANCE)}
        except (SafetensorError, ValueError, KeyError, OverflowError, MemoryError) as error:  # KeyError: of its numbers
            raise AdapterUnusable(
                "What the drafter had learned is damaged; it starts learning from scratch."
            ) from error
        sizes = {name: size for name, size in matrix_sizes(shape).items() if name + _DOWN in tensors}
        first = next((tensors[name + _DOWN] for name in sizes), None)
        rank = first.shape[0] if first is not None and first.ndim else 0
        expected: dict[str, tuple[int, ...]] = {name + _DOWN: (rank, inputs) for name, (_, inputs) in sizes.items()}
        expected |= {name + _UP: (outputs, rank) for name, (outputs, _) in sizes.items()}
        if not 0 < rank <= _MAX_RANK or {name: tuple(tensor.shape) for name, tensor in tensors.items()} != expected:
            raise AdapterUnusable("What was learned belongs to another drafter; this one starts learning from scratch.")
        if not all(tensor.dtype in _FLOATS and torch.isfinite(tensor).all() for tensor in tensors.values()):
            raise AdapterUnusable(
                "What the drafter had learned is damaged (it contains no numbers); it starts learning from scratch."
            )
        numbers = {name: tensor.to(torch.float32) for name, tensor in tensors.items()}
        return cls({name: LowRank(numbers[name + _DOWN], numbers[name + _UP]) for name in sizes})


def share_of(adapter: Adapter | None, strength: float) -> Adapter | None:
    """That share of the additions; None for none."""
    if adapter is None or not strength:
        return None
    if strength == 1:
        return adapter
    return Adapter({name: LowRank(part.down, part.up * strength) for name, part in adapter.parts.items()})


def matrix_sizes(shape: LlamaShape) -> dict[str, tuple[int, int]]:
    """Outputs and inputs of the matrices that can be added to, by name, in the order in which they are run."""
    queries, keys = shape.num_heads * shape.head_dim, shape.num_kv_heads * shape.head_dim
    hidden, inner = shape.hidden, shape.feed_forward
    of_layer = ((queries + 2 * keys, hidden), (hidden, queries), (2 * inner, hidden), (hidden, inner))
    sizes = {
        f"{number}.{part}": size
        for number in range(shape.num_layers)
        for part, size in zip(_OF_LAYER, of_layer, strict=True)
    }
    return sizes | {_HEAD: (shape.outputs, hidden)}


def layer_of(name: str, shape: LlamaShape) -> int:
    """The number of the layer that a matrix belongs to; the head comes after the last one."""
    return shape.num_layers if name == _HEAD else int(name.partition(".")[0])


def matrices(weights: LlamaWeights) -> Iterator[tuple[str, Matrix]]:
    """The matrices with the names of `matrix_sizes`, in their order."""
    for number, layer in enumerate(weights.layers):
        for part in _OF_LAYER:
            yield f"{number}.{part}", getattr(layer, part)
    yield _HEAD, weights.head


def adapted(weights: LlamaWeights, adapter: Adapter, check: Callable[[], None] = lambda: None) -> LlamaWeights:
    """A drafter's own weights with the adapter added; weights that stay the same are shared. `check` is called between
    the matrices, which take some hundredths of a second each, and may raise."""
    new: dict[str, Any] = {}
    with torch.inference_mode(False), torch.no_grad():
        for name, matrix in matrices(weights):
            check()
            part = adapter.parts.get(name)
            new[name] = matrix if part is None else matrix.plus(part.product())
    layers = tuple(
        replace(layer, **{part: new[f"{number}.{part}"] for part in _OF_LAYER})
        for number, layer in enumerate(weights.layers)
    )
    return replace(weights, layers=layers, head=new[_HEAD])
