"""How fast this machine writes without drafts."""

from __future__ import annotations

import numpy as np
import pytest

from engine.numerics.baseline import Baseline


def test_the_first_idea_gives_way_to_what_is_seen() -> None:
    baseline = Baseline(1.0)
    assert (baseline.seconds, baseline.num_seen, baseline.spread) == (1.0, 0, 0.0)
    for _ in range(100):
        baseline.note(0.5)
    assert baseline.seconds == pytest.approx(0.5, rel=0.01)
    assert baseline.num_seen == 100


def test_mean_spread_and_error_are_those_of_the_rounds() -> None:
    baseline = Baseline(0.04)
    random = np.random.default_rng(0)
    for seconds in random.normal(0.04, 0.004, 2000):
        baseline.note(float(seconds))
    assert baseline.seconds == pytest.approx(0.04, rel=0.05)
    assert baseline.spread == pytest.approx(0.1, rel=0.4)
    # The mean remembers some twenty rounds.
    assert baseline.error == pytest.approx(baseline.spread / np.sqrt(20), rel=0.05)


def test_one_hiccup_of_the_machine_changes_little() -> None:
    baseline = Baseline(1.0)
    for _ in range(50):
        baseline.note(1.0)
    baseline.note(1000.0)
    assert baseline.seconds < 1.15


def test_under_other_conditions_what_is_seen_next_counts_most() -> None:
    steady, moved = Baseline(1.0), Baseline(1.0)
    for _ in range(50):
        steady.note(1.0)
        moved.note(1.0)
    moved.move()
    for _ in range(3):
        steady.note(2.0)
        moved.note(2.0)
    assert moved.seconds == pytest.approx(2.0, rel=0.2)
    assert steady.seconds < 1.3
    assert moved.error > steady.error


def test_a_machine_that_became_slower_for_good_is_believed_in_the_end() -> None:
    baseline = Baseline(0.001)
    for _ in range(200):
        baseline.note(1.0)
    assert baseline.seconds == pytest.approx(1.0, rel=0.05)
