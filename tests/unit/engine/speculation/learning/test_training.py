"""What one lesson after the other makes of a small drafter with random weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from engine.speculation.drafter.checkpoint import LoadedDrafter, load_drafter
from engine.speculation.drafter.matrices import WeightForm
from engine.speculation.learning.adapting import never_stop
from engine.speculation.learning.losses import drift
from engine.speculation.learning.remembered import Remembered
from engine.speculation.learning.samples import LabelTable, Sample
from engine.speculation.learning.training import AdamW, Example, Training, TrainingSettings
from tests.unit.engine.speculation.learning.made import drafter_folder

START, LENGTH = 4, 24
NO_LABELS, NOTHING = LabelTable.of((), 1), Remembered.nothing(LENGTH - START)


@pytest.fixture(scope="module")
def drafter(tmp_path_factory: pytest.TempPathFactory) -> LoadedDrafter:
    return load_drafter(drafter_folder(tmp_path_factory.mktemp("drafter")), "cpu", form=WeightForm.DENSE)


def lesson(number: int = 0) -> Example:
    tokens = np.random.default_rng(number).integers(3, 480, LENGTH).astype(np.int32)
    weights = np.ones(LENGTH, np.float32)
    weights[:START] = 0
    return Example(number, Sample(tokens, weights, np.full(LENGTH, -1, np.int32), START), NO_LABELS)


def taught(drafter: LoadedDrafter, **settings: float) -> Training:
    model = drafter.model
    training = Training(model.shape, model.weights, TrainingSettings(4, 0.02, batch=1, **settings))  # type: ignore[arg-type]
    example = lesson()
    for _ in range(4):
        training.read(example, never_stop)
    return training


def chance_of(training: Training, is_taught: bool = True) -> float:
    """Of what the lesson wrote."""
    adapter = training.adapter if is_taught else None
    return float(training.chances([adapter], lesson().sample, NO_LABELS, NOTHING, 1.0, never_stop)[0].mean())


def test_drift_is_how_far_a_distribution_is_from_the_original() -> None:
    random = np.random.default_rng(0)
    original, other = (torch.from_numpy(random.standard_normal((5, 12)).astype(np.float32)) for _ in range(2))
    all_tokens = original.softmax(-1).topk(12)
    wanted = (original.softmax(-1) * (original.log_softmax(-1) - other.log_softmax(-1))).sum(-1)
    assert drift(other, all_tokens.indices, all_tokens.values) == pytest.approx(wanted, abs=1e-5)
    assert drift(original, all_tokens.indices, all_tokens.values) == pytest.approx(torch.zeros(5), abs=1e-5)


def test_an_anchor_holds_a_drafter_near_the_original(drafter: LoadedDrafter) -> None:
    free, held = taught(drafter, anchor=0.0), taught(drafter, anchor=30.0)
    original = chance_of(free, is_taught=False)
    assert chance_of(free) > 1.5 * original
    assert original < chance_of(held) < original + 0.5 * (chance_of(free) - original)


def test_training_goes_on_from_an_adapter_as_it_is(drafter: LoadedDrafter) -> None:
    adapter = taught(drafter).adapter
    again = Training(drafter.model.shape, drafter.model.weights, TrainingSettings(4), adapter)
    for name, part in adapter.parts.items():
        assert torch.equal(again.adapter.parts[name].up, part.up)
    again.start_over()
    assert not any(part.up.any() for part in again.adapter.parts.values())


def test_the_more_was_learned_from_the_less_it_is_anchored_and_the_more_layers_learn(drafter: LoadedDrafter) -> None:
    settings = TrainingSettings(4, 0.02, batch=1, anchor=0.5, anchored=(100, 10_000), layers=((0, 1), (1_000, 9)))
    assert [settings.anchor_after(each) for each in (0, 100, 1_000, 10_000, 10**6)] == pytest.approx(
        [0.5, 0.5, 0.25, 0, 0]
    )
    model = drafter.model
    training = Training(model.shape, model.weights, settings)
    last = f"{model.shape.num_layers - 1}."
    training.count(900)
    for _ in range(4):
        training.read(lesson(), never_stop)
    before, chance = training.adapter, chance_of(training)
    assert all(name.startswith(last) for name in before.parts)
    training.count(100)
    assert {name.partition(".")[0] for name in training.adapter.parts} == {
        str(number) for number in range(model.shape.num_layers)
    }
    assert chance_of(training) == pytest.approx(chance, rel=1e-3), "what was learned goes on"
    training.read(lesson(), never_stop)
    assert training.adapter.parts["0.qkv"].up.any()


def test_what_the_original_makes_of_a_lesson_is_found_once(drafter: LoadedDrafter) -> None:
    example, training = lesson(), taught(drafter)
    training.read(example, never_stop)
    usual = example.usual
    assert usual is not None
    training.read(example, never_stop)
    assert example.usual is usual
    original = training._model.carrying(None)
    with torch.no_grad():
        logits = original.logits(original.states(example.sample.tokens[:-1].tolist())[START - 1 :])
    assert usual.tokens[:, 0].tolist() == logits.argmax(-1).tolist()
    assert usual.probabilities[:, 0].float() == pytest.approx(logits.softmax(-1).amax(-1), rel=1e-2)


def test_it_steps_as_torch_does() -> None:
    dice = torch.Generator().manual_seed(0)
    ours = [torch.randn(shape, generator=dice).requires_grad_() for shape in [(5, 3), (4,)] * 10]  # several parts
    theirs = [each.detach().clone().requires_grad_() for each in ours]
    optimizer, other = AdamW(ours, 1e-2), torch.optim.AdamW(theirs, lr=1e-2, betas=(0.9, 0.99), weight_decay=0.01)
    for size in (0.01, 1.0, 10.0):  # the last ones are scaled down
        gradients = [size * torch.randn(each.shape, generator=dice) for each in ours]
        for parameter, gradient in zip(theirs, gradients, strict=True):
            parameter.grad = gradient.clone()
        torch.nn.utils.clip_grad_norm_(theirs, 1.0)
        other.step()
        assert len(list(optimizer.steps(gradients, 1.0))) == 2
        torch.testing.assert_close(ours, theirs)


def test_what_ends_in_the_middle_of_a_step_goes_on_there(drafter: LoadedDrafter) -> None:
    settings = TrainingSettings(4, 0.02, batch=1)
    patient, impatient = (Training(drafter.model.shape, drafter.model.weights, settings) for _ in range(2))
    for number in range(12):
        patient.read(lesson(number), never_stop)
        calls = iter([False] * (number % 4) + [True])  # ends it before a step, between its parts, and after it

        def check(calls: Iterator[bool] = calls) -> None:
            if next(calls, False):
                raise InterruptedError

        with pytest.raises(InterruptedError):
            impatient.read(lesson(number), check)
        impatient.read(lesson(number), never_stop)
    other = impatient.adapter.parts
    for name, part in patient.adapter.parts.items():
        torch.testing.assert_close((other[name].down, other[name].up), (part.down, part.up), rtol=0, atol=0)
