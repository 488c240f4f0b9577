"""Measuring the machine between two messages: with a real store and a fake target."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.backend.chats.machine import measure_machine, others_share, tell_costs
from engine.backend.storage import Repository
from engine.speculation.model.files.sources import file_source
from engine.speculation.numerics.draft_length import PassCosts
from engine.values.config import ReplySettings, SamplingSettings
from engine.values.errors import Cancelled, NotPossible
from engine.values.events import ReplyFinished
from engine.values.orders import Send
from engine.values.outlook import MachineFigures
from engine.values.stop_signal import StopSignal
from engine.values.targets import LoadOrder
from tests.fakes.target import FakeTarget, says
from tests.unit.engine.backend.chats.test_chat_service import Desk

GREEDY = ReplySettings(SamplingSettings(temperature=0))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    repository = Repository.open(tmp_path / "store")
    yield Desk(repository, tmp_path)
    repository.close()


def send(desk: Desk, prompt: str, chat: int | None = None) -> ReplyFinished:
    desk.do(Send(prompt, chat, GREEDY))
    (finished,) = desk.told(ReplyFinished)
    assert isinstance(finished, ReplyFinished)
    return finished


def test_passes_and_reading_are_timed_and_the_chat_goes_on(desk: Desk) -> None:
    target = FakeTarget(says("Yes."))
    desk.load(LoadOrder(desk.add("fake", target)))
    chat = send(desk, "One?").message.conversation_id
    held = target.held.copy()
    shares: list[float] = []
    machine = desk.trials.measure_machine(progress=shares.append)
    assert {1, 2, 4} <= set(machine.passes)
    assert all(seconds > 0 for seconds in machine.passes.values())
    assert machine.tokens_per_s > 0
    assert machine.reads_per_s > 0
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert target.held == held
    second = send(desk, "Two?", chat).message.statistics
    assert second is not None
    assert second.evaluated_tokens <= second.prompt_tokens - len(held)


def test_where_nothing_can_be_saved_the_chat_is_read_again(desk: Desk) -> None:
    target = FakeTarget(says("Yes."))
    desk.load(LoadOrder(desk.add("fake", target)))
    chat = send(desk, "One?").message.conversation_id
    target.save = lambda: None  # type: ignore[method-assign]
    desk.trials.measure_machine()
    assert send(desk, "Two?", chat).message.text == "Yes."


def test_without_a_model_nothing_is_measured(desk: Desk) -> None:
    with pytest.raises(NotPossible, match="No model is loaded"):
        desk.trials.measure_machine()


def test_it_can_be_stopped(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(b"GGUF")
    stop, target = StopSignal(), FakeTarget(says("Yes."))

    def report(share: float) -> None:
        if share > 0:
            stop.set()

    with pytest.raises(Cancelled):
        measure_machine(target, file_source(path), report, stop)
    assert target.held == []


def test_the_pace_hears_of_what_a_busy_machine_hid_from_it_at_loading() -> None:
    passes = PassCosts({1: 0.007, 2: 0.028, 4: 0.056, 8: 0.112})
    machine = MachineFigures("tiny", "file:1", 98_000_000, {1: 0.007, 2: 0.0084, 4: 0.0105, 8: 0.014}, 500.0)
    tell_costs(passes, machine)
    assert passes.of(1) == pytest.approx(0.007, rel=0.05)
    for num_tokens, before_s in ((2, 0.028), (4, 0.056), (8, 0.112)):
        assert machine.passes[num_tokens] < passes.of(num_tokens) < before_s / 2


@pytest.mark.parametrize(
    ("after", "share"),
    [
        ((10.0, 2.0, 8.0), 0.0),  # all but idle is ours
        ((10.0, 0.0, 5.0), 0.5),
        ((10.0, 5.0, 6.0), 0.0),  # clocks tick at different times
        ((0.0, 0.0, 0.0), 0.0),
    ],
)
def test_what_others_take_of_the_processor_is_what_is_neither_idle_nor_ours(
    after: tuple[float, float, float], share: float
) -> None:
    assert others_share((0.0, 0.0, 0.0), after) == pytest.approx(share)
