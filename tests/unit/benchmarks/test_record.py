from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.lab.measuring.modes import WriterMode
from engine.lab.measuring.prompts import ScriptedChat, read_prompts
from engine.values.config import ReplySettings, SamplingSettings
from engine.values.stop_signal import StopSignal
from tests.benchmarks.record import PassTimer, recorded
from tests.fakes.clock import FakeClock
from tests.fakes.target import FakeTarget, says


@pytest.fixture
def clock() -> Iterator[FakeClock]:
    with pytest.MonkeyPatch.context() as patch:
        yield FakeClock(patch)


def test_what_was_recorded_can_be_replayed(tmp_path: Path) -> None:
    question = ScriptedChat("a", "chat", (), ("Hi", "Go on.")).question(["Hello"])
    mode = WriterMode(FakeTarget(says("Yes.")), ReplySettings(SamplingSettings(temperature=0)), None)
    line = recorded(question, mode.answer(question, StopSignal()), "fake")
    path = tmp_path / "trace.jsonl"
    path.write_text(json.dumps(line))
    (chat,) = read_prompts(path, recorded=True)
    assert (chat.id, chat.task, chat.response) == ("a-t2", "chat", "Yes.")
    assert chat.question([]).turns == question.turns


def test_passes_are_timed_the_second_time_and_taken_back(clock: FakeClock) -> None:
    target, seen = FakeTarget(), set[int]()
    target.evaluate([1, 2, 3], 1, StopSignal())
    evaluate = target.evaluate

    def timed(tokens: list[int], num_rows: int, stop: StopSignal) -> object:
        assert num_rows == len(tokens)
        clock.spend((1.0 + 0.5 * (num_rows - 1)) * (10.0 if num_rows not in seen else 1.0))  # builds its graph first
        seen.add(num_rows)
        return evaluate(tokens, num_rows, stop)

    target.evaluate = timed  # type: ignore[assignment]
    timer = PassTimer(target)
    timer.time([5] * 40)
    assert timer.costs == {num_rows: 1.0 + 0.5 * (num_rows - 1) for num_rows in range(1, 9)}, "no more fit in a pass"
    assert timer.single_ms == pytest.approx(1000.0)
    assert target.held == [1, 2, 3]
