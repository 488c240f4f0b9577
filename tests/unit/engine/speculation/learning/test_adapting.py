"""A drafter in training guesses as the drafter that runs, and what it learns is what then runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from engine.speculation.drafter.adapter import Adapter, adapted, matrices
from engine.speculation.drafter.checkpoint import load_drafter
from engine.speculation.drafter.gguf_shape import read_gguf_model
from engine.speculation.drafter.gguf_weights import stored_weights
from engine.speculation.drafter.matrices import WeightForm
from engine.speculation.drafter.model import LlamaDrafter
from engine.speculation.learning import adapting, frozen
from engine.speculation.learning.adapting import AdaptedModel
from tests.fakes.tiny_models import tiny_gemma3, tiny_llama, tiny_qwen3
from tests.unit.engine.speculation.drafter.checkpoints import random_llama, save
from tests.unit.engine.speculation.drafter.test_model import MODELS

TOKENS = np.random.default_rng(0).integers(3, 500, 60).tolist()
PLACES = torch.arange(len(TOKENS) - 1)
RANK = 4


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[PreTrainedModel, WeightForm], LlamaDrafter]:
    def load(model: PreTrainedModel, form: WeightForm) -> LlamaDrafter:
        return load_drafter(save(model, tmp_path_factory.mktemp("drafter")), "cpu", form=form).model

    return load


def in_training(drafter: LlamaDrafter) -> AdaptedModel:
    return AdaptedModel(drafter.shape, drafter.weights, RANK, 64)


def logits_of(model: AdaptedModel) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    with torch.no_grad():
        found: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = model.logits(model.states(TOKENS)).numpy()
    return found


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return cache(lambda name: save(MODELS[name](), tmp_path_factory.mktemp("drafter")))


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("form", list(WeightForm))
def test_it_begins_as_the_drafter_itself(folder_of: Callable[[str], Path], name: str, form: WeightForm) -> None:
    drafter = load_drafter(folder_of(name), "cpu", form=form).model
    rows = logits_of(in_training(drafter))
    for place in (0, 30, len(TOKENS) - 1):
        drafter.roll_back(0)
        runs = drafter.read(TOKENS[: place + 1])
        assert np.abs(rows[place] - runs).max() < 0.05 * np.abs(runs).max(), "but for the rounding of bfloat16"


def trained(drafter: LlamaDrafter) -> AdaptedModel:
    model = in_training(drafter)
    optimizer = torch.optim.AdamW(model.parameters, lr=0.03)
    for _ in range(12):
        gradients = model.gradients(TOKENS[:-1], PLACES, surprise)[1]
        for parameter, gradient in zip(model.parameters, gradients, strict=True):
            parameter.grad = gradient
        optimizer.step()
    return model


def surprise(logits: torch.Tensor, rows: slice) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(logits, torch.tensor(TOKENS[1:])[rows], reduction="sum") / len(PLACES)


def test_gradients_import_no_computer_algebra(
    make: Callable[[PreTrainedModel, WeightForm], LlamaDrafter], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which torch would do for some of its ways to compute them: 500 modules, imported while somebody chats."""
    monkeypatch.setitem(sys.modules, "torch.fx.experimental.symbolic_shapes", None)  # importing it fails
    in_training(make(random_llama(), WeightForm.DENSE)).gradients(TOKENS[:-1], PLACES, surprise)


def test_gradients_are_those_of_the_whole_pass(make: Callable[[PreTrainedModel, WeightForm], LlamaDrafter]) -> None:
    """Against torch's own way through all layers at once; the rows come in parts."""
    model = trained(make(random_llama(attention_bias=True), WeightForm.DENSE))
    value, gradients = model.gradients(TOKENS[:-1], PLACES, surprise)
    *_, last = model._run(TOKENS[:-1], adapting.never_stop)
    logits = model.logits(model._norm(last, model._final_norm)[PLACES])
    wanted = surprise(logits, slice(0, len(PLACES)))
    assert value == pytest.approx(float(wanted.detach()), rel=1e-3)
    for found, whole in zip(gradients, torch.autograd.grad(wanted, model.parameters), strict=True):
        assert (found - whole).norm() <= 0.02 * whole.norm() + 1e-6, "but for the rounding of bfloat16"


@pytest.mark.parametrize("make_file", [tiny_llama, tiny_qwen3, tiny_gemma3])
def test_gradients_say_how_the_loss_changes(
    make_file: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against the loss on either side, in the direction of each additions' gradient."""
    monkeypatch.setattr(frozen, "multiplies_bfloat16", lambda: False)  # which would round the difference away
    file = read_gguf_model(make_file(tmp_path / "tiny.gguf"))
    model = AdaptedModel(file.shape, stored_weights(file), RANK, 64)
    tokens, places = [token % 250 for token in TOKENS], torch.arange(20, 59)

    def loss(logits: torch.Tensor, rows: slice) -> torch.Tensor:
        wanted = torch.tensor(tokens)[places[rows] + 1]
        return torch.nn.functional.cross_entropy(logits, wanted, reduction="sum")

    dice = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters:
            parameter.copy_(torch.randn(parameter.shape, generator=dice) / 8)
    gradients = model.gradients(tokens, places, loss)[1]
    for parameter, gradient in zip(model.parameters, gradients, strict=True):
        step, kept = gradient * (0.02 / gradient.norm()), parameter.detach().clone()
        sides = []
        for side in (kept + step, kept - step):
            with torch.no_grad():
                parameter.copy_(side)
                states = model.states(tokens)[places]
                sides.append(float(loss(model.logits(states), slice(0, len(places)))))
                parameter.copy_(kept)
        assert sides[0] - sides[1] == pytest.approx(2 * 0.02 * float(gradient.norm()), rel=0.03, abs=2e-3)


def test_matrices_that_are_not_named_stay_as_they_are(
    make: Callable[[PreTrainedModel, WeightForm], LlamaDrafter],
) -> None:
    drafter = make(random_llama(), WeightForm.INT8)
    names = {"1.gate_up", "2.qkv"}
    model = AdaptedModel(drafter.shape, drafter.weights, RANK, 64, names=names)
    assert np.array_equal(logits_of(model), logits_of(in_training(drafter)))
    gradients = model.gradients(TOKENS[:-1], PLACES, surprise)[1]
    assert [each.shape for each in gradients] == [each.shape for each in model.parameters]
    back = Adapter.from_bytes(model.adapter.to_bytes(), drafter.shape)
    assert set(back.parts) == names
    new = adapted(drafter.weights, back)
    changed = {name for name, matrix in matrices(new) if matrix is not dict(matrices(drafter.weights))[name]}
    assert changed == names
    assert np.array_equal(logits_of(model), logits_of(in_training(drafter).carrying(back)))


def test_layers_that_no_adapter_changes_run_once_for_all(
    make: Callable[[PreTrainedModel, WeightForm], LlamaDrafter],
) -> None:
    drafter, count = make(random_llama(), WeightForm.DENSE), 0
    adapters: list[Adapter | None] = [None]
    for number, names in enumerate(({"1.down", "2.qkv"}, {"2.gate_up", "head"})):
        model = AdaptedModel(drafter.shape, drafter.weights, RANK, 64, seed=number, names=names)
        with torch.no_grad():
            for parameter in model.parameters:
                parameter.add_(0.1)
        adapters.append(model.adapter)

    def check() -> None:
        nonlocal count
        count += 1

    found = model.states_of(adapters, TOKENS, check)
    assert count == (4 + 6) * (1 + 3 * 2), "the first of three layers runs once, the others with each of three"
    for adapter, states in zip(adapters, found, strict=True):
        assert torch.equal(states, model.carrying(adapter).states(TOKENS))
    assert not torch.equal(found[0], found[1])


def test_what_it_learns_is_what_then_runs(make: Callable[[PreTrainedModel, WeightForm], LlamaDrafter]) -> None:
    drafter = make(random_llama(), WeightForm.DENSE)
    model = trained(drafter)
    drafter.offer(adapted(drafter.weights, model.adapter))
    drafter.refresh()
    runs = drafter.read(TOKENS[:-1])
    assert np.abs(logits_of(model)[-2] - runs).max() < 0.05 * np.abs(runs).max()


def test_int8_rows_learn_nearly_as_much(make: Callable[[PreTrainedModel, WeightForm], LlamaDrafter]) -> None:
    drafter = make(random_llama(), WeightForm.INT8)
    model = trained(drafter)

    def likelihood() -> float:
        total = 0.0
        for place in range(20, 50):
            drafter.roll_back(0)
            row = drafter.read(TOKENS[:place])
            total += float(row[TOKENS[place]] - np.log(np.exp(row - row.max()).sum()) - row.max())
        return total / 30

    before = likelihood()
    drafter.offer(adapted(drafter.weights, model.adapter))
    drafter.refresh()
    assert likelihood() > before + 0.5


def test_an_adapter_that_is_taken_is_gone_on_from(
    make: Callable[[PreTrainedModel, WeightForm], LlamaDrafter],
) -> None:
    drafter = make(random_llama(), WeightForm.DENSE)
    model, other = trained(drafter), in_training(drafter)
    other.start_from(model.adapter)
    assert np.array_equal(logits_of(other), logits_of(model))
    kept = model.adapter.parts["head"].up.clone()
    with torch.no_grad():
        model.parameters[-1].add_(1.0)
    assert torch.equal(other.adapter.parts["head"].up, kept), "a copy"


class Enough(Exception):
    pass


@pytest.mark.parametrize("calls", [1, 16, 20, 28, 50])
def test_a_pass_can_be_ended_early_and_leaves_nothing_behind(
    make: Callable[[PreTrainedModel, WeightForm], LlamaDrafter], calls: int
) -> None:
    model = in_training(make(random_llama(), WeightForm.DENSE))
    count = 0

    def check() -> None:
        nonlocal count
        count += 1
        if count == calls:
            raise Enough

    def run() -> None:
        model.gradients(TOKENS[:-1], PLACES, surprise, check)

    with pytest.raises(Enough):
        run()
    assert all(parameter.grad is None for parameter in model.parameters)
    run()
    assert count - calls == 3 * 10 + 2 * 4 + 3 * (1 + 10 + 1 + 10), (
        "3 layers of 4 matrices and 6 heads; 2 parts of the head, what they are to change, and back; the layers again"
    )
