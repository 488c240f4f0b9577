from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from engine.lab.measuring.order import PASS_S, SimulatedCosts
from engine.values.drafters import DrafterRunner, DrafterSource
from engine.values.errors import SettingInvalid


def drafter(key: str) -> DrafterSource:
    return DrafterSource(key, "Qwen 2", DrafterRunner.LLAMA_CPP, Path("models/qwen2-0_5b-q4_0.gguf"))


def test_seconds_are_counts_times_costs() -> None:
    costs = SimulatedCosts(step=0.1, passes=(1.0, 1.5, 2.0))
    # Three passes over one row, two over two, and one over seven, which costs what three do: 3·1 + 2·1.5 + 1·2 = 8.
    assert costs.target_s(Counter({1: 3, 2: 2, 7: 1})) == pytest.approx(8 * PASS_S)
    assert costs.draft_s(20, measured_s=9.0) == pytest.approx(2 * PASS_S)
    assert costs.reading_s(20, measured_s=9.0) == pytest.approx(0.2 * PASS_S)


def test_costs_are_read_from_numbers_with_commas() -> None:
    assert SimulatedCosts.parse("0.05", "1, 1.05,1.2") == SimulatedCosts(0.05, (1.0, 1.05, 1.2))


@pytest.mark.parametrize(
    ("text", "built_in", "starter", "other"),
    [
        ("0.05", 0.05, 0.05, 0.05),
        ("26M=0.01, starter=0.05", 0.01, 0.05, 0.075),
        ("built-in=0.01,0.1", 0.01, 0.1, 0.1),
        ("measured", None, None, None),
        ("starter=measured", 0.075, None, 0.075),
    ],
)
def test_a_step_costs_what_is_said_of_its_drafter(
    text: str, built_in: float | None, starter: float | None, other: float | None
) -> None:
    costs = SimulatedCosts.parse(text, "1,2")
    drafters = (drafter("built-in"), drafter("starter"), drafter("0a1b2c"))
    assert [costs.of_drafter(each).step for each in drafters] == [built_in, starter, other]
    assert costs.of_drafter(drafters[0]).passes == (1.0, 2.0)


@pytest.mark.parametrize("name", ["0a1b2c", "Qwen 2", "qwen2-0_5b-q4_0"])
def test_a_file_goes_by_its_key_its_name_and_its_stem(name: str) -> None:
    assert SimulatedCosts.parse(f"{name}=0.2", "1").of_drafter(drafter("0a1b2c")).step == 0.2


def test_measured_steps_count_what_they_took() -> None:
    costs = SimulatedCosts.parse("measured", "1")
    assert costs.step_s is None
    assert (costs.draft_s(20, 1.5), costs.reading_s(20, 0.5)) == (1.5, 0.5)


@pytest.mark.parametrize("step", ["", "x", "starter=", "starter=x", "a=b=c", "1 2"])
def test_a_step_that_is_no_number_is_refused(step: str) -> None:
    with pytest.raises(SettingInvalid, match="write one like"):
        SimulatedCosts.parse(step, "1")


def test_two_costs_for_all_are_refused() -> None:
    with pytest.raises(SettingInvalid, match="given twice"):
        SimulatedCosts.parse("0.1,0.2", "1")


@pytest.mark.parametrize("passes", ["", "1,x", "0", "1,-2", "nan", "1,inf"])
def test_costs_that_make_no_sense_are_refused(passes: str) -> None:
    with pytest.raises(SettingInvalid, match="write"):
        SimulatedCosts.parse("0.075", passes)


@pytest.mark.parametrize("step", ["-0.1", "nan", "starter=inf"])
def test_a_drafter_that_costs_less_than_nothing_is_refused(step: str) -> None:
    with pytest.raises(SettingInvalid, match="choose 0 or more"):
        SimulatedCosts.parse(step, "1")
