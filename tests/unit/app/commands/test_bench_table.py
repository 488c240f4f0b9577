from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.commands.bench_table import print_report
from engine.lab.measuring.bench import BenchOutcome, ModeComparison
from engine.lab.measuring.prompts import BenchQuestion
from engine.lab.measuring.report import Subject, make_report
from tests.unit.engine.lab.measuring.made import answer, drafted


def report(pass_costs: dict[int, float], simulated: bool = False) -> dict[str, Any]:
    auto = drafted()
    auto.checked[1], auto.accepted[1] = 8, 6
    plain = replace(answer(2.0, tuple(range(10))), own_s=0.0)
    answers = {"plain": plain, "auto": replace(answer(1.0, tuple(range(10)), auto), own_s=0.0, uncounted_s=0.25)}
    outcome = BenchOutcome(
        (ModeComparison(BenchQuestion("a", "", ()), answers, {}),), (), dict.fromkeys(answers, 1.0), False
    )
    return make_report(Subject("body", simulated, {}, {}, pass_costs), list(answers), outcome)


def test_each_mode_has_a_line_with_its_ratio_what_costs_allow_and_those_costs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_report(report({1: 1.0, 2: 1.5, 4: 2.25, 8: 4.0}))
    lines = [line for line in capsys.readouterr().out.splitlines() if "times plain" in line]
    # Six of eight stood, and a step takes 0.1 s / 9 where a pass of plain takes 0.2 s, so that two
    # guesses bring most: (1 + 0.75 + 0.5625) / (1.875 + 2 * 0.0556).
    assert lines == [
        "auto: 2.000 times plain, worst 2.000, 172% of the 1.164 that costs allow (V(2) 1.50, V(4) 2.25, V(8) 4.00)"
    ]


def test_costs_that_were_not_measured_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_report(report({}))
    assert "that costs allow\n" in capsys.readouterr().out


def test_a_simulation_says_what_the_drafters_reading_would_cost(capsys: pytest.CaptureFixture[str]) -> None:
    print_report(report({}, simulated=True))
    out = capsys.readouterr().out
    assert "auto: 2.000 times plain, worst 2.000" in out
    assert "auto: 1.600 times plain, worst 1.600, with the drafter's reading of prompts, 0.25 s" in out


def test_every_mode_has_its_ratios_as_measured_and_by_counts(capsys: pytest.CaptureFixture[str]) -> None:
    answers = {"plain": answer(2.0), "plain-2": answer(4.0)}
    outcome = BenchOutcome(
        (ModeComparison(BenchQuestion("a", "chat", ()), answers, {}),), (), dict.fromkeys(answers, 1.0), False
    )
    print_report(make_report(Subject("body", False, {}, {}, {}), list(answers), outcome))
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["plain-2", *["0.500"] * 4, *["1.000"] * 4] in rows
    assert ["chat", "plain-2", "1", *["0.500"] * 4, *["1.000"] * 4] in rows
