"""The matrices of a drafter, in the form that its device multiplies fastest.

A single-token step is bound by reading the weights. Measured (2 cores with AVX-512, MLP matrix of 576 × 3072,
microseconds): float32 stored [outputs, inputs] 1,000, float32 stored [inputs, outputs] 360, bfloat16 850, int8 with
bfloat16 rows 140. So a CPU runs int8 rows with one scale each, and every other device dense [inputs, outputs].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import torch

_INT8_MAX = 127
_INT8_WIDTH = 16  # torch's product reads beyond matrices whose number of inputs is no multiple of it
_INT8_ALIGNMENT = 16  # bytes; its product of several rows crashes on matrices at other addresses


class WeightForm(StrEnum):
    INT8 = "int8"
    DENSE = "dense"


def best_form(device: str) -> WeightForm:
    """Dense where torch has no int8 product, which it calls private."""
    return WeightForm.INT8 if device == "cpu" and hasattr(torch, "_weight_int8pack_mm") else WeightForm.DENSE


@dataclass(frozen=True, slots=True, eq=False)
class Int8Rows:
    """A matrix, rounded to 8 bits row by row."""

    values: torch.Tensor  # int8 [outputs, inputs]
    scales: torch.Tensor  # float32 [outputs], to multiply the rows with

    @classmethod
    def of(cls, matrix: torch.Tensor) -> Int8Rows:
        """`matrix` is [outputs, inputs], of any kind of float."""
        rows = matrix.to(torch.float32)
        scales = rows.abs().amax(1).clamp_min(torch.finfo(torch.float32).tiny) / _INT8_MAX
        values = (rows / scales[:, None]).round_().clamp_(-_INT8_MAX, _INT8_MAX)
        return cls(values.to(torch.int8), scales)

    @property
    def can_run(self) -> bool:
        """Whether `Int8Matrix` may multiply with them."""
        return self.values.shape[1] % _INT8_WIDTH == 0

    def dense(self) -> torch.Tensor:
        """float32 [outputs, inputs]"""
        return self.values.to(torch.float32) * self.scales[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class DenseMatrix:
    weight: torch.Tensor  # [inputs, outputs]
    bias: torch.Tensor | None = None  # [outputs]

    def times(self, rows: torch.Tensor) -> torch.Tensor:
        """[rows, inputs] to [rows, outputs], the bias added; its kind of float may differ from that of the rows."""
        rows = rows.to(self.weight.dtype)  # they may be the product of an int8 matrix
        return torch.mm(rows, self.weight) if self.bias is None else torch.addmm(self.bias, rows, self.weight)

    def added(self, states: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """`states` plus `times(rows)`, of the kind of float of the states."""
        return torch.addmm(states if self.bias is None else states + self.bias, rows.to(self.weight.dtype), self.weight)

    def dense(self) -> torch.Tensor:
        """float32 [outputs, inputs]"""
        return self.weight.t().to("cpu", torch.float32)

    def plus(self, addition: torch.Tensor) -> DenseMatrix:
        """A new matrix with `addition`, float32 [outputs, inputs], added."""
        return DenseMatrix(self.weight + addition.t().to(self.weight.device, self.weight.dtype), self.bias)


class Int8Matrix:
    """Has the operations of `DenseMatrix`."""

    def __init__(self, rows: Int8Rows, bias: torch.Tensor | None = None) -> None:
        """`rows.can_run` must hold."""
        assert rows.can_run
        weight = rows.values.contiguous()
        is_aligned = weight.data_ptr() % _INT8_ALIGNMENT == 0  # a file that is mapped into memory may not be
        self._weight = weight if is_aligned else weight.clone()
        self._scales = rows.scales.to(torch.bfloat16)
        self.bias = bias  # float32 [outputs]

    def times(self, rows: torch.Tensor) -> torch.Tensor:
        product = torch._weight_int8pack_mm(rows.to(torch.bfloat16), self._weight, self._scales)
        return product if self.bias is None else product + self.bias

    def added(self, states: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return states + self.times(rows)

    def dense(self) -> torch.Tensor:
        return Int8Rows(self._weight, self._scales.to(torch.float32)).dense()

    def plus(self, addition: torch.Tensor) -> Int8Matrix:
        """Rounds up or down at random, in proportion to the distance: rounding to the nearest value would lose every
        addition below half a step, and an adapter consists of many such."""
        scales = self._scales.to(torch.float32)
        dice = torch.rand(addition.shape, generator=torch.Generator().manual_seed(0))
        wanted = self._weight.to(torch.float32).add_(addition.to("cpu", torch.float32) / scales[:, None]).add_(dice)
        values = wanted.floor_().clamp_(-_INT8_MAX, _INT8_MAX).to(torch.int8)
        return Int8Matrix(Int8Rows(values, scales), self.bias)


@dataclass(frozen=True, slots=True, eq=False)
class DenseEmbedding:
    weight: torch.Tensor  # [vocabulary, hidden]

    def look_up(self, tokens: Sequence[int]) -> torch.Tensor:
        """[tokens, hidden], of the kind of float of the states."""
        if len(tokens) == 1:
            return self.weight.narrow(0, tokens[0], 1)
        return self.weight.index_select(0, torch.tensor(tokens, device=self.weight.device))


@dataclass(frozen=True, slots=True, eq=False)
class Int8Embedding:
    rows: Int8Rows  # [vocabulary, hidden]

    def look_up(self, tokens: Sequence[int]) -> torch.Tensor:
        if len(tokens) == 1:
            return self.rows.values.narrow(0, tokens[0], 1) * self.rows.scales.narrow(0, tokens[0], 1)
        chosen = torch.tensor(tokens)
        return self.rows.values.index_select(0, chosen) * self.rows.scales.index_select(0, chosen)[:, None]


Matrix = DenseMatrix | Int8Matrix
Embedding = DenseEmbedding | Int8Embedding
