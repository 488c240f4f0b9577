"""What one start of the engine wrote, the next one drafts from; what was deleted, it does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine import Engine, EngineConfig, ReplySettings, SamplingSettings, SpeculationSettings, TargetSettings
from engine.speculation.model.interface import Target
from engine.speculation.numerics.draft_length import PassCosts
from engine.values.conversations import Message
from engine.values.draft_policy import KnownCosts
from engine.values.events import ReplyFinished, TargetReady
from engine.values.orders import Send
from engine.values.replies import ReplyStatistics
from engine.values.stop_signal import StopSignal
from engine.values.targets import LoadOrder
from tests.fakes.listener import EventQueue
from tests.fakes.proposers import FREE

pytestmark = pytest.mark.starter

PROMPT = "Write a Python function that sorts names."
SETTINGS = ReplySettings(SamplingSettings(temperature=0), max_tokens=48)


class Start:
    """One start of the engine on a folder."""

    def __init__(self, folder: Path) -> None:
        self.events = EventQueue()
        # There is no such drafter, so that recall drafts alone.
        config = EngineConfig(folder / "data", SpeculationSettings(drafter=str(folder / "no drafter")))
        self.engine = Engine(config, self.events)
        self.engine.ask(self.engine.target.load, LoadOrder("starter", TargetSettings(context_size=512)))
        self.events.wait_for(TargetReady)

    def ask(self) -> Message:
        self.engine.ask(self.engine.chat.answer, Send(PROMPT, None, SETTINGS))
        return self.events.wait_for(ReplyFinished).message

    def delete(self, message: Message) -> None:
        self.engine.ask(self.engine.editor.delete, (message.conversation_id,)).result()


@contextmanager
def started(folder: Path) -> Iterator[Start]:
    start = Start(folder)
    try:
        yield start
    finally:
        start.engine.close()


def statistics(message: Message) -> ReplyStatistics:
    assert message.statistics is not None
    return message.statistics


def test_a_reply_is_drafted_after_the_next_start_unless_it_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def free(_target: Target, _stop: StopSignal, _known: KnownCosts | None) -> PassCosts:
        return FREE

    # What passes truly cost on a busy machine decides whether anything is drafted at all.
    monkeypatch.setattr("engine.loading.measure_passes", free)
    with started(tmp_path) as start:
        first = start.ask()
    with started(tmp_path) as start:
        second = start.ask()
        start.delete(first)
        start.delete(second)
    with started(tmp_path) as start:
        third = start.ask()
    # What recall finds in the reply itself, without any memory.
    alone = statistics(first).num_accepted
    assert statistics(first).reply_tokens == 48
    assert statistics(second).num_accepted > alone + 20
    assert statistics(second).num_rounds < statistics(first).num_rounds / 2
    assert abs(statistics(third).num_accepted - alone) <= 3, "but for near-ties of what is guessed beside it"
    assert third.text == first.text
    # Passes of other lengths use other kernels, so that a near-tie may fall otherwise; it begins alike at least.
    assert second.text[:20] == first.text[:20]
