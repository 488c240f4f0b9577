"""What a drafter loses, against plain arithmetic over small distributions."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.learning.losses import Loss, losses, wanted
from engine.speculation.learning.samples import LabelTable, Sample

NUM_OUTPUTS = 4


def lost(kind: Loss, q: list[float], distribution: Mapping[int, float], written: int, share: float = 0.0) -> float:
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
    return float(losses(kind, torch.log(torch.tensor([q])), want, share)[0])


Q = [0.1, 0.2, 0.3, 0.4]
P = {1: 0.5, 3: 0.25, 0: 0.25}


def test_distribution_is_the_cross_entropy_with_a_share_of_what_was_written() -> None:
    by_distribution = -(0.5 * math.log(0.2) + 0.25 * math.log(0.4) + 0.25 * math.log(0.1))
    assert lost(Loss.DISTRIBUTION, Q, P, 3) == pytest.approx(by_distribution, rel=1e-3)
    expected = 0.75 * by_distribution - 0.25 * math.log(0.4)
    assert lost(Loss.DISTRIBUTION, Q, P, 3, 0.25) == pytest.approx(expected, rel=1e-3)


def test_hybrid_is_the_reverse_divergence_on_single_tokens_and_a_fifth_on_pieces() -> None:
    p = {1: 0.5, 3: 0.25}  # the rest is one outcome more: 0.25 against 0.4
    reverse = 0.2 * math.log(0.2 / 0.5) + 0.4 * math.log(0.4 / 0.25) + 0.4 * math.log(0.4 / 0.25)
    assert lost(Loss.HYBRID, Q, p, 1) == pytest.approx(reverse, rel=1e-3)
    assert lost(Loss.HYBRID, Q, {}, 3) == pytest.approx(-0.2 * math.log(0.4), rel=1e-3)


def test_lk_blends_divergence_and_what_would_be_refused() -> None:
    accepted = 0.1 + 0.2 + 0.25
    share = math.exp(-3 * accepted)
    by_distribution = -(0.5 * math.log(0.2) + 0.25 * math.log(0.4) + 0.25 * math.log(0.1))
    assert lost(Loss.LK, Q, P, 3) == pytest.approx(share * by_distribution + (1 - share) * (1 - accepted), rel=1e-3)


@pytest.mark.parametrize("kind", list(Loss))
@given(masses=st.lists(st.floats(0.05, 1), min_size=NUM_OUTPUTS, max_size=NUM_OUTPUTS), seed=st.integers(0, 99))
def test_no_drafter_loses_less_than_the_target_itself(kind: Loss, masses: list[float], seed: int) -> None:
    p = [mass / sum(masses) for mass in masses]
    other = np.random.default_rng(seed).dirichlet(np.ones(NUM_OUTPUTS)).clip(1e-3)
    distribution = dict(enumerate(p))
    assert lost(kind, p, distribution, 0) <= lost(kind, (other / other.sum()).tolist(), distribution, 0) + 2e-3


def test_what_cannot_be_guessed_is_learned_from_its_distribution_alone() -> None:
    half = 0.5 * lost(Loss.DISTRIBUTION, Q, P, 0)
    assert lost(Loss.DISTRIBUTION, Q, P, NUM_OUTPUTS, 0.5) == pytest.approx(half, rel=1e-3)
    sample = Sample(np.array([0, NUM_OUTPUTS], np.int32), np.array([0, 1], np.float32), np.array([-1, -1], np.int32), 1)
    table = LabelTable(np.zeros((1, 1), np.int32), np.zeros((1, 1), np.float16))
    assert len(wanted(sample.tokens, sample.weights, sample.rows, table, NUM_OUTPUTS).places) == 0
