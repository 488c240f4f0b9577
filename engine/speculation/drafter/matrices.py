"""The matrices of a drafter, in the form that its device multiplies fastest.

A single-token step is bound by reading the weights. Measured (2 cores with AVX-512, MLP matrix of 576 × 3072,
microseconds): float32 stored [outputs, inputs] 1,000, float32 stored [inputs, outputs] 360, bfloat16 850, int8 with
bfloat16 rows 140, and 4 bits half as much as int8. So a CPU runs int8 rows with one scale each, or 4-bit groups where
a drafter was stored in them, and every other device dense [inputs, outputs]. For many rows what counts is arithmetic:
a CPU with AVX-512 then spreads the weights out to bfloat16 first, which takes a third of the time.
"""

from __future__ import annotations

import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import torch
from torch.nn import functional

_INT8_MAX = 127
_INT8_WIDTH = 16  # torch's product reads beyond matrices whose number of inputs is no multiple of it
# Of outputs: torch's products work on this many at once, and may read all of them where fewer are left. What follows a
# matrix in a mapped file need not be memory, so every matrix is a copy of ours, with zeros up to the next block. That
# also aligns it, without which the product of several rows would crash.
_BLOCK = 64
_FEW_ROWS = 16  # up to this many, the products that read packed weights are the faster ones
# Larger numbers are rounded up to multiples of it (or of half of it, up to this many rows): oneDNN compiles a program
# for every number of rows that it has not seen, and keeps a thousand of them, of half a megabyte each for 135M weights.
_ROWS_STEP = 64

Check = Callable[[], None]  # called often in what takes long; may raise to end it

GROUP_SIZE = 32  # inputs that share a scale in 4-bit matrices
_MIDDLE = 8  # of the values of 4 bits


class WeightForm(StrEnum):
    INT8 = "int8"  # and 4-bit groups, where they are stored so
    DENSE = "dense"


def best_form(device: str) -> WeightForm:
    """The best form for a device: dense where torch has no int8 product, which it calls private."""
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
        scales = _scales(rows)
        values = (rows / scales[:, None]).round_().clamp_(-_INT8_MAX, _INT8_MAX)
        return cls(values.to(torch.int8), scales)

    @property
    def can_run(self) -> bool:
        """True if `Int8Matrix` may multiply with them."""
        return self.values.shape[1] % _INT8_WIDTH == 0

    def dense(self) -> torch.Tensor:
        """float32 [outputs, inputs]"""
        return self.values.to(torch.float32) * self.scales[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class Int4Groups:
    """A matrix in 4 bits (0 to 15), in groups of `GROUP_SIZE` inputs: what GGUF calls Q4_0 and Q4_1, without loss."""

    values: torch.Tensor  # uint8 [outputs, inputs / 2]: of a group the first 16 in the low halves, the last 16 above
    scales: torch.Tensor  # [outputs, inputs / GROUP_SIZE, 2], any float: a step, and what the value 8 stands for

    @property
    def can_run(self) -> bool:
        """True if `Int4Matrix` may multiply with them: torch calls the product private, and has a fast one for x86."""
        return hasattr(torch, "_weight_int4pack_mm_for_cpu") and platform.machine() in ("x86_64", "AMD64")

    def spread(self) -> torch.Tensor:
        """The values, uint8 [outputs, inputs]."""
        halves = self.values.view(len(self.values), -1, GROUP_SIZE // 2)
        return torch.cat((halves & 15, halves >> 4), 2).flatten(1)

    def dense(self) -> torch.Tensor:
        """float32 [outputs, inputs]"""
        steps = self.spread().view(len(self.values), -1, GROUP_SIZE).to(torch.float32) - _MIDDLE
        scale, middle = self.scales.to(torch.float32)[..., None].unbind(2)
        return (steps * scale + middle).flatten(1)


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


class _Packed(ABC):
    """The shared part of `Int8Matrix` and `Int4Matrix`: the operations of `DenseMatrix`, with outputs up to a whole
    block."""

    def __init__(self, num_outputs: int, bias: torch.Tensor | None) -> None:
        self.num_outputs = num_outputs
        self.bias = bias  # float32 [outputs]

    def times(self, rows: torch.Tensor) -> torch.Tensor:
        rows = rows.to(torch.bfloat16)
        if len(rows) > _FEW_ROWS and multiplies_bfloat16():
            filled = functional.pad(rows, (0, 0, 0, _rounded_up(len(rows)) - len(rows)))
            product = self._product_of_many(filled)[: len(rows)]
        else:
            product = self._product(rows)
        if product.shape[1] > self.num_outputs:
            product = product.narrow(1, 0, self.num_outputs)
        return product if self.bias is None else product + self.bias

    def added(self, states: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return states + self.times(rows)

    @abstractmethod
    def _product(self, rows: torch.Tensor) -> torch.Tensor:
        """bfloat16 [rows, inputs] to [rows, outputs with padding]"""

    @abstractmethod
    def _product_of_many(self, rows: torch.Tensor) -> torch.Tensor:
        """Does the same in less time where there are many rows and `multiplies_bfloat16()` holds."""


class Int8Matrix(_Packed):
    def __init__(self, rows: Int8Rows, bias: torch.Tensor | None = None) -> None:
        """Copies the rows. `rows.can_run` must hold."""
        assert rows.can_run
        super().__init__(len(rows.values), bias)
        self.rows = Int8Rows(_filled(rows.values), _filled(rows.scales))
        self._scales = self.rows.scales.to(torch.bfloat16)

    def first(self, num_outputs: int) -> Int8Matrix:
        fewer = copy(self)
        fewer.num_outputs = num_outputs
        end = _whole_blocks(num_outputs)
        fewer.rows = Int8Rows(self.rows.values[:end], self.rows.scales[:end])
        fewer._scales = self._scales[:end]
        return fewer

    def exact(self, state: torch.Tensor, outputs: torch.Tensor) -> torch.Tensor:
        """Some outputs without the rounding to bfloat16, without bias: float32 [inputs] to [outputs]."""
        rows = self.rows.values.index_select(0, outputs).to(torch.float32)
        return torch.mv(rows, state).mul_(self.rows.scales.index_select(0, outputs))

    def dense(self) -> torch.Tensor:
        return Int8Rows(self.rows.values, self._scales.to(torch.float32)).dense()[: self.num_outputs]

    def plus(self, addition: torch.Tensor) -> Int8Matrix:
        """See `_rounded_at_random`."""
        scales = self._scales[: self.num_outputs].to(torch.float32)
        values = self.rows.values[: self.num_outputs].to(torch.float32)
        return _rounded_at_random(values.add_(addition.to("cpu", torch.float32) / scales[:, None]), scales, self.bias)

    def _product(self, rows: torch.Tensor) -> torch.Tensor:
        return torch._weight_int8pack_mm(rows, self.rows.values, self._scales)

    def _product_of_many(self, rows: torch.Tensor) -> torch.Tensor:
        return torch.mm(rows, self.rows.values.to(torch.bfloat16).t()).mul_(self._scales)


class Int4Matrix(_Packed):
    def __init__(self, groups: Int4Groups, bias: torch.Tensor | None = None) -> None:
        """Copies the groups. `groups.can_run` must hold."""
        assert groups.can_run
        super().__init__(len(groups.values), bias)
        self._packed = _packed(_filled(groups.spread()))
        # [groups, outputs, 2]
        self._scales = _filled(groups.scales.to(torch.bfloat16)).transpose(0, 1).contiguous()

    def dense(self) -> torch.Tensor:
        num_inputs = GROUP_SIZE * len(self._scales)
        product = self._product(torch.eye(num_inputs, dtype=torch.bfloat16))
        return product[:, : self.num_outputs].t().to(torch.float32)

    def plus(self, addition: torch.Tensor) -> Int8Matrix:
        """Adds in 8 bits: an addition is mostly far smaller than a step of 4 bits. See `_rounded_at_random`."""
        whole = self.dense().add_(addition.to("cpu", torch.float32))
        scales = _scales(whole).to(torch.bfloat16).to(torch.float32)
        return _rounded_at_random(whole / scales[:, None], scales, self.bias)

    def _product(self, rows: torch.Tensor) -> torch.Tensor:
        return torch._weight_int4pack_mm_for_cpu(rows, self._packed, GROUP_SIZE, self._scales)

    def _product_of_many(self, rows: torch.Tensor) -> torch.Tensor:
        if not _is_packed_as_known():
            return self._product(rows)
        values = _unpacked(self._packed).view(torch.int8).sub_(_MIDDLE).to(torch.bfloat16)  # [inputs, outputs]
        scale, middle = self._scales.permute(2, 0, 1)[:, :, None].contiguous()  # [groups, 1, outputs]
        weight = torch.addcmul(middle, values.view(len(scale), GROUP_SIZE, -1), scale)
        return torch.mm(rows, weight.view(len(values), -1))


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


@dataclass(frozen=True, slots=True, eq=False)
class StoredMatrix:
    """A matrix that stays in its file until it is asked for: llama.cpp runs the drafter, and torch only learns from
    it."""

    read: Callable[[Check], torch.Tensor]  # bfloat16 [outputs, inputs]; the check is called in between and may raise
    bias: torch.Tensor | None = None  # float32 [outputs]

    def times(self, rows: torch.Tensor) -> torch.Tensor:
        return DenseMatrix(self.dense().t().to(torch.float32), self.bias).times(rows)

    def added(self, states: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return states + self.times(rows)

    def dense(self) -> torch.Tensor:
        """bfloat16 [outputs, inputs]"""
        return self.read(lambda: None)

    def plus(self, addition: torch.Tensor) -> StoredMatrix:
        return StoredMatrix(lambda check: self.read(check) + addition.to(torch.bfloat16), self.bias)


@dataclass(frozen=True, slots=True, eq=False)
class StoredEmbedding:
    read: Callable[[Sequence[int]], torch.Tensor]  # tokens to float32 [tokens, hidden]

    def look_up(self, tokens: Sequence[int]) -> torch.Tensor:
        return self.read(tokens)


Matrix = DenseMatrix | Int8Matrix | Int4Matrix | StoredMatrix
Embedding = DenseEmbedding | Int8Embedding | StoredEmbedding


def _whole_blocks(num_outputs: int) -> int:
    return -(-num_outputs // _BLOCK) * _BLOCK


def _rounded_up(num_rows: int) -> int:
    step = _ROWS_STEP if num_rows > _ROWS_STEP else _ROWS_STEP // 2
    return -(-num_rows // step) * step


def _filled(tensor: torch.Tensor) -> torch.Tensor:
    """A copy, with zeros up to the next whole block of outputs."""
    filled = tensor.new_zeros((_whole_blocks(len(tensor)), *tensor.shape[1:]))
    filled[: len(tensor)] = tensor
    return filled


def _scales(rows: torch.Tensor) -> torch.Tensor:
    """The step of 8 bits for each row, [outputs]."""
    return rows.abs().amax(1).clamp_min(torch.finfo(torch.float32).tiny) / _INT8_MAX


def _rounded_at_random(wanted: torch.Tensor, scales: torch.Tensor, bias: torch.Tensor | None) -> Int8Matrix:
    """Rounds rows in steps, [outputs, inputs], which it overwrites, up or down at random in proportion to the distance:
    rounding to the nearest value would lose every addition below half a step, and an adapter consists of many such."""
    dice = torch.rand(wanted.shape, generator=torch.Generator().manual_seed(0))
    values = wanted.add_(dice).floor_().clamp_(-_INT8_MAX, _INT8_MAX).to(torch.int8)
    return Int8Matrix(Int8Rows(values, scales), bias)


@cache
def multiplies_bfloat16() -> bool:
    """True if this CPU multiplies many rows fastest in bfloat16."""
    return torch.backends.cpu.get_cpu_capability().startswith("AVX512")


def _packed(values: torch.Tensor) -> torch.Tensor:
    """uint8 [outputs, inputs] in torch's own arrangement, which depends on the CPU."""
    return torch._convert_weight_to_int4pack_for_cpu(values.to(torch.int32), 1)


def _unpacked(packed: torch.Tensor) -> torch.Tensor:
    """uint8 [inputs, outputs] from the arrangement for AVX-512: blocks of 64 outputs, of each input 32 bytes with the
    first 32 outputs in the low halves."""
    halves = packed.view(len(packed) // _BLOCK, -1, _BLOCK // 2)
    return torch.cat((halves & 15, halves >> 4), 2).transpose(0, 1).flatten(1)


@cache
def _is_packed_as_known() -> bool:
    values = torch.arange(2 * _BLOCK * GROUP_SIZE, dtype=torch.int32).view(2 * _BLOCK, GROUP_SIZE) * 7 // 3 % 16
    return torch.equal(_unpacked(_packed(values)).t(), values.to(torch.uint8))
