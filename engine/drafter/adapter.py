"""What a drafter has learned about one target: low-rank additions to its matrices (LoRA, arXiv 2106.09685).

They are added to the matrices themselves, so that a guess costs what it cost before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from engine.drafter.matrices import Matrix
from engine.drafter.model import AcceptanceHead, LayerWeights, LlamaShape, LlamaWeights
from engine.errors import AdapterUnusable

_DOWN, _UP = ".down", ".up"
_HEAD = "head"
_OF_STATE, _OF_PROBABILITY = "acceptance.state", "acceptance.probability"
_LARGEST_RANK = 512


@dataclass(frozen=True, slots=True, eq=False)
class LowRank:
    """A matrix [outputs, inputs] as a product of two narrow ones."""

    down: torch.Tensor  # float32 [rank, inputs]
    up: torch.Tensor  # float32 [outputs, rank]

    def product(self) -> torch.Tensor:
        return self.up @ self.down


@dataclass(frozen=True, slots=True, eq=False)
class Adapter:
    """By the name of the matrix that it is added to: see `matrix_sizes`."""

    parts: Mapping[str, LowRank]
    head: AcceptanceHead | None = None  # where it tells more than the probability of a guess alone

    @property
    def rank(self) -> int:
        return len(next(iter(self.parts.values())).down)

    def to_bytes(self) -> bytes:
        """As a safetensors file, in 16 bits."""
        tensors = {}
        for name, part in self.parts.items():
            tensors[name + _DOWN] = part.down.to(torch.float16).contiguous()
            tensors[name + _UP] = part.up.to(torch.float16).contiguous()
        if self.head is not None:
            tensors[_OF_STATE] = self.head.of_state.contiguous()
            tensors[_OF_PROBABILITY] = self.head.of_probability.contiguous()
        return save(tensors)

    @classmethod
    def from_bytes(cls, data: bytes, shape: LlamaShape) -> Adapter:
        """Raises AdapterUnusable for what is no adapter of a drafter of this shape."""
        try:
            tensors = load(data)
        except (SafetensorError, ValueError, OverflowError, MemoryError) as error:
            raise AdapterUnusable("What a drafter had learned is damaged; it starts from the beginning.") from error
        parts = {}
        for name, (outputs, inputs) in matrix_sizes(shape).items():
            down, up = tensors.pop(name + _DOWN, None), tensors.pop(name + _UP, None)
            if down is None or up is None:
                raise _of_another()
            rank = len(down)
            if not 0 < rank <= _LARGEST_RANK or down.shape != (rank, inputs) or up.shape != (outputs, rank):
                raise _of_another()
            parts[name] = LowRank(_numbers(down), _numbers(up))
        if len({len(part.down) for part in parts.values()}) != 1:
            raise _of_another()
        head = _head(tensors.pop(_OF_STATE, None), tensors.pop(_OF_PROBABILITY, None), shape)
        if tensors:
            raise _of_another()
        return cls(parts, head)


def matrix_sizes(shape: LlamaShape) -> dict[str, tuple[int, int]]:
    """Outputs and inputs of the matrices that can be added to, by name, in the order in which they are run."""
    mixed = shape.num_heads * shape.head_dim
    sizes = {}
    for layer in range(shape.num_layers):
        sizes[f"{layer}.qkv"] = (mixed + 2 * shape.num_kv_heads * shape.head_dim, shape.hidden)
        sizes[f"{layer}.attention_out"] = (shape.hidden, mixed)
        sizes[f"{layer}.gate_up"] = (2 * shape.feed_forward, shape.hidden)
        sizes[f"{layer}.down"] = (shape.hidden, shape.feed_forward)
    sizes[_HEAD] = (shape.outputs, shape.hidden)
    return sizes


def matrices(weights: LlamaWeights) -> Iterator[tuple[str, Matrix]]:
    """By the names of `matrix_sizes`, in their order."""
    for number, layer in enumerate(weights.layers):
        yield f"{number}.qkv", layer.qkv
        yield f"{number}.attention_out", layer.attention_out
        yield f"{number}.gate_up", layer.gate_up
        yield f"{number}.down", layer.down
    yield _HEAD, weights.head


def adapted(weights: LlamaWeights, adapter: Adapter, check: Callable[[], None] = lambda: None) -> LlamaWeights:
    """A drafter's own weights with the adapter added. What the two share is not copied. `check` is called between the
    matrices, which take some hundredths of a second each, and may raise."""
    new = {}
    with torch.inference_mode(False), torch.no_grad():
        for name, matrix in matrices(weights):
            check()
            new[name] = matrix.plus(adapter.parts[name].product())

    def layer(number: int, old: LayerWeights) -> LayerWeights:
        return replace(
            old,
            qkv=new[f"{number}.qkv"],
            attention_out=new[f"{number}.attention_out"],
            gate_up=new[f"{number}.gate_up"],
            down=new[f"{number}.down"],
        )

    layers = tuple(layer(number, old) for number, old in enumerate(weights.layers))
    return replace(weights, layers=layers, head=new[_HEAD], acceptance=adapter.head)


def _head(
    of_state: torch.Tensor | None, of_probability: torch.Tensor | None, shape: LlamaShape
) -> AcceptanceHead | None:
    if of_state is None and of_probability is None:
        return None
    if of_state is None or of_probability is None or of_state.shape != (shape.hidden,) or of_probability.shape != (3,):
        raise _of_another()
    return AcceptanceHead(_numbers(of_state), _numbers(of_probability))


def _numbers(stored: torch.Tensor) -> torch.Tensor:
    if not stored.is_floating_point() or not bool(torch.isfinite(stored).all()):
        raise AdapterUnusable("What a drafter had learned is no numbers any more; it starts from the beginning.")
    return stored.to(torch.float32)


def _of_another() -> AdapterUnusable:
    return AdapterUnusable("What a drafter had learned is of another drafter; it starts from the beginning.")
