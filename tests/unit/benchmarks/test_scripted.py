from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from engine.values.stop_signal import StopSignal
from tests.benchmarks.draft_policy import Noise, SimulatedBody
from tests.benchmarks.scripted import Result, ScriptedTarget, allowed, play
from tests.benchmarks.scripts import Script, Scriptwriter, copied, ordinary
from tests.fakes.clock import FakeClock
from tests.fakes.target import END, START, FakeTarget

TARGET = FakeTarget(more_pieces=tuple(f"<{number}>".encode() for number in range(2000)))
VOCABULARY = TARGET.vocabulary
COSTS = (1.0, *(1.2 + 0.1 * place for place in range(15)))


@pytest.fixture
def clock() -> Iterator[FakeClock]:
    with pytest.MonkeyPatch.context() as patch:
        yield FakeClock(patch)


def scriptwriter() -> Scriptwriter:
    return Scriptwriter(ordinary(VOCABULARY), 0, TARGET.tokenize)


def result(clock: FakeClock, name: str, temperature: float) -> Result:
    writer = scriptwriter()
    body = SimulatedBody(COSTS, 0.0, Noise(), clock.spend)
    return play([writer.write(name) for _ in range(2)], VOCABULARY, temperature, body)


def test_a_passage_is_said_again_after_a_few_tokens_of_another_kind() -> None:
    script = scriptwriter().write("copy")
    passage = script.reply[5:]
    assert len(passage) == 300
    assert script.prompt[40:340] == passage


def test_no_text_has_special_tokens() -> None:
    assert not {START, END} & set(ordinary(VOCABULARY))


def test_greedy_text_is_the_script_wherever_the_target_is_rolled_back_to() -> None:
    script = scriptwriter().write("random")
    target = ScriptedTarget(VOCABULARY, temperature=0)
    target.play(script)
    target.evaluate(script.prompt, 1, StopSignal())
    rows = target.evaluate(script.reply[:3], 3, StopSignal())
    assert rows.argmax(axis=1).tolist() == list(script.reply[1:4])
    target.roll_back(len(script.prompt) + 1)
    assert target.evaluate([7], 1, StopSignal()).argmax() == script.reply[2], "the place decides, not what is held"


@pytest.mark.parametrize(("name", "chances"), [("copy", [0.9] + [0.1 / 3] * 3), ("random", [1 / 8] * 8)])
def test_sampled_text_has_several_likely_tokens_at_every_place(name: str, chances: list[float]) -> None:
    script = scriptwriter().write(name)
    target = ScriptedTarget(VOCABULARY, temperature=1)
    target.play(script)
    row = target.evaluate(script.prompt, 1, StopSignal())[0].astype(np.float64)
    assert int(np.count_nonzero(row > -20)) == len(chances)
    assert np.sort(np.exp(row[row > -20]))[::-1] == pytest.approx(chances, abs=1e-5)
    assert np.exp(row[script.reply[0]]) == pytest.approx(chances[0], abs=1e-5)


def test_copying_pays_and_is_measured_by_a_perfect_copyist(clock: FakeClock) -> None:
    passage = result(clock, "copy", 0.0)
    assert 1.5 < passage.counted < passage.allowed
    assert passage.share("copy") == pytest.approx(passage.counted / passage.allowed)
    assert passage.share("bait") == pytest.approx(passage.counted)
    assert passage.measured == pytest.approx(passage.counted)
    assert passage.rounds_until_draft is not None
    assert passage.rounds_until_draft <= 4
    assert passage.tokens_per_round > 3


def played(script: Script, chance: float) -> float:
    """The ratio of the perfect copyist who checks all that is copied at once, by drawing."""
    dice, num_rounds = np.random.default_rng(0), 0
    for _ in range(4000):
        place = 1
        while place < len(script.reply):
            while script.is_copied[place] and dice.random() < chance and place < len(script.reply) - 1:
                place += 1
            place, num_rounds = place + 1, num_rounds + 1
    return 4000 * (len(script.reply) - 1) / num_rounds


@pytest.mark.parametrize("chance", [1.0, 0.8])
def test_a_perfect_copyist_writes_what_flat_passes_allow(chance: float) -> None:
    is_copied = (False, False, True, True, True, False, True, True)
    script = Script((0,), (0,) * 8, is_copied)
    assert allowed(script, chance, {1: 1.0, 64: 1.0}) == pytest.approx(played(script, chance), rel=0.01)


def test_where_rows_cost_as_much_as_passes_nothing_is_to_be_gained() -> None:
    assert allowed(Script((0,), (0,) * 8, (True,) * 8), 1.0, {1: 1.0, 64: 64.0}) == pytest.approx(1.0)
    assert allowed(Script((0,), (0,) * 8, (False,) * 8), 1.0, {1: 1.0, 64: 1.0}) == pytest.approx(1.0)


def test_what_begins_a_copy_is_new_and_what_goes_on_behind_a_change_is_not() -> None:
    source, new = [*range(10, 30)], [1, 2, 3, 4, 5, 6]
    assert copied(source, [*new, *source[:4]]) == (False,) * 7 + (True,) * 3
    assert copied(source, [*source[:5], 1, *source[6:10]]) == (False, *[True] * 4, False, *[True] * 4)
    assert copied(source, [*source[:5], *source[8:12]]) == (False, *[True] * 8), "tokens were left out"
    assert copied(source, new) == (False,) * 6


@pytest.mark.parametrize("name", ["quote", "correct", "rename", "translate"])
def test_what_people_ask_for_is_mostly_copied_and_never_whole(name: str) -> None:
    script = scriptwriter().write(name)
    assert 0.3 < np.mean(script.is_copied) < 1.0
    assert script == scriptwriter().write(name)


def test_acceptance_is_chancy_when_sampling(clock: FakeClock) -> None:
    sampled = result(clock, "repeat", 1.0)
    assert sampled.acceptance is not None
    assert 0.75 < sampled.acceptance < 0.97


def test_random_text_is_measured_by_plain_itself(clock: FakeClock) -> None:
    text = result(clock, "random", 0.0)
    assert text.share("random") == text.counted == pytest.approx(1.0, abs=0.02)


def test_bait_repeats_itself_and_goes_on_otherwise() -> None:
    script = scriptwriter().write("bait")
    said = (*script.prompt, *script.reply)
    pairs = Counter(pairwise(said))
    assert sum(count - 1 for count in pairs.values()) > 30
