"""The frozen matrices of a drafter in training, and products with them that can be ended early.

A copy of a matrix is bfloat16, and the copies used last stay: all of a tiny drafter, a few layers of others, which are
read again, layer by layer, twice in a pass. Products take some outputs at a time, in the kind of float that
the CPU multiplies fastest: without AVX-512, bfloat16 takes eight times as long as float32, spread out block by block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from engine.speculation.drafter.adapter import matrices, matrix_sizes
from engine.speculation.drafter.matrices import Check, StoredMatrix, multiplies_bfloat16
from engine.speculation.drafter.model import LlamaWeights
from engine.speculation.drafter.shape import LlamaShape

_MOST_BYTES = 64 << 20  # of copies: with more, no time is saved that shows
_BLOCK_WEIGHTS = 1 << 19  # 2 MB of float32, which stay in a core's cache


class FrozenMatrices:
    """Those of a drafter's weights, by the names of `drafter.adapter.matrix_sizes`."""

    def __init__(self, shape: LlamaShape, weights: LlamaWeights) -> None:
        self._matrices = dict(matrices(weights))
        self._bytes = {name: 2 * outputs * inputs for name, (outputs, inputs) in matrix_sizes(shape).items()}
        self._copies: dict[str, torch.Tensor] = {}  # bfloat16 [outputs, inputs]; the one used last comes last

    def times(self, name: str, rows: torch.Tensor, addition: torch.Tensor | None, check: Check) -> torch.Tensor:
        """float32 [rows, inputs] to [rows, outputs], plus the bias and an addition of that shape, which it overwrites.
        Gradients flow into rows and addition. `check` is called before each block, forwards and backwards, and may
        raise."""
        weight = self._copy(name, check)
        product: torch.Tensor = _Product.apply(rows, addition, weight, check)  # type: ignore[no-untyped-call]
        bias = self._matrices[name].bias
        return product if bias is None else product + bias.to("cpu", torch.float32)

    def clear(self) -> None:
        """Frees the copies until they are needed again."""
        self._copies.clear()

    def _copy(self, name: str, check: Check) -> torch.Tensor:
        copy = self._copies.pop(name, None)
        if copy is None:
            while self._copies and sum(self._bytes[each] for each in (name, *self._copies)) > _MOST_BYTES:
                del self._copies[next(iter(self._copies))]
            matrix = self._matrices[name]
            copy = matrix.read(check) if isinstance(matrix, StoredMatrix) else matrix.dense().to(torch.bfloat16)
        self._copies[name] = copy
        return copy


class _Product(torch.autograd.Function):
    """A product with a matrix that nothing is learned about."""

    @staticmethod
    def forward(
        context: Any, rows: torch.Tensor, addition: torch.Tensor | None, weight: torch.Tensor, check: Check
    ) -> torch.Tensor:
        context.weight, context.check, context.is_added = weight, check, addition is not None
        if addition is None:
            product = rows.new_zeros((len(rows), len(weight)))
        else:
            product = addition
            context.mark_dirty(addition)
        rows = rows.to(_number_type())
        for outputs, block in _blocks(weight, check):
            product[:, outputs] += rows @ block.t()
        return product

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        gradient = gradients[0]
        found = gradient.new_zeros((len(gradient), context.weight.shape[1]))
        for outputs, block in _blocks(context.weight, context.check):
            found += gradient[:, outputs].to(block.dtype) @ block
        return found, gradient if context.is_added else None, None, None


def _blocks(weight: torch.Tensor, check: Check) -> Iterator[tuple[slice, torch.Tensor]]:
    """Blocks of the rows of a matrix, of about the same size: oneDNN compiles a program for every shape of a product,
    and keeps it."""
    num_blocks = -(-weight.numel() // _BLOCK_WEIGHTS)
    size = -(-len(weight) // num_blocks)
    for start in range(0, len(weight), size):
        check()
        yield slice(start, start + size), weight[start : start + size].to(_number_type())


def _number_type() -> torch.dtype:
    return torch.bfloat16 if multiplies_bfloat16() else torch.float32
