from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.lab.measuring.measurement import Measurement
from engine.lab.measuring.order import BenchOrder, SimulatedCosts
from engine.lab.measuring.prompts import ScriptedChat
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.model.llama.trace import TraceTarget
from engine.values.stop_signal import StopSignal
from tests.fakes.proposers import drafting
from tests.fakes.target import FakeTarget, says
from tests.unit.engine.lab.measuring.test_modes import Foreteller
from tests.unit.engine.speculation.model.llama.test_trace import FakeVocabulary

REPLY = "abcdefg"
CHATS = (ScriptedChat("one", "chat", (), ("Hi",), REPLY), ScriptedChat("two", "chat", (), ("Hello",), REPLY))


def speculations() -> dict[str, Speculation]:
    return {"auto": drafting(Foreteller(REPLY.encode(), wrong_second=False), length=2)}


def test_a_real_target_is_measured_in_real_seconds() -> None:
    target = FakeTarget(says(REPLY))
    measurement = Measurement(BenchOrder("fake", Path("f.jsonl")), CHATS, target, speculations())
    assert measurement.num_questions == 2
    answered: list[str] = []
    report: Any = json.loads(json.dumps(measurement.run(StopSignal(), answered.append)))
    assert answered == ["one", "two"]
    assert (report["target"], report["simulated"], report["machine"]["threads"]) == ("fake", False, 1)
    auto = report["modes"]["auto"]
    assert auto["identical"] == 2
    assert auto["forks"] == []
    assert auto["tokens_per_round"] == pytest.approx(7 / 3, abs=1e-4)
    assert "own_ms_measured" not in auto
    measurement.close()
    assert target.closed


def test_recorded_replies_are_measured_in_computed_seconds() -> None:
    order = BenchOrder("trace:fake.gguf", Path("f.jsonl"), costs=SimulatedCosts(0.1, (1.0, 1.0, 1.5)))
    target = TraceTarget(FakeVocabulary(), Path("fake.gguf"))
    report: Any = json.loads(json.dumps(Measurement(order, CHATS, target, speculations()).run(StopSignal())))
    assert report["simulated"] is True
    assert report["target"] == "trace:fake.gguf"
    # 7 passes of plain against two passes over three rows, one over one, and six steps of the drafter.
    ratio = 7 / (2 * 1.5 + 1 + 6 * 0.1)
    assert report["modes"]["auto"]["ratio_to_plain"]["median"] == pytest.approx(ratio, abs=1e-4)
    assert report["modes"]["auto"]["ms"]["other"] == pytest.approx(0, abs=1e-6)
    assert report["modes"]["auto"]["own_ms_measured"] > 0


def test_a_stopped_measurement_still_reports() -> None:
    stop = StopSignal()
    measurement = Measurement(BenchOrder("fake", Path("f.jsonl")), CHATS, FakeTarget(says(REPLY)), speculations())
    report: Any = measurement.run(stop, lambda _id: stop.set())
    assert report["interrupted"] is True
    assert {record["id"] for record in report["prompts"]} == {"one"}


def test_sampled_texts_part_anyway_and_no_gap_is_looked_for() -> None:
    order = BenchOrder("fake", Path("f.jsonl"), temperature=1.0)
    report: Any = Measurement(order, CHATS, FakeTarget(says(REPLY)), speculations()).run(StopSignal())
    assert report["modes"]["auto"]["forks"] == []


def test_plain_is_measured_against_itself() -> None:
    order = BenchOrder("fake", Path("f.jsonl"), modes=BenchOrder.parse_modes("plain,plain,auto"))
    report: Any = Measurement(order, CHATS, FakeTarget(says(REPLY)), speculations()).run(StopSignal())
    assert list(report["modes"]) == ["plain", "plain-2", "auto"]
    again = report["modes"]["plain-2"]
    assert again["identical"] == 2
    assert again["drafted"] == 0
    assert again["ratio_by_counts"]["worst"] == 1.0
