"""A drafter that can be trained: its frozen weights, and an adapter that gradients flow into.

The pass is that of `drafter.model`, for one sequence at a time. To save memory, gradients are computed layer by layer,
each of which runs a second time, and the widest matrix takes a few rows at a time: only the states between layers stay.
The frozen weights are bfloat16, the adapter is float32. `check` is called within and between the matrices, forwards and
backwards, and may raise to end a pass early.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import torch
from torch.nn import functional

from engine.speculation.drafter.adapter import Adapter, LowRank, layer_of, matrix_sizes
from engine.speculation.drafter.matrices import Check as Check
from engine.speculation.drafter.model import LayerWeights, LlamaWeights, rope_tables
from engine.speculation.drafter.shape import LlamaShape, Rope
from engine.speculation.learning.frozen import FrozenMatrices
from engine.values.memory import return_free_memory

RowsLoss = Callable[[torch.Tensor, slice], torch.Tensor]  # from logits, float32 [rows, outputs], and which rows

_HEAD_ROWS = 32  # of the product with the head, by far the widest matrix, at a time
# Of which something is made between two checks: 2 MB, which stay in the heap. The pages of larger pieces come from the
# system, which takes longer than to fill them.
_MOST_LOGITS = 1 << 19
# Lengths are rounded up to multiples of it: oneDNN compiles and caches programs for every shape of a product, some
# megabytes for each length of a sequence.
_LENGTH_STEP = 64
_LAYERS_PER_RETURN = 5  # of free memory; after each layer it took a tenth of the time, and the most in use was the same


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
        names: Collection[str] | None = None,
    ) -> None:
        """Begins as the drafter itself: the additions are zero. `max_length`: tokens of a sequence. `names`: the
        matrices that are added to, by default all."""
        self.shape = shape
        self._few = max(1, min(_HEAD_ROWS, _MOST_LOGITS // shape.outputs))  # rows of logits
        self._weights = weights
        self._frozen = FrozenMatrices(shape, weights)
        self._layers = [_with_plain_norms(layer) for layer in weights.layers]
        self._final_norm = _plain(weights.final_norm)
        generator = torch.Generator().manual_seed(seed)
        self._parts: dict[str, LowRank] = {}
        for name, (outputs, inputs) in matrix_sizes(shape).items():
            if names is None or name in names:
                down = torch.randn((rank, inputs), generator=generator) / rank**0.5
                self._parts[name] = LowRank(down.requires_grad_(), torch.zeros((outputs, rank)).requires_grad_())
        self._rotations = {rope: _tables(rope, _rounded_up(max_length), shape.head_dim) for rope in shape.ropes}

    @property
    def parameters(self) -> list[torch.Tensor]:
        return [tensor for part in self._parts.values() for tensor in (part.down, part.up)]

    @property
    def adapter(self) -> Adapter:
        return self.as_adapter(self.parameters)

    def as_adapter(self, tensors: Sequence[torch.Tensor]) -> Adapter:
        """A copy of tensors such as `parameters`, as an adapter."""
        copies = iter([tensor.detach().clone() for tensor in tensors])
        return Adapter({name: LowRank(next(copies), next(copies)) for name in self._parts})

    def start_from(self, adapter: Adapter | None) -> None:
        """Replaces the adapter by this one, of no higher rank, or by one without effect. It adds to no other matrices;
        what it lacks begins at zero."""
        learned = {} if adapter is None else adapter.parts
        assert learned.keys() <= self._parts.keys()
        with torch.no_grad():
            for name, part in self._parts.items():
                part.up.zero_()
                if name in learned:
                    rank = len(learned[name].down)
                    part.down[:rank].copy_(learned[name].down)
                    part.up[:, :rank].copy_(learned[name].up)

    def carrying(self, adapter: Adapter | None) -> AdaptedModel:
        """The same drafter with this adapter, of any rank, or with none. The frozen weights are shared."""
        other = copy.copy(self)
        other._parts = {} if adapter is None else dict(adapter.parts)
        return other

    def rest(self) -> None:
        """Frees most of the memory until the next pass."""
        self._frozen.clear()

    def states(self, tokens: Sequence[int], check: Check = never_stop) -> torch.Tensor:
        """The final state after each token, which the head takes, float32 [tokens, hidden]."""
        return self._final_states([self], tokens, check)[0]

    def states_of(
        self, adapters: Sequence[Adapter | None], tokens: Sequence[int], check: Check = never_stop
    ) -> list[torch.Tensor]:
        """What `states` returns with each of these adapters. The layers below all that they add to run once, the
        weights of the others are read once, and one that is there twice is computed once."""
        models = {id(adapter): self.carrying(adapter) for adapter in adapters}
        found = dict(zip(models, self._final_states([*models.values()], tokens, check), strict=True))
        return [found[id(adapter)] for adapter in adapters]

    def logits(self, states: torch.Tensor, check: Check = never_stop) -> torch.Tensor:
        """float32 [rows, outputs]"""
        padded = functional.pad(states, (0, 0, 0, -len(states) % _HEAD_ROWS))
        parts = [self._times("head", part, check) for part in torch.split(padded, _HEAD_ROWS)]
        return (torch.cat(parts) if len(parts) > 1 else parts[0])[: len(states)]

    def logits_by_rows(self, states: torch.Tensor, check: Check = never_stop) -> Iterator[tuple[slice, torch.Tensor]]:
        """The same a few rows at a time, and which they are: as many as a step between two checks may look through."""
        for start in range(0, len(states), _HEAD_ROWS):
            logits = self.logits(states[start : start + _HEAD_ROWS], check)
            for rows, few in self._by_rows(logits):
                check()
                yield slice(start + rows.start, start + rows.stop), few

    def _by_rows(self, logits: torch.Tensor) -> Iterator[tuple[slice, torch.Tensor]]:
        for start in range(0, len(logits), self._few):
            rows = slice(start, min(start + self._few, len(logits)))
            yield rows, logits[rows]

    def gradients(
        self, tokens: Sequence[int], places: torch.Tensor, loss: RowsLoss, check: Check = never_stop
    ) -> tuple[float, list[torch.Tensor]]:
        """A loss that is a sum over rows, and its gradients in the order of `parameters`. The rows are the logits after
        the tokens at `places`, and come some at a time, in order."""
        with torch.no_grad():
            *entered, last = self._run(tokens, check)
        total, upstream = 0.0, torch.zeros_like(last)
        found = [torch.zeros_like(parameter) for parameter in self._of_layer(self.shape.num_layers)]
        wanted = torch.empty((_HEAD_ROWS, self.shape.outputs))  # how each logit is to change
        for start in range(0, len(places), _HEAD_ROWS):
            rows = places[start : start + _HEAD_ROWS]
            states = last[rows].requires_grad_()
            logits = self.logits(self._norm(states, self._final_norm), check)
            for part, few in self._by_rows(logits.detach()):
                few.requires_grad_()
                value = loss(few, slice(start + part.start, start + part.stop))
                wanted[part] = torch.autograd.grad(value, few)[0]
                total += float(value.detach())
                check()
            left = _Changed.apply(logits, wanted[: len(rows)], check)  # type: ignore[no-untyped-call]
            gradients = torch.autograd.grad(left, [states, *self._of_layer(self.shape.num_layers)])
            upstream.index_add_(0, rows, gradients[0])
            for sum_, gradient in zip(found, gradients[1:], strict=True):
                sum_.add_(gradient)
        for number in reversed(range(self._first, self.shape.num_layers)):
            check()
            if number % _LAYERS_PER_RETURN == 0:
                return_free_memory()  # the holes that layers leave are many times what the next one takes
            states = entered.pop().requires_grad_()
            left = _Changed.apply(self._layer(number, states, check), upstream, check)  # type: ignore[no-untyped-call]
            upstream, *gradients_of = torch.autograd.grad(left, [states, *self._of_layer(number)])
            found = [*gradients_of, *found]
        return total, found

    @property
    def _first(self) -> int:
        """The first layer that is added to; the head counts as one."""
        return min((layer_of(name, self.shape) for name in self._parts), default=self.shape.num_layers)

    def _of_layer(self, number: int) -> list[torch.Tensor]:
        """The parameters of a layer or, after the last one, of the head."""
        parts = (part for name, part in self._parts.items() if layer_of(name, self.shape) == number)
        return [tensor for part in parts for tensor in (part.down, part.up)]

    def _run(self, tokens: Sequence[int], check: Check) -> list[torch.Tensor]:
        """The states that enter each layer from the first trained one on, and those after the last, float32 [tokens and
        padding, hidden]."""
        found = [self._entering(self._first, tokens, check)]
        for number in range(self._first, self.shape.num_layers):
            found.append(self._layer(number, found[-1], check))
        return found

    @torch.no_grad()
    def _final_states(self, models: Sequence[AdaptedModel], tokens: Sequence[int], check: Check) -> list[torch.Tensor]:
        first = min(model._first for model in models)
        found = [models[0]._entering(first, tokens, check)] * len(models)
        for number in range(first, self.shape.num_layers):
            found = [model._layer(number, states, check) for model, states in zip(models, found, strict=True)]
        return [self._norm(states, self._final_norm)[: len(tokens)] for states in found]

    def _entering(self, number: int, tokens: Sequence[int], check: Check) -> torch.Tensor:
        """The states that enter a layer; nothing is added below it."""
        # No token attends to the padding after it.
        padding = _rounded_up(len(tokens)) - len(tokens)
        states = _plain(self._weights.embedding.look_up([*tokens, *[0] * padding]))
        if self.shape.variant.scales_embedding:
            states = states * self.shape.hidden**0.5
        for below in range(number):
            states = self._layer(below, states, check)
        return states

    def _layer(self, number: int, states: torch.Tensor, check: Check) -> torch.Tensor:
        layer, gelu = self._layers[number], self.shape.variant.gelu
        heads = self._times(f"{number}.qkv", self._norm(states, layer.attention_norm), check)
        added = self._times(f"{number}.attention_out", self._attend(number, heads, check), check)
        states = states + self._norm(added, layer.attention_post_norm)
        gate, up = self._times(f"{number}.gate_up", self._norm(states, layer.mlp_norm), check).chunk(2, 1)
        passed = functional.gelu(gate, approximate="tanh") if gelu else functional.silu(gate)
        return states + self._norm(self._times(f"{number}.down", passed * up, check), layer.mlp_post_norm)

    def _norm(self, states: torch.Tensor, weight: torch.Tensor | None) -> torch.Tensor:
        """Without a weight the variant has no norm there."""
        return states if weight is None else functional.rms_norm(states, weight.shape, weight, self.shape.norm_epsilon)

    def _times(self, name: str, rows: torch.Tensor, check: Check) -> torch.Tensor:
        part = self._parts.get(name)
        addition = None if part is None else (rows @ part.down.t()) @ part.up.t()
        return self._frozen.times(name, rows, addition, check)

    def _attend(self, number: int, heads: torch.Tensor, check: Check) -> torch.Tensor:
        shape, size, layer = self.shape, len(heads), self._layers[number]
        windows = shape.windows_of(number)
        cosine, sine = (table[:size] for table in self._rotations[shape.rope if windows is None else windows.rope])

        def rotated(some: torch.Tensor) -> torch.Tensor:
            first, second = some.chunk(2, -1)
            return some * cosine + torch.cat((second, first), -1) * sine

        counts = [shape.num_heads, shape.num_kv_heads, shape.num_kv_heads]
        queries, keys, values = torch.split(heads.view(size, -1, shape.head_dim), counts, 1)
        queries, keys = rotated(self._norm(queries, layer.query_norm)), rotated(self._norm(keys, layer.key_norm))
        is_near = None
        if windows is not None and windows.num_tokens < size:
            is_near = torch.ones((size, size), dtype=torch.bool).tril_().triu_(1 - windows.num_tokens)
        share = shape.num_heads // shape.num_kv_heads
        mixed = []
        for head in range(shape.num_heads):
            query = _Checked.apply(queries[None, None, :, head], check)  # type: ignore[no-untyped-call]
            key, value = keys[None, None, :, head // share], values[None, None, :, head // share]
            mixed.append(
                functional.scaled_dot_product_attention(query, key, value, attn_mask=is_near, is_causal=is_near is None)
            )
        return torch.cat(mixed, -1)[0, 0]


def _rounded_up(size: int) -> int:
    return -(-size // _LENGTH_STEP) * _LENGTH_STEP


def _tables(rope: Rope, num_positions: int, head_dim: int) -> tuple[torch.Tensor, ...]:
    """Cosines and signed sines, each [positions, 1, head_dim]."""
    return tuple(table[:, None, :] for table in rope_tables(rope, num_positions, head_dim))


def _with_plain_norms(layer: LayerWeights) -> LayerWeights:
    parts = {field.name: getattr(layer, field.name) for field in fields(layer)}
    norms: Any = {name: _plain(part) for name, part in parts.items() if isinstance(part, torch.Tensor)}
    return replace(layer, **norms)


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


class _Changed(torch.autograd.Function):
    """A number that changes with each of its inputs by as much as is said. Where gradients are handed over as such,
    torch imports 500 modules to check their shape."""

    @staticmethod
    def forward(context: Any, inputs: torch.Tensor, changes: torch.Tensor, check: Check) -> torch.Tensor:
        context.changes, context.check = changes, check
        return inputs.new_zeros(())

    @staticmethod
    def backward(context: Any, *_: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        context.check()
        return context.changes, None, None
