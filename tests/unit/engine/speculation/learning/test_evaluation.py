"""How likely a drafter's tokens would be accepted along a reply."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.speculation.drafter.checkpoint import load_drafter
from engine.speculation.drafter.matrices import WeightForm
from engine.speculation.learning.adapting import AdaptedModel, never_stop
from engine.speculation.learning.evaluation import chances
from engine.speculation.learning.remembered import NOT_COPIED, Remembered
from engine.speculation.learning.samples import Labels, LabelTable, Sample
from engine.speculation.numerics.habits import SURE_ALONE
from tests.unit.engine.speculation.learning.made import drafter_folder

LENGTH, START = 20, 6
NOTHING = Remembered.nothing(LENGTH - START)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> AdaptedModel:
    folder = drafter_folder(tmp_path_factory.mktemp("drafter"))
    drafter = load_drafter(folder, "cpu", form=WeightForm.DENSE).model
    return AdaptedModel(drafter.shape, drafter.weights, 4, 64)


def sample(tokens: list[int], rows: list[int]) -> Sample:
    weights = np.ones(len(tokens), np.float32)
    return Sample(np.array(tokens, np.int32), weights, np.array(rows, np.int32), START)


def test_overlap_is_what_both_have_in_common(model: AdaptedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "_few", 3)  # the last of its parts is shorter
    random = np.random.default_rng(0)
    tokens = random.integers(3, 480, LENGTH).tolist()
    rows = [-1] * START + [place if place % 2 else -1 for place in range(LENGTH - START)]
    table = LabelTable(
        np.array([random.choice(480, 3, replace=False) for _ in range(LENGTH)], np.int32),
        random.dirichlet([0.3, 0.3, 0.3], LENGTH).astype(np.float16),
    )
    with torch.no_grad():
        logits = model.logits(model.states(tokens[:-1]))[START - 1 :].numpy().astype(np.float64)
    for temperature in (0.5, 1.0, 1.6):
        drafted = np.exp(logits / temperature)
        drafted /= drafted.sum(1, keepdims=True)
        found = chances(model, sample(tokens, rows), table, NOTHING, temperature, never_stop)
        for place in range(LENGTH - START):
            wanted = np.zeros(logits.shape[1])
            if place % 2:
                wanted[table.tokens[place]] = table.probabilities[place]
            else:
                wanted[tokens[START + place]] = 1.0
            assert found[place] == pytest.approx(np.minimum(wanted, drafted[place]).sum(), abs=1e-4)
    greedy = chances(model, sample(tokens, rows), table, NOTHING, 0.0, never_stop)
    assert greedy.tolist() == (logits.argmax(1) == np.array(tokens[START:])).tolist()


def test_what_is_scored_is_what_would_be_drafted_with_memory(model: AdaptedModel) -> None:
    random = np.random.default_rng(1)
    tokens = random.integers(3, 480, LENGTH).tolist()
    size = LENGTH - START
    expected = np.array([random.choice(480, 4, replace=False) for _ in range(size)])
    expected[::2, 0] = tokens[START::2]  # what is written is expected here and there
    shares = random.dirichlet([0.5] * 4, size).astype(np.float32) * 0.6
    copied = np.full(size, NOT_COPIED, np.int8)
    copied[3:5] = 1, 0
    with torch.no_grad():
        logits = model.logits(model.states(tokens[:-1]))[START - 1 :].numpy().astype(np.float64)
    drafted = np.exp(logits - logits.max(1, keepdims=True))
    drafted /= drafted.sum(1, keepdims=True)
    for place in range(size):
        if drafted[place].max() < SURE_ALONE:
            drafted[place] *= 1 - shares[place].sum()
            drafted[place][expected[place]] += shares[place]
    expected = np.append(expected, np.full((size, 1), logits.shape[1]), 1)  # which it cannot guess
    shares = np.append(shares, np.full((size, 1), 0.2, np.float32), 1)
    known, labels = Remembered(copied, expected, shares), LabelTable.of((), 1)
    replies = sample(tokens, [-1] * LENGTH)
    for temperature in (0.7, 1.0):
        colder = drafted ** (1 / temperature)
        wanted = (colder / colder.sum(1, keepdims=True))[np.arange(size), tokens[START:]]
        wanted[3:5] = 1, 0
        assert chances(model, replies, labels, known, temperature, never_stop) == pytest.approx(wanted, abs=1e-4)
    greedy = (drafted.argmax(1) == np.array(tokens[START:])).astype(float)
    greedy[3:5] = 1, 0
    assert chances(model, replies, labels, known, 0.0, never_stop).tolist() == greedy.tolist()
    assert greedy.sum() > 1


def test_a_drafter_carries_an_adapter_and_puts_it_down_again(model: AdaptedModel) -> None:
    adapter = model.adapter
    for part in adapter.parts.values():
        part.up.add_(0.3)
    replies = sample([*range(5, 5 + LENGTH)], [-1] * LENGTH)

    def found(with_it: bool) -> list[float]:
        carrying = model.carrying(adapter if with_it else None)
        return [*map(float, chances(carrying, replies, LabelTable.of((), 1), NOTHING, 1.0, never_stop))]

    original, adapted = found(False), found(True)
    assert original != adapted
    assert found(False) == original
    model.start_from(adapter)
    assert chances(model, replies, LabelTable.of((), 1), NOTHING, 1.0, never_stop).tolist() == adapted
    model.start_from(None)
    assert chances(model, replies, LabelTable.of((), 1), NOTHING, 1.0, never_stop).tolist() == original


def test_labels_are_sharper_where_it_is_colder() -> None:
    logs = np.log(np.array([[0.6, 0.3, 0.1], [1.0, 0.0, 0.0]], np.float32) + 1e-30).astype(np.float16)
    labels = Labels(np.array([[1, 2, 3], [4, 5, 6]], np.int32), logs)
    colder = np.exp(labels.at(0.5).log_probabilities.astype(np.float64))
    assert colder[0] == pytest.approx(np.array([0.36, 0.09, 0.01]) / 0.46, abs=1e-3)
    assert colder[1] == pytest.approx([1, 0, 0])
    assert np.exp(labels.at(1.0).log_probabilities.astype(np.float64))[0] == pytest.approx([0.6, 0.3, 0.1], abs=1e-3)
