"""What a drafter loses, against plain arithmetic over small distributions."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.learning.losses import losses, wanted
from engine.speculation.learning.samples import LabelTable, Sample

NUM_OUTPUTS = 4


def lost(q: list[float], distribution: Mapping[int, float], written: int, share: float = 0.0) -> float:
    """At one place; the sample is a prompt of one token and a reply of one."""
    sample = Sample(
        np.array([0, written], np.int32),
        np.array([0, 1], np.float32),
        np.array([-1, 0 if distribution else -1], np.int32),
        1,
    )
    table = LabelTable(
        np.array([list(distribution) or [0]], np.int32), np.array([list(distribution.values()) or [0]], np.float16)
    )
    want = wanted(sample.tokens, sample.weights, sample.rows, table, NUM_OUTPUTS)
    assert len(want.places) == 1
    return float(losses(torch.log(torch.tensor([q])), want, share)[0])


Q = [0.1, 0.2, 0.3, 0.4]
P = {1: 0.5, 3: 0.25, 0: 0.25}


def test_distribution_is_the_cross_entropy_with_a_share_of_what_was_written() -> None:
    by_distribution = -(0.5 * math.log(0.2) + 0.25 * math.log(0.4) + 0.25 * math.log(0.1))
    assert lost(Q, P, 3) == pytest.approx(by_distribution, rel=1e-3)
    expected = 0.75 * by_distribution - 0.25 * math.log(0.4)
    assert lost(Q, P, 3, 0.25) == pytest.approx(expected, rel=1e-3)


@given(masses=st.lists(st.floats(0.05, 1), min_size=NUM_OUTPUTS, max_size=NUM_OUTPUTS), seed=st.integers(0, 99))
def test_no_drafter_loses_less_than_the_target_itself(masses: list[float], seed: int) -> None:
    p = [mass / sum(masses) for mass in masses]
    other = np.random.default_rng(seed).dirichlet(np.ones(NUM_OUTPUTS)).clip(1e-3)
    distribution = dict(enumerate(p))
    assert lost(p, distribution, 0) <= lost((other / other.sum()).tolist(), distribution, 0) + 2e-3


def test_what_cannot_be_guessed_is_learned_from_its_distribution_alone() -> None:
    half = 0.5 * lost(Q, P, 0)
    assert lost(Q, P, NUM_OUTPUTS, 0.5) == pytest.approx(half, rel=1e-3)
    sample = Sample(np.array([0, NUM_OUTPUTS], np.int32), np.array([0, 1], np.float32), np.array([-1, -1], np.int32), 1)
    table = LabelTable(np.zeros((1, 1), np.int32), np.zeros((1, 1), np.float16))
    assert len(wanted(sample.tokens, sample.weights, sample.rows, table, NUM_OUTPUTS).places) == 0
