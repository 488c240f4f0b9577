from __future__ import annotations

from collections import Counter

import pytest

from engine.errors import SettingInvalid
from engine.lab.measuring.order import PASS_S, SimulatedCosts


def test_seconds_are_counts_times_costs() -> None:
    costs = SimulatedCosts(step=0.1, passes=(1.0, 1.5, 2.0))
    # Three passes over one row, two over two, and one over seven, which costs what three do: 3·1 + 2·1.5 + 1·2 = 8.
    assert costs.target_s(Counter({1: 3, 2: 2, 7: 1})) == pytest.approx(8 * PASS_S)
    assert costs.draft_s(20) == pytest.approx(2 * PASS_S)


def test_costs_are_read_from_numbers_with_commas() -> None:
    assert SimulatedCosts.parse(0.075, "1, 1.05,1.2") == SimulatedCosts(0.075, (1.0, 1.05, 1.2))


@pytest.mark.parametrize("passes", ["", "1,x", "0", "1,-2", "nan", "1,inf"])
def test_costs_that_make_no_sense_are_refused(passes: str) -> None:
    with pytest.raises(SettingInvalid, match="write"):
        SimulatedCosts.parse(0.075, passes)


@pytest.mark.parametrize("step", [-0.1, float("nan"), float("inf")])
def test_a_drafter_that_costs_less_than_nothing_is_refused(step: float) -> None:
    with pytest.raises(SettingInvalid, match="choose 0 or more"):
        SimulatedCosts.parse(step, "1")
