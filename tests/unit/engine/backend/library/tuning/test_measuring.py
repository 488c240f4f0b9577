"""Measuring tiny models side by side, and targets whose passes take what they are told to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.backend.library.tuning.measuring import (
    NUM_KEPT,
    NUM_TOKENS,
    Extent,
    Measuring,
    ReferencePassage,
    distance_of,
    ratios,
    rows_along,
    time_turn,
    write_passage,
)
from engine.speculation.model.interface import FloatRows, Interrupted, Target
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.speculation.model.llama.quantizations import make_quantization
from engine.values.config import TargetSettings
from engine.values.errors import NotPossible
from engine.values.quantizations import TuneStep
from engine.values.stop_signal import StopSignal
from tests.fakes.clock import FakeClock
from tests.fakes.target import FakeTarget
from tests.fakes.tiny_models import tiny_llama, tiny_mamba

SMALL = Extent(num_turns=3, num_prompts=4, reply_tokens=12)


def load(path: Path) -> Target:
    return LlamaCppTarget.load(path, "x", TargetSettings(context_size=512), lambda _share: None, StopSignal())


@pytest.fixture(scope="module")
def quantizations(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A tiny model, and the same as Q4_0."""
    folder = tmp_path_factory.mktemp("forms")
    original = tiny_llama(folder / "tiny.gguf")
    make_quantization(original, "Q4_0", folder / "tiny-Q4_0.gguf", StopSignal())
    return original, folder / "tiny-Q4_0.gguf"


class TimedTarget(FakeTarget):
    """A pass over n tokens takes `passes[n]` seconds, times how busy the machine is."""

    def __init__(self, clock: FakeClock, passes: dict[int, float], busy: Callable[[], float] = lambda: 1.0) -> None:
        super().__init__(lambda tokens: 65 + len(tokens) % 7)
        self._clock, self._passes, self._busy = clock, passes, busy

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        self._clock.spend(self._busy() * self._passes.get(len(tokens), 0.01 * len(tokens)))
        return super().evaluate(tokens, num_rows, stop)


ORIGINAL = {1: 0.010, 2: 0.015, 4: 0.020, 8: 0.032}
OTHER = {1: 0.008, 2: 0.013, 4: 0.021, 8: 0.024}


def test_a_turn_measures_each_number_of_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = time_turn(TimedTarget(FakeClock(monkeypatch), ORIGINAL), StopSignal())
    assert turn == pytest.approx(ORIGINAL)
    assert tuple(turn) == NUM_TOKENS


def test_the_drift_of_the_machine_falls_on_both(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock(monkeypatch)
    drift = {"now": 1.0}

    def busy() -> float:
        drift["now"] *= 1.002  # every pass is slower than the one before
        return drift["now"]

    paths = {Path("original"): ORIGINAL, Path("other"): OTHER}
    measuring = Measuring(Path("original"), lambda path: TimedTarget(clock, paths[path], busy), Extent(num_turns=8))
    found = measuring.beside(Path("other"))
    assert drift["now"] > 2
    for num_tokens in NUM_TOKENS:
        assert found.ratios[num_tokens] == pytest.approx(OTHER[num_tokens] / ORIGINAL[num_tokens], rel=0.06)


@pytest.mark.parametrize(("noise", "num_turns"), [(0.0, 5), (0.5, 15)])
def test_there_are_more_turns_while_the_machine_is_too_busy_to_tell(
    monkeypatch: pytest.MonkeyPatch, noise: float, num_turns: int
) -> None:
    clock, dice = FakeClock(monkeypatch), np.random.default_rng(1)
    paths = {Path("original"): ORIGINAL, Path("other"): OTHER}
    steps: list[TuneStep] = []

    def busy() -> float:
        return 1 + noise * dice.random()

    measuring = Measuring(
        Path("original"),
        lambda path: TimedTarget(clock, paths[path], busy),
        Extent(num_turns=5),
        on_step=lambda step, _share: steps.append(step),
    )
    measuring.beside(Path("other"))
    assert steps.count(TuneStep.TIMING) == num_turns


def test_single_turns_that_are_disturbed_change_nothing() -> None:
    calm = [{1: 10.0}] * 7
    disturbed = [{1: 8.0}] * 5 + [{1: 30.0}, {1: 90.0}]
    assert ratios(calm, disturbed) == ({1: 0.8}, 0.0)
    found, error = ratios(calm, [{1: seconds} for seconds in (7.0, 8.0, 9.0, 8.0, 7.0, 9.0, 8.0)])
    assert found == {1: 0.8}
    assert error == pytest.approx(1.4826 * 0.1 / 0.8 / 7**0.5)
    assert ratios(calm[:2], disturbed[:2])[1] == 1, "too few to tell"


def test_a_quantization_is_as_far_from_the_original_as_its_distributions_are(quantizations: tuple[Path, Path]) -> None:
    original, other = quantizations
    steps: list[tuple[TuneStep, float]] = []
    measuring = Measuring(original, load, SMALL, on_step=lambda *step: steps.append(step))
    near, far = measuring.beside(original), measuring.beside(other)
    assert near.distance.mean_kl == pytest.approx(0, abs=1e-9)
    assert near.distance.equal_greedy == 1
    assert far.distance.mean_kl > 1e-4
    assert far.distance.num_tokens == near.distance.num_tokens > 20
    assert far.distance.num_likeliest == 0
    assert set(far.ratios) == set(measuring.passes) == set(NUM_TOKENS)
    assert {step for step, _ in steps} == {TuneStep.TIMING, TuneStep.WRITING, TuneStep.COMPARING}
    assert [share for step, share in steps if step is TuneStep.WRITING] == [0.25, 0.5, 0.75, 1.0], "once for all"


def test_quantizations_that_do_not_fit_beside_each_other_are_loaded_one_after_the_other(
    quantizations: tuple[Path, Path],
) -> None:
    original, other = quantizations
    loaded: list[Path] = []
    num_open = 0

    def load_one(path: Path) -> Target:
        nonlocal num_open
        assert num_open == 0
        num_open += 1
        loaded.append(path)
        target = load(path)
        close = target.close

        def closed() -> None:
            nonlocal num_open
            num_open -= 1
            close()

        target.close = closed  # type: ignore[method-assign]
        return target

    apart = Measuring(original, load_one, SMALL).apart(other)
    assert loaded == [original, other, original]
    beside = Measuring(original, load, SMALL).beside(other)
    assert apart.distance.num_likeliest == NUM_KEPT
    assert apart.distance.mean_kl <= beside.distance.mean_kl
    assert apart.distance.mean_kl == pytest.approx(beside.distance.mean_kl, rel=0.9)
    assert apart.distance.equal_greedy == beside.distance.equal_greedy


def test_a_model_that_takes_nothing_back_is_measured_too(tmp_path: Path) -> None:
    original = tiny_mamba(tmp_path / "tiny.gguf")
    measuring = Measuring(original, load, SMALL)
    assert measuring.beside(original).distance.mean_kl == pytest.approx(0, abs=1e-6)


def test_some_replies_are_greedy_and_others_drawn(quantizations: tuple[Path, Path]) -> None:
    with closing(load(quantizations[0])) as target:
        for wants_greedy in (True, False):
            passage = write_passage(target, "Say something.", wants_greedy, 8, StopSignal())
            assert passage == write_passage(target, "Say something.", wants_greedy, 8, StopSignal())
            rows = rows_along(target, passage, StopSignal())
            is_greedy = [int(row.argmax()) == token for row, token in zip(rows, passage.reply, strict=True)]
            assert all(is_greedy) == wants_greedy


def test_rows_are_those_before_each_token_whatever_a_pass_can_hold() -> None:
    target = FakeTarget(lambda tokens: 65 + len(tokens) % 7, max_tokens=4)
    passage = ReferencePassage(tuple(range(97, 107)), tuple(range(65, 74)))
    rows = [int(row.argmax()) for row in rows_along(target, passage, StopSignal())]
    assert rows == [65 + num_held % 7 for num_held in range(10, 19)]


def test_a_model_that_says_nothing_cannot_be_compared() -> None:
    with pytest.raises(NotPossible, match="writes nothing"):
        Measuring(Path("x"), lambda _path: FakeTarget(), SMALL).beside(Path("y"))


def test_work_that_was_disturbed_is_done_anew(quantizations: tuple[Path, Path]) -> None:
    original, other = quantizations
    num_disturbed = 0

    def disturbed(work: Callable[[StopSignal], object]) -> object:
        nonlocal num_disturbed
        stop = StopSignal()
        stop.set()
        with pytest.raises(Interrupted):
            work(stop)
        num_disturbed += 1
        return work(StopSignal())

    seen = Measuring(original, load, SMALL, disturbed).beside(other).distance  # type: ignore[arg-type]
    assert num_disturbed > 10
    assert seen == Measuring(original, load, SMALL).beside(other).distance


def test_the_error_of_a_distance_is_that_of_replies() -> None:
    even = distance_of([[(0.1, True), (0.3, True)], [(0.3, False), (0.1, True)]])
    assert even.mean_kl == pytest.approx(0.2)
    assert even.kl_error == pytest.approx(0)
    assert even.equal_greedy == 0.75
    assert even.num_tokens == 4
    apart = distance_of([[(0.1, True), (0.1, True)], [(0.3, True), (0.3, True)]])
    assert apart.kl_error == pytest.approx(0.2 * 0.5**0.5 / 2)


def test_the_users_prompts_come_before_the_built_in_ones(quantizations: tuple[Path, Path]) -> None:
    asked = replace(SMALL, own_prompts=("the and a", "abc"))
    own = Measuring(quantizations[0], load, asked).beside(quantizations[1]).distance
    built_in = Measuring(quantizations[0], load, SMALL).beside(quantizations[1]).distance
    assert (own.num_own, built_in.num_own) == (2, 0)
    assert own.mean_kl != built_in.mean_kl
