"""What drafting could have brought at best, from figures with known costs."""

from __future__ import annotations

import pytest

from engine.lab.measuring.report import attainable
from engine.speculation.decoding.figures import DecodingFigures


def _figures(passes: dict[int, tuple[int, float]], checked: int = 0, stood: int = 0) -> DecodingFigures:
    """`passes`: rows -> how many, and the seconds of each."""
    figures = DecodingFigures(num_written=sum(count for count, _ in passes.values()) + stood)
    for num_rows, (count, seconds) in passes.items():
        figures.passes[num_rows] += count
        figures.pass_s[num_rows] += count * seconds
    if checked:
        figures.checked[1] += checked
        figures.accepted[1] += stood
    return figures


PLAIN = [_figures({1: (50, 0.01)}), _figures({1: (50, 0.03)})]  # 20 ms on average


def test_it_is_the_best_length_with_drafting_free() -> None:
    drafting = [_figures({2: (20, 0.022), 3: (20, 0.044)}, checked=100, stood=60)]
    best = attainable(PLAIN, drafting)
    assert best is not None
    assert best.acceptance == pytest.approx(0.6)
    assert best.pass_costs == pytest.approx({1: 1.0, 2: 1.1, 3: 2.2})
    assert best.ratio == pytest.approx(1.6 / 1.1)  # three rows would bring 1.96 / 2.2


def test_where_no_guess_pays_it_is_plain_itself() -> None:
    best = attainable(PLAIN, [_figures({2: (20, 0.04)}, checked=10, stood=9)])
    assert best is not None
    assert best.ratio == 1.0


def test_what_costs_allow_counts_the_steps_of_the_drafter() -> None:
    drafting = [_figures({2: (20, 0.022), 3: (20, 0.024)}, checked=100, stood=60)]
    best = attainable(PLAIN, drafting, step=0.2)
    assert best is not None
    assert best.allowed == pytest.approx(1.6 / (1.1 + 0.2))  # two steps would bring 1.96 / (1.2 + 0.4)
    assert best.ratio == pytest.approx(1.96 / 1.2)
    costly = attainable(PLAIN, drafting, step=1.5)
    assert costly is not None
    assert costly.allowed == 1.0


def test_passes_measured_apart_stand_in_for_those_that_were_seldom() -> None:
    drafting = [_figures({2: (20, 0.022), 3: (2, 0.04)}, checked=100, stood=60)]
    best = attainable(PLAIN, drafting, pass_costs={2: 1.9, 4: 1.2})
    assert best is not None
    # V(2) is the rounds' own, V(3) lies between it and V(4): 1.6 / 1.1, 1.96 / 1.15, 2.176 / 1.2.
    assert best.allowed == pytest.approx(2.176 / 1.2)
    assert best.ratio == pytest.approx(1.6 / 1.1)


def test_rounds_without_a_guess_bring_what_plain_ones_do() -> None:
    drafting = [_figures({1: (40, 0.02), 2: (20, 0.022), 3: (20, 0.044)}, checked=100, stood=60)]
    best = attainable(PLAIN, drafting)
    assert best is not None
    assert best.ratio == pytest.approx(1.6 / 1.1)
    # 140 tokens, of which 40 came one by one at plain's speed, and 100 could have come at the best ratio.
    assert best.covered == pytest.approx(140 / (40 + 100 * 1.1 / 1.6))
    assert best.allowed == pytest.approx(best.covered), "without a drafter there is not always a guess"
    covered = attainable(PLAIN, [_figures({2: (20, 0.022)}, checked=20, stood=12)])
    assert covered is not None
    assert covered.covered == pytest.approx(covered.ratio)


def test_passes_that_were_seldom_say_nothing() -> None:
    best = attainable(PLAIN, [_figures({2: (50, 0.04), 5: (3, 0.001)}, checked=10, stood=5)])
    assert best is not None
    assert set(best.pass_costs) == {1, 2}
    only_plain = attainable(PLAIN, [_figures({1: (50, 0.02), 2: (9, 0.02)}, checked=10, stood=9)])
    assert only_plain is not None
    assert only_plain.ratio == 1.0


def test_without_drafts_or_plain_nothing_can_be_said() -> None:
    assert attainable(PLAIN, [_figures({1: (9, 0.02)})]) is None
    assert attainable([], [_figures({2: (20, 0.02)}, checked=3, stood=1)]) is None
