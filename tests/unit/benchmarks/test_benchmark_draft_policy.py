from __future__ import annotations

from pathlib import Path

import pytest

from engine.lab.measuring.bench import BenchOutcome
from engine.lab.measuring.order import AUTO, PLAIN
from engine.lab.measuring.prompts import ScriptedChat
from engine.speculation.model.llama.trace import TraceTarget
from engine.speculation.numerics.draft_length import filled
from tests.benchmarks.draft_policy import Noise, Ratios, simulate, worst_replies
from tests.unit.engine.speculation.model.llama.test_trace import FakeVocabulary

QUIET = Noise()
FLAT = (1.0, *(1.05,) * 15)
STEEP = tuple(float(rows) for rows in range(1, 17))
COPYING = ScriptedChat("copy", "repetition", (), ("Say it.",), "the cat sat on the mat. " * 6)
PROSE = ScriptedChat("prose", "prose", (), ("Speak.",), "Quick zephyrs blow, vexing daft Jim.")


def outcome(costs: tuple[float, ...], noise: Noise = QUIET, switch: float = 0.0) -> BenchOutcome:
    return simulate([COPYING, PROSE], TraceTarget(FakeVocabulary(), Path("fake.gguf")), costs, switch, noise, 512)


def test_ratios_are_those_of_the_passes_that_were_made() -> None:
    result = outcome(FLAT)
    copied = result.comparisons[0].answers
    assert copied[PLAIN].tokens == copied[AUTO].tokens
    passes, costs = copied[AUTO].figures.passes, filled(dict(enumerate(FLAT, 1)))
    expected = sum(copied[PLAIN].figures.passes.values()) / sum(costs[n - 1] * count for n, count in passes.items())
    assert Ratios.of([result], "repetition").median == pytest.approx(expected)
    assert expected > 2
    assert Ratios.of([result]).num == 2
    assert worst_replies([result], 1)[0][1] == "prose"


def test_where_passes_are_steep_nothing_is_drafted_whatever_the_noise() -> None:
    assert Ratios.of([outcome(STEEP, Noise(0.1, 0.2, seed=1))]).worst == 1.0


def test_noise_is_seen_by_the_pace_alone_and_the_seed_decides_it() -> None:
    clear, noisy = outcome(FLAT), outcome(FLAT, Noise(0.5, 0.2, seed=1))
    plain_s = [each.comparisons[0].answers[PLAIN].wall_s for each in (clear, noisy)]
    assert plain_s[0] == pytest.approx(plain_s[1])
    assert worst_replies([noisy], 2) == worst_replies([outcome(FLAT, Noise(0.5, 0.2, seed=1))], 2)


def test_another_number_of_tokens_costs_a_switch() -> None:
    assert (
        Ratios.of([outcome(FLAT, switch=0.5)], "repetition").together
        < Ratios.of([outcome(FLAT)], "repetition").together
    )
