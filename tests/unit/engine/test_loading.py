"""Speculation as the engine makes it for a target: who drafts in the first reply, and who in those after it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from engine.loading import PolicyMemory, speculate
from engine.speculation.drafter.choice import BUILT_IN
from engine.speculation.model.interface import FloatRows
from engine.speculation.numerics.draft_length import FixedCosts, PassCosts
from engine.speculation.numerics.suffix_index import SuffixIndex
from engine.speculation.proposers import catalogue
from engine.speculation.proposers.interface import Supplies
from engine.speculation.replies.reply import ReplyWriter
from engine.speculation.replies.writing import Reply
from engine.values.config import EngineConfig, ReplySettings, SamplingSettings, SpeculationSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.draft_policy import LearnedPolicy
from engine.values.drafters import Guesses
from engine.values.errors import DrafterUnusable, StoreUnusable
from engine.values.spare_time import SpareTime
from engine.values.stop_signal import StopSignal
from tests.fakes.listener import RecordingReply
from tests.fakes.proposers import FREE
from tests.fakes.supply import FAKE_STARTER, TEXT, FakeSupply, large_target

STEEP = FixedCosts({1: 1.0, 16: 16.0})
GENTLE = FixedCosts({1: 1.0, 2: 1.2, 16: 4.0})
WRONG = Guesses(2000, 0, 0, 0)
STARTER_READY = "The starter is ready."

pytestmark = pytest.mark.usefixtures("drafter_and_recall")


@pytest.fixture(autouse=True)
def _starter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.speculation.proposers.supply.starter_drafter", lambda: FAKE_STARTER)


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Callable[[PassCosts], None]:
    """Sets what passes of the target cost."""

    def cost(costs: PassCosts) -> None:
        monkeypatch.setattr("engine.loading.measure_passes", lambda _target, _stop, _known: costs)

    cost(FREE)
    return cost


class Start:
    """Speculation for one target, and all that it says."""

    def __init__(
        self,
        supply: FakeSupply,
        at_once: bool = False,
        recalled: str = "",
        memory: PolicyMemory | None = None,
    ) -> None:
        self.supply = supply
        self.told: list[str] = []
        self.speculation = speculate(
            EngineConfig(Path("nowhere"), SpeculationSettings()),
            supply.target,
            StopSignal(),
            supply,
            lambda _owner: [SuffixIndex([[*recalled.encode()]])] if recalled else [],
            lambda changed: self.told.append(changed.state),
            at_once=at_once,
            memory=memory,
        )
        self.writer = ReplyWriter(supply.target, self.speculation)

    def write(self) -> Reply:
        prepared = self.writer.prepare([ChatTurn(Role.USER, "Say it.")])
        settings = ReplySettings(SamplingSettings(temperature=0))
        reply = self.writer.write(prepared, settings, StopSignal(), RecordingReply())
        assert reply.failure is None
        assert reply.text == TEXT, "whoever drafts"
        return reply

    @property
    def state(self) -> str:
        return self.speculation.state


def joined() -> None:
    """All that was being loaded has joined, or failed."""
    for thread in threading.enumerate():
        if thread.name == "slipstream-drafter":
            thread.join()


@pytest.mark.usefixtures("passes")
def test_the_chosen_drafter_joins_and_is_named(tmp_path: Path) -> None:
    start = Start(FakeSupply(tmp_path))
    joined()
    assert start.told == ["The starter is being loaded.", STARTER_READY]
    reply = start.write()
    assert reply.figures.by_proposer["drafter"].num_accepted > 10
    assert start.state.endswith(" ahead: the starter.")
    assert start.supply.opened == ["starter"]


@pytest.mark.usefixtures("passes")
def test_loading_waits_while_a_reply_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spare = SpareTime(lull_s=0.0)
    monkeypatch.setattr("engine.loading.SpareTime", lambda: spare)
    supply, opened = FakeSupply(tmp_path), list[str]()
    with ExitStack() as before_the_reply:

        def evaluate() -> None:
            before_the_reply.close()
            time.sleep(0.002)
            opened.extend(supply.opened)

        before_the_reply.enter_context(spare.taken())
        supply.target.on_evaluate = evaluate
        start = Start(supply)
        assert "drafter" not in start.write().figures.by_proposer
    assert opened == [], "the first reply is as fast as without a drafter"
    joined()
    assert supply.opened == ["starter"]
    assert start.write().figures.by_proposer["drafter"].num_accepted > 10


@pytest.mark.usefixtures("passes")
def test_what_waits_to_be_loaded_is_given_up_with_its_target(tmp_path: Path) -> None:
    supply = FakeSupply(tmp_path)
    start = Start(supply)
    start.writer.close()
    joined()
    assert supply.opened == []


@pytest.mark.usefixtures("passes")
def test_while_a_drafter_is_being_loaded_no_other_one_is_chosen(tmp_path: Path) -> None:
    """A reply may end when one is loaded and has not joined yet."""
    supply = FakeSupply(tmp_path)
    start = Start(supply, at_once=True)
    listed = catalogue.LISTED_DRAFTER.proposer_class()
    start.speculation.expect([listed], Supplies(supply.target))
    supply.note(WRONG)
    start.write()
    assert supply.choice.chosen == FAKE_STARTER
    assert None not in supply.told


def test_where_nobody_pays_nothing_is_loaded_and_the_state_says_so(
    tmp_path: Path, passes: Callable[[PassCosts], None]
) -> None:
    passes(STEEP)
    start = Start(FakeSupply(tmp_path))
    assert start.state.startswith("No drafter pays for this model on this computer, so none is loaded")
    assert not start.speculation.is_loading
    start.write()
    assert not start.speculation.is_drafting
    assert start.supply.opened == []
    assert start.state.startswith("No drafter pays")


@pytest.mark.usefixtures("passes")
def test_a_drafter_is_exchanged_between_replies(tmp_path: Path) -> None:
    start = Start(FakeSupply(tmp_path), at_once=True)
    start.write()
    assert start.speculation.is_drafting
    start.told.clear()
    start.supply.note(WRONG)
    start.write()
    joined()
    assert start.supply.opened == ["starter", BUILT_IN]
    assert start.told[-2:] == [
        "The built-in drafter is being loaded.",
        STARTER_READY.replace("starter", "built-in drafter"),
    ]
    assert [drafting and drafting.key for drafting in start.supply.told] == ["starter", None, BUILT_IN]
    assert start.write().figures.by_proposer["drafter"].num_accepted > 10
    assert start.state.endswith(" ahead: the built-in drafter.")


def test_a_drafter_that_does_not_pay_is_dropped_between_replies(
    tmp_path: Path, passes: Callable[[PassCosts], None]
) -> None:
    passes(GENTLE)
    supply = FakeSupply(tmp_path)
    start = Start(supply, at_once=True)
    for key in ("starter", BUILT_IN):
        assert supply.choice.chosen is not None
        assert supply.choice.chosen.key == key
        supply.note(WRONG)
        start.write()
        joined()
    assert not start.speculation.is_drafting
    assert not start.speculation.is_loading
    assert supply.told[-1] is None
    assert start.state.startswith("No drafter pays for this model")
    assert "drafter" not in start.write().figures.by_proposer


def test_where_the_next_one_cannot_be_loaded_either_replies_go_on_without(
    tmp_path: Path, passes: Callable[[PassCosts], None], caplog: pytest.LogCaptureFixture
) -> None:
    passes(GENTLE)
    supply = FakeSupply(tmp_path)
    supply.unusable = {BUILT_IN}
    start = Start(supply, at_once=True, recalled=TEXT)
    supply.note(WRONG)
    with caplog.at_level(logging.CRITICAL):
        start.write()
        joined()
    assert not start.speculation.is_drafting
    assert start.told[-1] == "Built-in drafter cannot draft: it is damaged."
    assert set(start.write().figures.by_proposer) == {"recall"}


@pytest.mark.usefixtures("passes")
def test_a_drafter_that_is_not_there_leaves_recall_as_it_is(tmp_path: Path) -> None:
    supply = FakeSupply(tmp_path, drafter=str(tmp_path / "nothing"))
    start = Start(supply, recalled=TEXT)
    assert start.state.startswith("There is no folder ")
    assert start.write().figures.by_proposer["recall"].num_accepted > 10
    with pytest.raises(DrafterUnusable, match="There is no folder"):
        Start(supply, at_once=True)


@pytest.mark.usefixtures("passes")
def test_once_a_target_is_closed_no_other_drafter_is_loaded(tmp_path: Path) -> None:
    start = Start(FakeSupply(tmp_path), at_once=True)
    start.supply.note(WRONG)
    start.speculation.close()
    start.speculation.end_reply()
    joined()
    assert start.supply.opened == ["starter"]


@pytest.mark.usefixtures("passes")
def test_a_drafter_that_fails_in_a_reply_is_given_up_for_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    supply = FakeSupply(tmp_path)
    start = Start(supply, at_once=True, recalled=TEXT)

    def fail(*_arguments: object) -> None:
        raise RuntimeError("a pass of the drafter failed")

    assert supply._drafting is not None
    monkeypatch.setattr(supply._drafting.proposer, "_follow", fail)
    start.write()
    assert not start.speculation.is_drafting
    assert supply.told[-1] is None, "nothing is learned from it any more"
    assert any(told.startswith("The starter failed (RuntimeError)") for told in start.told)
    start.write()
    assert supply.opened == ["starter"]


# What the draft policy knows


class Notebook:
    """Implements `engine.loading.PolicyMemory`."""

    def __init__(self, fails: bool = False) -> None:
        self.pace: LearnedPolicy | None = None
        self._fails = fails

    def load(self) -> LearnedPolicy | None:
        self._check()
        return self.pace

    def save(self, pace: LearnedPolicy) -> None:
        self._check()
        self.pace = pace

    def _check(self) -> None:
        if self._fails:
            raise StoreUnusable("The store cannot be used.")


@pytest.mark.usefixtures("passes")
def test_a_second_start_goes_on_from_the_chances_of_the_first(tmp_path: Path) -> None:
    notebook = Notebook()
    first = Start(FakeSupply(tmp_path), at_once=True, memory=notebook)
    assert notebook.pace is not None, "how fast the machine is counts before the first reply"
    assert notebook.pace.costs.spans
    for _ in range(3):
        first.write()
    known = notebook.pace
    assert known is not None
    assert known.standings["the starter"].num_askings > 4
    second = Start(FakeSupply(tmp_path), at_once=True, memory=notebook)
    assert second.speculation.learned_policy is None, "nothing new is known yet"
    second.write()
    assert notebook.pace is not None
    assert notebook.pace.standings["the starter"].num_askings > known.standings["the starter"].num_askings
    assert sum(notebook.pace.chances["earlier text"].tried) >= sum(known.chances["earlier text"].tried)


def test_of_a_target_whose_costs_are_known_only_plain_passes_are_timed(tmp_path: Path) -> None:
    notebook = Notebook()
    supply = FakeSupply(tmp_path)
    Start(supply, at_once=True, memory=notebook).write()
    assert notebook.pace is not None
    known = replace(notebook.pace.costs, change_s=1.0)
    notebook.pace = replace(notebook.pace, costs=known)
    passes: list[int] = []
    target = large_target()
    evaluate = target.evaluate

    def note(tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        passes.append(len(tokens))
        return evaluate(tokens, num_rows, stop)

    target.evaluate = note  # type: ignore[method-assign]
    Start(FakeSupply(tmp_path, target), at_once=True, memory=notebook)
    assert set(passes) == {1}


@pytest.mark.usefixtures("passes")
def test_a_store_that_fails_ends_no_reply(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Start(FakeSupply(tmp_path), at_once=True, memory=Notebook(fails=True)).write()
    assert "cannot be read" in caplog.text
    assert "is not kept" in caplog.text
