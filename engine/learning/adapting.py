"""A drafter that can be trained: its frozen weights, and an adapter that gradients flow into.

The pass is that of `engine.drafter.model`, for one sequence at a time, so that only a few hundred tokens are in memory.
Products run in bfloat16; the adapter is float32. `check` is called between the matrices, forwards and backwards, and
may raise to end a pass early.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional

from engine.drafter.adapter import Adapter, LowRank, matrices
from engine.drafter.model import LlamaWeights, rope_tables
from engine.drafter.shape import LlamaShape

Check = Callable[[], None]

_HEAD_ROWS = 64  # of the product with the head, by far the widest matrix, at a time; a pass can end between them
# Lengths are rounded up to multiples of it: oneDNN compiles and caches programs for every shape of a product, some
# megabytes for each length of a sequence.
_LENGTH_STEP = 64


def never_stop() -> None:
    """A `Check` that never ends a pass."""


class AdaptedModel:
    """The training copy of a drafter, always on the CPU: no user waits for it, and a GPU belongs to the target."""

    def __init__(
        self,
        shape: LlamaShape,
        weights: LlamaWeights,
        rank: int,
        max_length: int,
        seed: int = 0,
        check: Check = never_stop,
    ) -> None:
        """It begins as the drafter itself: the additions are zero. `max_length`: tokens of a sequence."""
        self.shape = shape
        self._weights = weights
        self._dense: dict[str, torch.Tensor] = {}
        self._biases: dict[str, torch.Tensor | None] = {}
        for name, matrix in matrices(weights):
            check()
            self._dense[name] = matrix.dense().to(torch.bfloat16)
            self._biases[name] = None if matrix.bias is None else _plain(matrix.bias)
        self._norms = [(_plain(layer.attention_norm), _plain(layer.mlp_norm)) for layer in weights.layers]
        self._final_norm = _plain(weights.final_norm)
        generator = torch.Generator().manual_seed(seed)
        self._parts: dict[str, LowRank] = {}
        for name, dense in self._dense.items():
            outputs, inputs = dense.shape
            down = torch.randn((rank, inputs), generator=generator) / rank**0.5
            self._parts[name] = LowRank(down.requires_grad_(), torch.zeros((outputs, rank)).requires_grad_())
        cosine, sine = rope_tables(shape.rope, _rounded_up(max_length), shape.head_dim)
        self._cosine, self._sine = cosine[:, None, :], sine[:, None, :]

    @property
    def parameters(self) -> list[torch.Tensor]:
        return [tensor for part in self._parts.values() for tensor in (part.down, part.up)]

    @property
    def adapter(self) -> Adapter:
        """A copy of the adapter as it is now."""
        return Adapter(
            {name: LowRank(part.down.detach().clone(), part.up.detach().clone()) for name, part in self._parts.items()}
        )

    def start_from(self, adapter: Adapter | None) -> None:
        """Replaces the adapter by this one, of the same rank; None: by one without effect."""
        with torch.no_grad():
            for name, part in self._parts.items():
                if adapter is None:
                    part.up.zero_()
                else:
                    part.down.copy_(adapter.parts[name].down)
                    part.up.copy_(adapter.parts[name].up)

    def carrying(self, adapter: Adapter | None) -> AdaptedModel:
        """The same drafter with this adapter, of any rank, or with none. The frozen weights are shared."""
        other = copy.copy(self)
        other._parts = {} if adapter is None else dict(adapter.parts)
        return other

    def states(self, tokens: Sequence[int], check: Check = never_stop) -> torch.Tensor:
        """The final state after each token, which the head takes, float32 [tokens, hidden]."""
        shape, size = self.shape, _rounded_up(len(tokens))
        # No token attends to the padding after it.
        states = _plain(self._weights.embedding.look_up([*tokens, *[0] * (size - len(tokens))]))
        for number, (attention_norm, mlp_norm) in enumerate(self._norms):
            mixed = self._attend(self._times(f"{number}.qkv", self._norm(states, attention_norm), check))
            states = states + self._times(f"{number}.attention_out", mixed, check)
            gate_up = self._times(f"{number}.gate_up", self._norm(states, mlp_norm), check)
            gated = functional.silu(gate_up[:, : shape.feed_forward]) * gate_up[:, shape.feed_forward :]
            states = states + self._times(f"{number}.down", gated, check)
        return self._norm(states, self._final_norm)[: len(tokens)]

    def logits(self, states: torch.Tensor, check: Check = never_stop) -> torch.Tensor:
        """float32 [rows, outputs]"""
        padded = functional.pad(states, (0, 0, 0, _rounded_up(len(states)) - len(states)))
        parts = [self._times("head", part, check) for part in torch.split(padded, _HEAD_ROWS)]
        return torch.cat(parts)[: len(states)]

    def _norm(self, states: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(states, (self.shape.hidden,), weight, self.shape.norm_epsilon)

    def _times(self, name: str, rows: torch.Tensor, check: Check) -> torch.Tensor:
        part, bias = self._parts.get(name), self._biases[name]
        rows = _Checked.apply(rows, check)  # type: ignore[no-untyped-call]
        product = (rows.to(torch.bfloat16) @ self._dense[name].t()).to(torch.float32)
        if part is not None:
            product = product + (rows @ part.down.t()) @ part.up.t()
        return product if bias is None else product + bias

    def _attend(self, heads: torch.Tensor) -> torch.Tensor:
        shape, size = self.shape, len(heads)
        num_rotated = shape.num_heads + shape.num_kv_heads
        split = heads.view(size, num_rotated + shape.num_kv_heads, shape.head_dim)
        plain, values = split[:, :num_rotated], split[:, num_rotated:].transpose(0, 1)[None]
        first, second = plain.chunk(2, -1)
        rotated = plain * self._cosine[:size] + torch.cat((second, first), -1) * self._sine[:size]
        queries, keys = torch.split(rotated.transpose(0, 1)[None], [shape.num_heads, shape.num_kv_heads], 1)
        enable_gqa = shape.num_heads != shape.num_kv_heads
        mixed = functional.scaled_dot_product_attention(queries, keys, values, is_causal=True, enable_gqa=enable_gqa)
        return mixed[0].transpose(0, 1).reshape(size, -1)


def _rounded_up(size: int) -> int:
    return -(-size // _LENGTH_STEP) * _LENGTH_STEP


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to("cpu", torch.float32)


class _Checked(torch.autograd.Function):
    """The identity, which calls `check` on the way forward and on the way back."""

    @staticmethod
    def forward(context: Any, rows: torch.Tensor, check: Check) -> torch.Tensor:
        context.check = check
        check()
        return rows.view_as(rows)

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        context.check()
        return gradients[0], None
