"""A drafter that can be trained: its frozen weights, and an adapter that gradients flow into.

The pass is that of `engine.drafter.model`, for one sequence at a time, so that a few hundred tokens are all that is in
memory. Products run in bfloat16; what is learned is float32. `check` is called between the matrices, forwards and
backwards, and may raise to end a pass early.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional

from engine.drafter.adapter import Adapter, LowRank, matrices
from engine.drafter.model import LlamaShape, LlamaWeights

Check = Callable[[], None]

_ROWS_AT_ONCE = 64  # of the head, by far the widest matrix: a pass can be ended between them
# Lengths are rounded up to multiples of it: for every shape of a product oneDNN makes programs, some megabytes for each
# length of a sequence, and keeps them.
_ROUNDED_TO = 64


def _nothing() -> None: ...


class AdaptedModel:
    def __init__(
        self,
        shape: LlamaShape,
        weights: LlamaWeights,
        rank: int,
        longest: int,
        seed: int = 0,
        check: Check = _nothing,
    ) -> None:
        """Begins as the drafter itself: the additions are zero. `longest`: tokens of a sequence."""
        self.shape = shape
        self._weights = weights
        # On the CPU, wherever the drafter runs: nobody waits for it, and a GPU belongs to the target.
        self._dense = {}
        for name, matrix in matrices(weights):
            check()
            self._dense[name] = matrix.dense().to(torch.bfloat16)
        self._biases = {
            name: None if matrix.bias is None else _plain(matrix.bias) for name, matrix in matrices(weights)
        }
        self._norms = [(_plain(layer.attention_norm), _plain(layer.mlp_norm)) for layer in weights.layers]
        self._final_norm = _plain(weights.final_norm)
        generator = torch.Generator().manual_seed(seed)
        self._parts: dict[str, LowRank] = {}
        for name, dense in self._dense.items():
            outputs, inputs = dense.shape
            down = torch.randn((rank, inputs), generator=generator) / rank**0.5
            self._parts[name] = LowRank(down.requires_grad_(), torch.zeros((outputs, rank)).requires_grad_())
        cosine, sine = shape.rope.tables(_rounded_up(longest), shape.head_dim)
        self._cosine, self._sine = cosine[:, None, :], sine[:, None, :]

    @property
    def parameters(self) -> list[torch.Tensor]:
        return [tensor for part in self._parts.values() for tensor in (part.down, part.up)]

    @property
    def adapter(self) -> Adapter:
        """A copy of what was learned so far."""
        return Adapter(
            {name: LowRank(part.down.detach().clone(), part.up.detach().clone()) for name, part in self._parts.items()}
        )

    def take(self, adapter: Adapter) -> None:
        """Go on from this one, of the same rank."""
        with torch.no_grad():
            for name, part in self._parts.items():
                part.down.copy_(adapter.parts[name].down)
                part.up.copy_(adapter.parts[name].up)

    def states(self, tokens: Sequence[int], check: Check = _nothing) -> torch.Tensor:
        """What the head sees after each of the tokens, float32 [tokens, hidden]."""
        shape, size = self.shape, _rounded_up(len(tokens))
        # Nothing looks at what stands behind it.
        states = _plain(self._weights.embedding.look_up([*tokens, *[0] * (size - len(tokens))]))
        turn = (self._cosine[:size], self._sine[:size])
        for number, (attention_norm, mlp_norm) in enumerate(self._norms):
            mixed = self._attend(self._times(f"{number}.qkv", self._norm(states, attention_norm), check), turn)
            states = states + self._times(f"{number}.attention_out", mixed, check)
            gate_up = self._times(f"{number}.gate_up", self._norm(states, mlp_norm), check)
            gated = functional.silu(gate_up[:, : shape.feed_forward]) * gate_up[:, shape.feed_forward :]
            states = states + self._times(f"{number}.down", gated, check)
        return self._norm(states, self._final_norm)[: len(tokens)]

    def logits(self, states: torch.Tensor, check: Check = _nothing) -> torch.Tensor:
        """float32 [rows, outputs]"""
        padded = functional.pad(states, (0, 0, 0, _rounded_up(len(states)) - len(states)))
        parts = [self._times("head", part, check) for part in torch.split(padded, _ROWS_AT_ONCE)]
        return torch.cat(parts)[: len(states)]

    def _norm(self, states: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(states, (self.shape.hidden,), weight, self.shape.norm_epsilon)

    def _times(self, name: str, rows: torch.Tensor, check: Check) -> torch.Tensor:
        part, bias = self._parts[name], self._biases[name]
        rows = _Checked.apply(rows, check)  # type: ignore[no-untyped-call]
        small = rows.to(torch.bfloat16)
        product = (small @ self._dense[name].t()).to(torch.float32) + (rows @ part.down.t()) @ part.up.t()
        return product if bias is None else product + bias

    def _attend(self, heads: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        shape, size = self.shape, len(heads)
        num_turned = shape.num_heads + shape.num_kv_heads
        split = heads.view(size, num_turned + shape.num_kv_heads, shape.head_dim)
        plain, values = split[:, :num_turned], split[:, num_turned:]
        first, second = plain.chunk(2, -1)
        turned = plain * turn[0] + torch.cat((second, first), -1) * turn[1]
        queries, keys = turned[:, : shape.num_heads], turned[:, shape.num_heads :]
        mixed = functional.scaled_dot_product_attention(
            queries.transpose(0, 1)[None],
            keys.transpose(0, 1)[None],
            values.transpose(0, 1)[None],
            is_causal=True,
            enable_gqa=shape.num_heads != shape.num_kv_heads,
        )
        return mixed[0].transpose(0, 1).reshape(size, -1)


def _rounded_up(size: int) -> int:
    return -(-size // _ROUNDED_TO) * _ROUNDED_TO


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to("cpu", torch.float32)


class _Checked(torch.autograd.Function):
    """The identity, with a moment at which the pass may be ended, on the way there and on the way back."""

    @staticmethod
    def forward(context: Any, rows: torch.Tensor, check: Check) -> torch.Tensor:
        context.check = check
        check()
        return rows.view_as(rows)

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        context.check()
        return gradients[0], None
