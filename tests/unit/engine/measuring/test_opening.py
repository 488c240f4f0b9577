from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.errors import DrafterUnusable, PromptsUnreadable
from engine.measuring.opening import open_measurement
from engine.measuring.order import BenchOrder
from engine.proposers.interface import Proposer
from engine.stop_signal import StopSignal
from engine.target.interface import Target
from engine.target.trace import TokenizingVocabulary
from tests.fakes.target import FakeTarget, says
from tests.unit.engine.measuring.test_modes import Foreteller
from tests.unit.engine.target.test_trace import FakeVocabulary

REPLY = "abcdefghijklmnopqrstuvwxyz" * 20


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.jsonl"
    path.write_text(json.dumps({"id": "a", "prompt": "Hi", "response": REPLY}) + "\n")
    return path


def foreteller(_target: Target) -> Proposer:
    return Foreteller(REPLY.encode(), wrong_second=False)


def no_target() -> Target:
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


def test_a_target_that_cannot_roll_back_is_measured_without_drafts(prompts: Path) -> None:
    order = BenchOrder("fake", prompts, max_tokens=20)
    target = FakeTarget(says(REPLY), can_roll_back=False)
    measurement = open_measurement(order, lambda: target, no_vocabulary, foreteller, StopSignal())
    report: Any = measurement.run(StopSignal())
    assert report["modes"]["auto"]["drafted"] == 0
    assert report["modes"]["auto"]["identical"] == 1


def test_a_target_is_closed_when_its_drafter_cannot_be_used(prompts: Path) -> None:
    def refuse(_target: Target) -> Proposer:
        raise DrafterUnusable("There is no drafter.")

    target = FakeTarget()
    with pytest.raises(DrafterUnusable):
        open_measurement(BenchOrder("fake", prompts), lambda: target, no_vocabulary, refuse, StopSignal())
    assert target.closed


def test_prompts_are_read_before_anything_is_loaded(tmp_path: Path) -> None:
    order = BenchOrder("fake", tmp_path / "missing.jsonl")
    with pytest.raises(PromptsUnreadable):
        open_measurement(order, no_target, no_vocabulary, foreteller, StopSignal())
