from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from engine.stop_signal import StopSignal
from tests.benchmarks.pace import Noise, SimulatedBody
from tests.benchmarks.scripted import Result, ScriptedTarget, Scriptwriter, ordinary, play
from tests.fakes.clock import FakeClock
from tests.fakes.target import END, START, FakeTarget

VOCABULARY = FakeTarget(more_pieces=tuple(f"<{number}>".encode() for number in range(2000))).vocabulary
COSTS = (1.0, *(1.2 + 0.1 * place for place in range(15)))


@pytest.fixture
def clock() -> Iterator[FakeClock]:
    with pytest.MonkeyPatch.context() as patch:
        yield FakeClock(patch)


def result(clock: FakeClock, name: str, temperature: float) -> Result:
    writer = Scriptwriter(ordinary(VOCABULARY), seed=0)
    body = SimulatedBody(COSTS, 0.0, Noise(), clock.spend)
    return play([writer.write(name) for _ in range(2)], VOCABULARY, temperature, body)


def test_a_passage_is_said_again_after_a_few_tokens_of_another_kind() -> None:
    script = Scriptwriter(ordinary(VOCABULARY), 0).write("copy")
    passage = script.reply[5:]
    assert len(passage) == 300
    assert script.prompt[40:340] == passage


def test_no_text_has_special_tokens() -> None:
    assert not {START, END} & set(ordinary(VOCABULARY))


def test_greedy_text_is_the_script_wherever_the_target_is_rolled_back_to() -> None:
    script = Scriptwriter(ordinary(VOCABULARY), 0).write("random")
    target = ScriptedTarget(VOCABULARY, temperature=0)
    target.play(script)
    target.evaluate(script.prompt, 1, StopSignal())
    rows = target.evaluate(script.reply[:3], 3, StopSignal())
    assert rows.argmax(axis=1).tolist() == list(script.reply[1:4])
    target.roll_back(len(script.prompt) + 1)
    assert target.evaluate([7], 1, StopSignal()).argmax() == script.reply[2], "the place decides, not what is held"


@pytest.mark.parametrize(("name", "chances"), [("copy", [0.9] + [0.1 / 3] * 3), ("random", [1 / 8] * 8)])
def test_sampled_text_has_several_likely_tokens_at_every_place(name: str, chances: list[float]) -> None:
    script = Scriptwriter(ordinary(VOCABULARY), 0).write(name)
    target = ScriptedTarget(VOCABULARY, temperature=1)
    target.play(script)
    row = target.evaluate(script.prompt, 1, StopSignal())[0].astype(np.float64)
    assert int(np.count_nonzero(row > -20)) == len(chances)
    assert np.sort(np.exp(row[row > -20]))[::-1] == pytest.approx(chances, abs=1e-5)
    assert np.exp(row[script.reply[0]]) == pytest.approx(chances[0], abs=1e-5)


def test_copying_pays_and_both_ceilings_are_told(clock: FakeClock) -> None:
    copied = result(clock, "copy", 0.0)
    assert 1.5 < copied.counted < copied.covered < copied.allowed
    assert copied.share("copy") == pytest.approx(copied.counted / copied.allowed)
    assert copied.share("list") == pytest.approx(copied.counted / copied.covered)
    assert copied.measured == pytest.approx(copied.counted)


def test_acceptance_is_chancy_when_sampling(clock: FakeClock) -> None:
    sampled = result(clock, "repeat", 1.0)
    assert sampled.acceptance is not None
    assert 0.75 < sampled.acceptance < 0.97


def test_random_text_is_measured_by_plain_itself(clock: FakeClock) -> None:
    text = result(clock, "random", 0.0)
    assert text.share("random") == text.counted == pytest.approx(1.0, abs=0.02)


def test_bait_repeats_itself_and_goes_on_otherwise() -> None:
    script = Scriptwriter(ordinary(VOCABULARY), 0).write("bait")
    said = (*script.prompt, *script.reply)
    pairs = Counter(pairwise(said))
    assert sum(count - 1 for count in pairs.values()) > 30
