from __future__ import annotations

import pytest

from engine.lab.measuring.bench import ModeComparison
from engine.lab.measuring.modes import ModeAnswer
from engine.lab.measuring.prompts import BenchQuestion
from engine.speculation.decoding.figures import DecodingFigures
from tests.benchmarks.own_code import bars, own_ms, per_round_ms, print_table

MODES = {"plain": 0.001, "plain, learning": 0.002, "auto": 0.004, "auto, learning": 0.0045}  # s of own code a round


def answer(own_s: float, num_rounds: int = 10) -> ModeAnswer:
    figures = DecodingFigures(num_rounds=num_rounds, num_written=2 * num_rounds, target_s=0.5, draft_s=0.25)
    return ModeAnswer("", (), (), 0.0, 0.75 + own_s * num_rounds, figures)


def comparison(factor: float = 1.0) -> ModeComparison:
    return ModeComparison(
        BenchQuestion("a", "", ()), {mode: answer(factor * own_s) for mode, own_s in MODES.items()}, {}
    )


def test_own_is_what_neither_target_nor_drafter_took() -> None:
    assert own_ms(answer(0.003)) == pytest.approx(30.0)


def test_a_reply_that_was_disturbed_does_not_count_much() -> None:
    found = per_round_ms([comparison(), comparison(), comparison(50.0)])
    assert found == pytest.approx({mode: own_s * 1e3 for mode, own_s in MODES.items()})


def test_auto_and_learning_are_told_by_what_they_add() -> None:
    added = {name: spent_ms for name, spent_ms, _ in bars(per_round_ms([comparison()]), 0.0)}
    assert list(added.values()) == pytest.approx([1.0, 3.0, 1.0, 0.5])


def test_the_table_says_what_is_not_met(capsys: pytest.CaptureFixture[str]) -> None:
    assert not print_table([comparison()])
    out = capsys.readouterr().out
    assert "auto             4.000 ms a round, 2.000 a token (20 tokens)" in out
    assert out.count("NOT MET") == 4
    assert print_table([comparison(0.01)])
