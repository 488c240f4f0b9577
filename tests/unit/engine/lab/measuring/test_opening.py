from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from engine.lab.measuring.opening import MakeDrafting, MeasuredDrafting, open_measurement
from engine.lab.measuring.order import WAYS, BenchOrder, SimulatedCosts, Way
from engine.speculation.learning.learner import InUse
from engine.speculation.model.interface import Target, TokenizingVocabulary
from engine.speculation.numerics.draft_length import PassCosts
from engine.speculation.proposers.drafting import Teachable
from engine.speculation.proposers.interface import Proposer
from engine.speculation.proposers.selection import GivenStep
from engine.values.drafters import DrafterRunner, DrafterSource
from engine.values.errors import DrafterUnusable, FileUnusable, TargetUnusable
from engine.values.learned import VerifiedReply
from engine.values.stop_signal import StopSignal
from tests.fakes.target import FakeTarget, says
from tests.unit.engine.lab.measuring.test_modes import Foreteller
from tests.unit.engine.speculation.model.llama.test_trace import FakeVocabulary

REPLY = "abcdefghijklmnopqrstuvwxyz" * 20


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.jsonl"
    path.write_text(json.dumps({"id": "a", "prompt": "Hi", "response": REPLY}) + "\n")
    return path


SOURCE = DrafterSource("0a1b", "Foreteller", DrafterRunner.LLAMA_CPP, Path("foreteller-q4.gguf"))


@dataclass(frozen=True, slots=True)
class FakeDrafting:
    """Implements `engine.lab.measuring.opening.Drafting`, for one that never learns."""

    proposer: Proposer
    source: DrafterSource = SOURCE
    teachable: Teachable | None = None


def foreteller(_target: Target, _passes: PassCosts, _given_step: GivenStep, _way: Way) -> MeasuredDrafting:
    return FakeDrafting(Foreteller(REPLY.encode(), wrong_second=False))


def no_drafter(_target: Target, _passes: PassCosts, _given_step: GivenStep, _way: Way) -> MeasuredDrafting:
    raise AssertionError("recall needs no drafter")


def nobody(_target: Target, _passes: PassCosts, _given_step: GivenStep, _way: Way) -> None:
    """No drafter pays."""


def no_target(_name: str) -> Target:
    raise AssertionError("no model is loaded for recorded replies")


def no_vocabulary(_path: Path) -> TokenizingVocabulary:
    raise AssertionError("a model has its own vocabulary")


def test_recorded_replies_are_paced_by_the_costs_that_are_counted(prompts: Path) -> None:
    vocabulary = FakeVocabulary()
    order = BenchOrder("trace:fake.gguf", prompts, max_tokens=1000)
    measurement = open_measurement(order, no_target, lambda _path: vocabulary, foreteller, StopSignal())
    report: Any = measurement.run(StopSignal())
    assert report["modes"]["auto"]["tokens_per_round"] > 1.5
    measurement.close()
    assert vocabulary.closed


def replayed(order: BenchOrder, make_drafting: MakeDrafting = foreteller) -> Any:
    measurement = open_measurement(order, no_target, lambda _path: FakeVocabulary(), make_drafting, StopSignal())
    return measurement.run(StopSignal())["modes"]


def test_recall_is_measured_alone(prompts: Path) -> None:
    modes = replayed(BenchOrder("trace:fake.gguf", prompts, modes=("plain", "recall"), max_tokens=1000), no_drafter)
    assert set(modes["recall"]["by_proposer"]) == {"recall"}
    assert modes["recall"]["tokens_per_round"] > 5  # the same twenty times
    assert modes["recall"]["identical"] == 1


def test_the_drafter_is_measured_alone_in_every_round(prompts: Path) -> None:
    order = BenchOrder("trace:fake.gguf", prompts, modes=("plain", "neural"), max_tokens=1000, draft_length=1)
    neural = replayed(order)["neural"]
    assert set(neural["by_proposer"]) == {"foreteller"}
    assert set(neural["passes"]) <= {"1", "2"}
    assert neural["passes"].get("1", 0) <= 1, "but for the last token"
    assert neural["identical"] == 1


def test_the_cost_of_a_step_is_looked_up_by_the_drafters_name(prompts: Path) -> None:
    shares = []
    for costs in (SimulatedCosts(), SimulatedCosts(steps=(("foreteller-q4", 0.01),))):
        order = BenchOrder("trace:fake.gguf", prompts, modes=("plain", "neural"), draft_length=2, costs=costs)
        shares.append(replayed(order)["neural"]["draft_step"]["share"])
    assert shares == [0.075, 0.01]


def test_makers_of_drafters_learn_what_passes_and_steps_cost_and_the_mode(prompts: Path) -> None:
    asked: list[tuple[float, float | None, Way]] = []

    def note(_target: Target, passes: PassCosts, given_step: GivenStep, way: Way) -> None:
        asked.append((passes.of(4), given_step(SOURCE), way))

    costs = SimulatedCosts(steps=(("foreteller-q4", 0.25),))
    replayed(BenchOrder("trace:fake.gguf", prompts, modes=("plain", "neural", "auto"), costs=costs), note)
    (step_s,) = {asked_s for _, asked_s, _ in asked}
    assert step_s == pytest.approx(0.25 * costs.pass_s(1))
    assert asked == [(costs.pass_s(4), step_s, WAYS[mode]) for mode in ("neural", "auto")]


@pytest.mark.usefixtures("drafter_and_recall")
def test_where_no_drafter_pays_none_drafts(prompts: Path) -> None:
    auto = replayed(BenchOrder("trace:fake.gguf", prompts), nobody)["auto"]
    assert set(auto["by_proposer"]) == {"recall"}


def test_one_may_be_left_out(prompts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WAYS, "auto-without-recall", Way(without="recall"))
    order = BenchOrder("trace:fake.gguf", prompts, modes=("auto", "auto-without-recall"), max_tokens=1000)
    modes = replayed(order, nobody)
    assert "recall" in modes["auto"]["by_proposer"]
    assert set(modes["auto-without-recall"]["by_proposer"]) == {"lookahead"}


@pytest.mark.usefixtures("drafter_and_recall")
def test_as_the_app_does_both_may_draft(prompts: Path) -> None:
    auto = replayed(BenchOrder("trace:fake.gguf", prompts, max_tokens=1000))["auto"]
    assert set(auto["by_proposer"]) == {"recall", "foreteller"}
    assert auto["identical"] == 1


@dataclass
class FakePupil:
    """Implements what a measurement uses of `Teachable`, and of the learner that this makes."""

    has_work = False
    in_use = InUse()
    num_taught = 0
    remembers: bool | None = None

    def make_learner(self, remembers: bool) -> FakePupil:
        self.remembers = remembers
        return self

    def take(self, _number: int, _conversation: int, _turns: object, reply: VerifiedReply) -> None:
        assert len(reply.tokens)
        self.num_taught += 1


@pytest.mark.parametrize("remembers", [True, False])
@pytest.mark.parametrize("teaches", [True, False])
def test_a_chat_is_remembered_and_the_drafter_is_taught_where_that_is_asked_for(
    tmp_path: Path, teaches: bool, remembers: bool
) -> None:
    path = tmp_path / "twice.jsonl"
    chats = [{"id": name, "prompt": f"Say {name}.", "response": REPLY[:26]} for name in ("one", "two")]
    path.write_text("".join(json.dumps(chat) + "\n" for chat in chats))
    pupil = FakePupil()

    def silent(_target: Target, _passes: PassCosts, _given_step: GivenStep, _way: Way) -> MeasuredDrafting:
        return FakeDrafting(Foreteller(b"", wrong_second=False), teachable=cast("Teachable", pupil))

    modes = ("plain", "auto")
    auto = replayed(BenchOrder("trace:fake.gguf", path, modes=modes, teaches=teaches, remembers=remembers), silent)[
        "auto"
    ]
    assert auto["identical"] == 2
    assert (auto["accepted"] > 10) == remembers
    assert pupil.num_taught == 2 * teaches
    assert pupil.remembers == (remembers if teaches else None), "scores are of what is drafted"


def test_a_target_that_cannot_roll_back_is_measured_without_drafts(prompts: Path) -> None:
    order = BenchOrder("fake", prompts, max_tokens=20)
    target = FakeTarget(says(REPLY), can_roll_back=False)
    measurement = open_measurement(order, lambda _name: target, no_vocabulary, foreteller, StopSignal())
    report: Any = measurement.run(StopSignal())
    assert report["modes"]["auto"]["drafted"] == 0
    assert report["modes"]["auto"]["identical"] == 1


def test_a_target_is_closed_when_its_drafter_cannot_be_used(prompts: Path) -> None:
    def refuse(_target: Target, _passes: PassCosts, _given_step: GivenStep, _way: Way) -> MeasuredDrafting:
        raise DrafterUnusable("There is no drafter.")

    target = FakeTarget()
    with pytest.raises(DrafterUnusable):
        open_measurement(BenchOrder("fake", prompts), lambda _name: target, no_vocabulary, refuse, StopSignal())
    assert target.closed


@pytest.mark.parametrize("recorded", [True, False])
def test_a_body_takes_the_time_of_a_trace_or_of_a_target(prompts: Path, recorded: bool) -> None:
    loaded: list[str] = []
    vocabulary = FakeVocabulary()
    body = FakeTarget(context_size=2048, max_tokens=64)
    inner = FakeTarget(says(REPLY), context_size=2048)

    def load(name: str) -> Target:
        loaded.append(name)
        return body if name == "body.gguf" else inner

    order = BenchOrder("trace:v.gguf" if recorded else "fake", prompts, max_tokens=20, body=Path("body.gguf"))
    measurement = open_measurement(order, load, lambda _path: vocabulary, foreteller, StopSignal())
    report: Any = measurement.run(StopSignal())
    assert loaded == (["body.gguf"] if recorded else ["fake", "body.gguf"])
    assert (report["simulated"], report["settings"]["body"]) == (False, "body.gguf")
    assert set(report["pass_costs"]) == {"1", "2", "4", "8"}
    assert report["modes"]["auto"]["identical"] == 1
    assert report["modes"]["plain"]["prompt_s"] > 0
    assert body.num_evaluated > 3 * 20, "it evaluates what both modes and the warm-up write"
    measurement.close()
    assert body.closed
    assert vocabulary.closed if recorded else inner.closed


def test_a_target_is_closed_when_its_body_cannot_be_loaded(prompts: Path) -> None:
    vocabulary = FakeVocabulary()

    def refuse(_name: str) -> Target:
        raise TargetUnusable("It is damaged.")

    order = BenchOrder("trace:fake.gguf", prompts, body=Path("body.gguf"))
    with pytest.raises(TargetUnusable):
        open_measurement(order, refuse, lambda _path: vocabulary, foreteller, StopSignal())
    assert vocabulary.closed


def test_prompts_are_read_before_anything_is_loaded(tmp_path: Path) -> None:
    order = BenchOrder("fake", tmp_path / "missing.jsonl")
    with pytest.raises(FileUnusable, match=r"missing.jsonl"):
        open_measurement(order, no_target, no_vocabulary, foreteller, StopSignal())
