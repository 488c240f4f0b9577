"""A drafter in training guesses as the drafter that runs, and what it learns is what then runs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from engine.drafter.adapter import adapted
from engine.drafter.checkpoint import load_drafter
from engine.drafter.matrices import WeightForm
from engine.drafter.model import LlamaDrafter
from engine.learning.adapting import AdaptedModel
from tests.unit.engine.drafter.checkpoints import random_llama, save
from tests.unit.engine.drafter.test_model import MODELS

TOKENS = np.random.default_rng(0).integers(3, 500, 60).tolist()
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


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("form", list(WeightForm))
def test_it_begins_as_the_drafter_itself(
    make: Callable[[PreTrainedModel, WeightForm], LlamaDrafter], name: str, form: WeightForm
) -> None:
    drafter = make(MODELS[name](), form)
    rows = logits_of(in_training(drafter))
    for place in (0, 30, len(TOKENS) - 1):
        drafter.roll_back(0)
        runs = drafter.read(TOKENS[: place + 1])
        assert np.abs(rows[place] - runs).max() < 0.05 * np.abs(runs).max(), "but for the rounding of bfloat16"


def trained(drafter: LlamaDrafter) -> AdaptedModel:
    model = in_training(drafter)
    optimizer = torch.optim.AdamW(model.parameters, lr=0.03)
    wanted = torch.tensor(TOKENS[1:])
    for _ in range(12):
        loss = torch.nn.functional.cross_entropy(model.logits(model.states(TOKENS[:-1])), wanted)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return model


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


@pytest.mark.parametrize("calls", [1, 5, 14, 20, 25])
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
        loss = model.logits(model.states(TOKENS, check), check).logsumexp(-1).sum()
        torch.autograd.grad(loss, model.parameters)

    with pytest.raises(Enough):
        run()
    assert all(parameter.grad is None for parameter in model.parameters)
    run()
    assert count - calls == 25, "for each of 13 matrices, there and back; the first has nothing behind it"
