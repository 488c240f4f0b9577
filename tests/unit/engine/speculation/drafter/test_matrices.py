"""int8 rows give nearly the same products as the matrix that they were made of."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.drafter import matrices
from engine.speculation.drafter.matrices import (
    DenseEmbedding,
    DenseMatrix,
    Int4Groups,
    Int4Matrix,
    Int8Embedding,
    Int8Matrix,
    Int8Rows,
)

_OUTPUTS, _INPUTS = 45, 64


def _matrix(seed: int, scale: float = 1.0) -> torch.Tensor:
    return scale * torch.randn((_OUTPUTS, _INPUTS), generator=torch.Generator().manual_seed(seed))


@given(st.integers(0, 1000), st.sampled_from([1e-6, 1.0, 1e4]))
def test_no_value_is_off_by_more_than_half_a_step(seed: int, scale: float) -> None:
    matrix = _matrix(seed, scale)
    matrix[3] = 0
    rows = Int8Rows.of(matrix)
    assert ((rows.dense() - matrix).abs() <= 0.501 * rows.scales[:, None]).all()
    again = Int8Rows.of(rows.dense())
    assert torch.equal(again.values, rows.values)


@pytest.mark.parametrize("num_rows", [1, 2, 7, 300])
@pytest.mark.parametrize("has_bias", [False, True])
def test_products_are_those_of_the_dense_matrix(num_rows: int, has_bias: bool) -> None:
    rows = Int8Rows.of(_matrix(0))
    bias = torch.randn(_OUTPUTS) if has_bias else None
    inputs, states = torch.randn(num_rows, _INPUTS), torch.randn(num_rows, _OUTPUTS)
    dense, int8 = DenseMatrix(rows.dense().T.contiguous(), bias), Int8Matrix(rows, bias)
    wanted = dense.times(inputs)
    tolerance = 0.02 * float(wanted.std())  # of bfloat16
    torch.testing.assert_close(int8.times(inputs).float(), wanted, atol=3 * tolerance, rtol=0.02)
    added = int8.added(states, inputs)
    assert added.dtype is torch.float32
    torch.testing.assert_close(added, dense.added(states, inputs), atol=3 * tolerance, rtol=0.02)


@pytest.mark.parametrize(("inputs", "can_run"), [(16, True), (176, True), (24, False), (1000, False)])
def test_only_widths_that_torch_can_take_run_as_int8(inputs: int, can_run: bool) -> None:
    assert Int8Rows.of(torch.ones(4, inputs)).can_run is can_run


def test_tokens_are_looked_up_alike() -> None:
    rows = Int8Rows.of(_matrix(1))
    for tokens in ([5], [0, 44, 5, 5]):
        torch.testing.assert_close(Int8Embedding(rows).look_up(tokens), DenseEmbedding(rows.dense()).look_up(tokens))


def test_rows_at_any_address_are_multiplied() -> None:
    """As those of a file that is mapped into memory: torch's product of several rows would crash."""
    rows = Int8Rows.of(_matrix(2))
    memory = torch.zeros(_OUTPUTS * _INPUTS + 8, dtype=torch.int8)
    unaligned = memory[8:].view(_OUTPUTS, _INPUTS).copy_(rows.values)
    inputs = torch.randn(7, _INPUTS)
    assert torch.equal(Int8Matrix(Int8Rows(unaligned, rows.scales)).times(inputs), Int8Matrix(rows).times(inputs))


def _groups(num_outputs: int) -> Int4Groups:
    random = torch.Generator().manual_seed(3)
    values = torch.randint(0, 256, (num_outputs, _INPUTS // 2), generator=random, dtype=torch.uint8)
    return Int4Groups(values, 0.1 * torch.randn((num_outputs, _INPUTS // 32, 2), generator=random))


@pytest.mark.skipif(not _groups(1).can_run, reason="torch multiplies 4 bits fast on x86 only")
@pytest.mark.parametrize("num_rows", [1, 16, 17, 300])
@pytest.mark.parametrize("num_outputs", [_OUTPUTS, 192])
def test_products_with_4_bits_are_those_of_the_dense_matrix(num_rows: int, num_outputs: int) -> None:
    groups, bias = _groups(num_outputs), torch.randn(num_outputs)
    inputs = torch.randn(num_rows, _INPUTS)
    wanted = DenseMatrix(groups.dense().T.contiguous(), bias).times(inputs)
    matrix = Int4Matrix(groups, bias)
    torch.testing.assert_close(matrix.times(inputs).float(), wanted, atol=0.06 * float(wanted.std()), rtol=0.02)
    torch.testing.assert_close(matrix.dense(), groups.dense(), atol=0.01, rtol=0.01)


@pytest.mark.skipif(not _groups(1).can_run, reason="torch multiplies 4 bits fast on x86 only")
def test_an_adapter_on_4_bits_is_added_in_8_bits() -> None:
    groups, addition = _groups(_OUTPUTS), 0.003 * _matrix(4)
    steps = Int8Rows.of(groups.dense()).scales[:, None]
    added = Int4Matrix(groups).plus(addition).dense() - Int4Matrix(groups).dense()
    assert ((added - addition).abs() <= 1.1 * steps).all()
    assert float(torch.linalg.lstsq(addition.view(-1, 1), added.view(-1, 1)).solution) == pytest.approx(1, abs=0.2)


def test_the_first_outputs_share_the_memory_of_all() -> None:
    whole = Int8Matrix(Int8Rows.of(torch.randn(200, _INPUTS)))
    first, inputs = whole.first(70), torch.randn(3, _INPUTS)
    assert first.rows.values.data_ptr() == whole.rows.values.data_ptr()
    assert torch.equal(first.times(inputs), whole.times(inputs)[:, :70])
    assert torch.equal(first.dense(), whole.dense()[:70])
    assert first.plus(torch.zeros(70, _INPUTS)).times(inputs).shape == (3, 70)


def test_some_outputs_are_computed_exactly() -> None:
    rows, state = Int8Rows.of(_matrix(5)), torch.randn(_INPUTS)
    chosen = torch.tensor([44, 3])
    torch.testing.assert_close(Int8Matrix(rows).exact(state, chosen), (rows.dense() @ state)[chosen])


@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_prompts_of_many_lengths_are_multiplied_in_few_numbers_of_rows(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """oneDNN keeps a program for each: the memory of a drafter grew by megabytes with every new length."""
    matrix: Int8Matrix | Int4Matrix = Int8Matrix(Int8Rows.of(torch.randn(64, 96)))
    if kind == "int4":
        groups = Int4Groups(torch.randint(0, 256, (64, 48), dtype=torch.uint8), torch.rand(64, 3, 2))
        if not groups.can_run:
            pytest.skip("torch has no such product here")
        matrix = Int4Matrix(groups)
    seen: set[int] = set()
    product = torch.mm

    def mm(rows: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        seen.add(len(rows))
        return product(rows, weight)

    monkeypatch.setattr(matrices, "multiplies_bfloat16", lambda: True)
    monkeypatch.setattr(torch, "mm", mm)
    rows = torch.randn(512, 96)
    whole = matrix.times(rows).float()
    for number in range(17, 513):
        assert matrix.times(rows[:number]).shape == (number, 64)
    assert len(seen) <= 9
    torch.testing.assert_close(matrix.times(rows[:100]).float(), whole[:100], rtol=0.02, atol=0.1)
