"""One file and one line in the list are all that a new proposer takes; and what becomes of one that cannot draft."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from engine import EngineConfig, ReplySettings, SamplingSettings, StopSignal
from engine.loading import speculate
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.model.interface import TargetFeature
from engine.speculation.numerics.draft import Draft
from engine.speculation.proposers.catalogue import PROPOSERS, RECALL, Listed, origins
from engine.speculation.proposers.interface import Context, Proposer, Supplies, Worth
from engine.speculation.proposers.supply import DrafterSupply
from engine.speculation.replies.reply import ReplyWriter
from engine.speculation.replies.writing import Reply
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import Cancelled, MendableError
from tests.fakes.listener import RecordingReply
from tests.fakes.proposers import FREE
from tests.fakes.supply import large_target
from tests.fakes.target import FakeTarget, says
from tests.fakes.toy import LINE, TEXT, ToyProposer

TURNS = (ChatTurn(Role.USER, "Say it."),)
RECALL_LINE = next(listed for listed in PROPOSERS if listed.origin == RECALL)


@pytest.fixture(autouse=True)
def with_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.speculation.proposers.catalogue.PROPOSERS", (RECALL_LINE, LINE))
    monkeypatch.setattr("engine.loading.measure_passes", lambda _target, _stop, _known: FREE)


def speculating(told: list[str] | None = None, at_once: bool = False) -> Speculation:
    """As the engine makes it for a target."""
    sentences = [] if told is None else told
    config = EngineConfig(Path("nowhere"))
    target = large_target()
    supply = DrafterSupply(config, target)
    return speculate(
        config,
        target,
        StopSignal(),
        supply,
        on_changed=lambda changed: sentences.append(changed.state),
        at_once=at_once,
    )


def write(speculation: Speculation | None) -> Reply:
    writer = ReplyWriter(FakeTarget(says(TEXT)), speculation)
    settings = ReplySettings(SamplingSettings(temperature=0))
    return writer.write(writer.prepare(TURNS), settings, StopSignal(), RecordingReply())


def test_it_drafts_exactly_and_is_counted() -> None:
    assert origins() == (RECALL, ToyProposer.origin)
    plain, drafted = write(None), write(speculating())
    assert drafted.text == plain.text == TEXT
    assert drafted.figures.num_rounds < plain.figures.num_rounds / 2
    toy = drafted.figures.by_proposer["toy"]
    assert 0 < toy.num_accepted < toy.num_drafted


def test_it_says_that_it_drafts() -> None:
    speculation = speculating()
    write(speculation)
    assert speculation.is_drafting
    assert speculation.state.endswith(" ahead: toy.")


class Raising(ToyProposer):
    """From the second round on."""

    num_asked = 0

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:
        self.num_asked += 1
        if self.num_asked > 1:
            raise ZeroDivisionError
        return super().propose(context, limit, worth)


class Unserved(ToyProposer):
    needs = frozenset({TargetFeature.ROLLBACK, cast("TargetFeature", "hidden states")})

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:  # noqa: ARG002
        raise AssertionError("nobody may ask it")


class Unbuildable(ToyProposer):
    @classmethod
    def build(cls, supplies: Supplies, is_cancelled: Callable[[], bool]) -> Proposer:  # noqa: ARG003
        raise ZeroDivisionError


class Unusable(Unbuildable):
    """Told to the user as a sentence of its own."""

    @classmethod
    def build(cls, supplies: Supplies, is_cancelled: Callable[[], bool]) -> Proposer:  # noqa: ARG003
        raise MendableError("There is no toy.")


class Late(ToyProposer):
    loads = True
    loaded = threading.Event()

    @classmethod
    def build(cls, supplies: Supplies, is_cancelled: Callable[[], bool]) -> Proposer:  # noqa: ARG003
        while not cls.loaded.wait(0.005):
            if is_cancelled():
                raise Cancelled("Cancelled.")
        return cls()


class LateAndUnusable(Unusable):
    loads = True


def listing(monkeypatch: pytest.MonkeyPatch, toy: type[ToyProposer], *others: Listed) -> None:
    line = Listed(toy.origin, f"{toy.__module__}.{toy.__name__}")
    monkeypatch.setattr("engine.speculation.proposers.catalogue.PROPOSERS", (*others, line))


def test_one_that_raises_is_given_up(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    listing(monkeypatch, Raising, RECALL_LINE)
    told: list[str] = []
    speculation = speculating(told)
    with caplog.at_level(logging.CRITICAL):
        reply = write(speculation)
    assert reply.text == TEXT
    assert reply.figures.by_proposer["toy"].num_rounds == 1
    assert told[0] == "Toy failed (ZeroDivisionError); replies are written without it."
    assert not speculation.is_drafting
    assert "toy" not in write(speculation).figures.by_proposer


def test_one_whose_needs_are_not_met_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    listing(monkeypatch, Unserved)
    alone = speculating()
    assert alone.state == "Toy is off: this model offers no hidden states."
    assert write(alone).figures.num_drafted == 0
    listing(monkeypatch, Unserved, RECALL_LINE)
    with_recall = speculating()
    assert with_recall.state == alone.state
    assert set(write(with_recall).figures.by_proposer) == {"recall"}


def test_where_a_target_cannot_roll_back_nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    listing(monkeypatch, Unbuildable)
    target = FakeTarget(can_roll_back=False)
    config = EngineConfig(Path("nowhere"))
    speculation = speculate(config, target, StopSignal(), DrafterSupply(config, target), at_once=True)
    assert speculation.state.startswith("No speed-up: this model cannot roll back")


@pytest.mark.parametrize(
    ("toy", "sentence"),
    [
        (Unbuildable, "Toy could not be loaded (ZeroDivisionError); replies are written without it."),
        (Unusable, "There is no toy."),
    ],
)
def test_one_that_cannot_be_built_is_given_up_unless_it_was_asked_for(
    toy: type[ToyProposer], sentence: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    listing(monkeypatch, toy, RECALL_LINE)
    with caplog.at_level(logging.CRITICAL):
        assert speculating().state == sentence
    with pytest.raises((ZeroDivisionError, MendableError)):
        speculating(at_once=True)


def joined(name: str = "slipstream-drafter") -> None:
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join()


def test_one_that_loads_joins_when_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    listing(monkeypatch, Late, RECALL_LINE)
    Late.loaded.clear()
    told: list[str] = []
    speculation = speculating(told)
    assert speculation.state == "Toy is being loaded."
    assert speculation.is_loading
    assert "toy" not in write(speculation).figures.by_proposer
    Late.loaded.set()
    joined()
    assert told[-1].startswith("Toy is ready.")
    assert not speculation.is_loading
    assert "toy" in write(speculation).figures.by_proposer


def test_loading_ends_when_nobody_needs_it_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    listing(monkeypatch, Late, RECALL_LINE)
    Late.loaded.clear()
    told: list[str] = []
    speculation = speculating(told)
    speculation.close()
    joined()
    assert told == ["Toy is being loaded."]


def test_one_that_cannot_be_loaded_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    listing(monkeypatch, LateAndUnusable, RECALL_LINE)
    told: list[str] = []
    speculation = speculating(told)
    joined()
    assert told == ["Toy is being loaded.", "There is no toy."]
    assert not speculation.is_loading
    with pytest.raises(MendableError):
        speculating(at_once=True)
