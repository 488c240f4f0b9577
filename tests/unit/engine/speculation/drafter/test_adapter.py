"""Low-rank additions to a drafter's matrices, as values and as bytes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load, save

from engine.speculation.drafter.adapter import Adapter, LowRank, adapted, matrices, matrix_sizes
from engine.speculation.drafter.checkpoint import load_drafter
from engine.speculation.drafter.matrices import Int8Matrix, Int8Rows, WeightForm
from engine.speculation.drafter.model import LlamaDrafter
from engine.values.errors import AdapterUnusable
from tests.unit.engine.speculation.drafter.checkpoints import random_llama
from tests.unit.engine.speculation.drafter.checkpoints import save as save_drafter

TOKENS = [5, 9, 100, 33, 7]


@pytest.fixture(scope="module", params=list(WeightForm))
def drafter(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LlamaDrafter:
    folder = save_drafter(random_llama(attention_bias=True, mlp_bias=True), tmp_path_factory.mktemp("drafter"))
    return load_drafter(folder, "cpu", form=request.param).model


def adapter_for(drafter: LlamaDrafter, rank: int = 3, size: float = 0.05) -> Adapter:
    generator = torch.Generator().manual_seed(1)
    return Adapter(
        {
            name: LowRank(
                size * torch.randn((rank, inputs), generator=generator),
                size * torch.randn((outputs, rank), generator=generator),
            )
            for name, (outputs, inputs) in matrix_sizes(drafter.shape).items()
        }
    )


def test_every_matrix_is_named_with_its_size(drafter: LlamaDrafter) -> None:
    sizes = {name: tuple(matrix.dense().shape) for name, matrix in matrices(drafter.weights)}
    assert sizes == matrix_sizes(drafter.shape)


def test_an_empty_addition_changes_nothing(drafter: LlamaDrafter) -> None:
    zero = Adapter(
        {
            name: LowRank(torch.ones((2, inputs)), torch.zeros((outputs, 2)))
            for name, (outputs, inputs) in matrix_sizes(drafter.shape).items()
        }
    )
    before = [matrix.dense() for _, matrix in matrices(drafter.weights)]
    after = [matrix.dense() for _, matrix in matrices(adapted(drafter.weights, zero))]
    assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))


def test_what_is_added_is_in_the_matrices_and_the_biases_stay(drafter: LlamaDrafter) -> None:
    adapter = adapter_for(drafter, size=0.3)
    own, new = dict(matrices(drafter.weights)), dict(matrices(adapted(drafter.weights, adapter)))
    for name, matrix in own.items():
        step = (matrix.dense().abs().amax(1) / 127)[:, None] if isinstance(matrix, Int8Matrix) else 1e-5
        wanted = matrix.dense() + adapter.parts[name].product()
        inside = wanted.abs() <= matrix.dense().abs().amax(1)[:, None]  # of the grid of int8 rows
        assert ((new[name].dense() - wanted).abs() <= 1.05 * step)[inside].all()
        assert new[name].bias is matrix.bias


def test_additions_below_a_step_of_the_grid_are_not_lost() -> None:
    rows = Int8Rows.of(torch.randn((64, 256), generator=torch.Generator().manual_seed(0)))
    matrix = Int8Matrix(rows)
    tiny = torch.full((64, 256), 0.1) * rows.scales[:, None]
    gained = (matrix.plus(tiny).dense() - matrix.dense()) / rows.scales[:, None]
    assert gained.mean() == pytest.approx(0.1, abs=0.01)


def test_it_comes_back_from_its_bytes(drafter: LlamaDrafter) -> None:
    adapter = adapter_for(drafter)
    earlier = _changed(
        adapter.to_bytes(), **{"acceptance.state": torch.randn(48), "acceptance.probability": torch.ones(3)}
    )
    assert Adapter.from_bytes(earlier, drafter.shape).parts.keys() == adapter.parts.keys()
    back = Adapter.from_bytes(adapter.to_bytes(), drafter.shape)
    for name, part in adapter.parts.items():
        assert torch.allclose(back.parts[name].down, part.down, atol=1e-3)
        assert torch.allclose(back.parts[name].up, part.up, atol=1e-3)


def _changed(data: bytes, **tensors: torch.Tensor | None) -> bytes:
    content: dict[str, torch.Tensor] = load(data)
    for name, tensor in tensors.items():
        content.pop(name, None)
        if tensor is not None:
            content[name] = tensor
    return save(content)


@pytest.mark.parametrize(
    "tensors",
    [
        {"head.up": None},
        {"head.up": torch.zeros((3, 3))},
        {"head.down": torch.zeros((0, 48))},
        {"another": torch.zeros(3)},
        {"head.down": torch.zeros((3, 48), dtype=torch.int32)},
        {"head.down": torch.zeros((3, 48), dtype=torch.float8_e4m3fn)},
        {"head.down": torch.full((3, 48), torch.nan)},
    ],
)
def test_what_does_not_fit_is_refused(drafter: LlamaDrafter, tensors: dict[str, torch.Tensor | None]) -> None:
    data = adapter_for(drafter).to_bytes()
    assert drafter.shape.hidden == 48, "the shapes above"
    with pytest.raises(AdapterUnusable):
        Adapter.from_bytes(_changed(data, **tensors), drafter.shape)


@given(st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_no_adapter_is_refused(drafter: LlamaDrafter, data: bytes) -> None:
    with pytest.raises(AdapterUnusable):
        Adapter.from_bytes(data, drafter.shape)


def test_a_drafter_takes_what_it_was_offered_last_and_forgets_what_it_held(drafter: LlamaDrafter) -> None:
    own = drafter.weights
    before = np.array(drafter.read(TOKENS))
    assert not drafter.refresh()
    assert drafter.num_held == len(TOKENS)
    for weights in (own, adapted(own, adapter_for(drafter, size=0.3))):
        drafter.offer(weights)
    assert drafter.refresh()
    assert drafter.num_held == 0
    assert np.abs(drafter.read(TOKENS) - before).max() > 0.1
    drafter.offer(own)
    assert drafter.refresh()
    assert np.array_equal(drafter.read(TOKENS), before)
    drafter.roll_back(0)


def test_what_it_learned_can_be_left_aside_and_taken_up_again(drafter: LlamaDrafter) -> None:
    own = drafter.weights
    plain = np.array(drafter.read(TOKENS))
    assert not drafter.refresh(is_original=True), "it has learned nothing"
    drafter.offer(adapted(own, adapter_for(drafter, size=0.3)))
    assert not drafter.refresh(is_original=True)
    drafter.roll_back(0)
    assert np.array_equal(drafter.read(TOKENS), plain)
    assert drafter.refresh()
    learned = np.array(drafter.read(TOKENS))
    assert np.abs(learned - plain).max() > 0.1
    assert drafter.refresh(is_original=True)
    assert np.array_equal(drafter.read(TOKENS), plain)
    assert drafter.refresh()
    assert np.array_equal(drafter.read(TOKENS), learned)
    drafter.offer(own)
    drafter.refresh()


def test_a_guess_takes_no_product_more_than_before(drafter: LlamaDrafter) -> None:
    new = adapted(drafter.weights, adapter_for(drafter))
    kinds = [type(matrix) for _, matrix in matrices(drafter.weights)]
    assert [type(matrix) for _, matrix in matrices(new)] == kinds
