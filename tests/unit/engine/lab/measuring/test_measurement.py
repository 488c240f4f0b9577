from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine.lab.measuring.bench import ModeComparison
from engine.lab.measuring.measurement import Measurement, windows
from engine.lab.measuring.modes import ModeAnswer
from engine.lab.measuring.order import BenchOrder, SimulatedCosts
from engine.lab.measuring.prompts import BenchQuestion, ScriptedChat
from engine.speculation.decoding.figures import DecodingFigures, ProposerFigures
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.model.llama.trace import TraceTarget
from engine.values.conversations import ChatTurn, Role
from engine.values.stop_signal import StopSignal
from tests.fakes.proposers import drafting
from tests.fakes.target import FakeTarget, says
from tests.unit.engine.lab.measuring.made import answer, drafted
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


def recalled(num_accepted: int) -> DecodingFigures:
    """10 tokens, of 6 that were checked so many stood."""
    return DecodingFigures(
        num_rounds=10 - num_accepted,
        num_written=10,
        num_drafted=6,
        num_accepted=num_accepted,
        checked=Counter({1: 4, 2: 2}),
        by_proposer={"recall": ProposerFigures(4, 6, num_accepted)},
    )


def comparisons(*answers: ModeAnswer, plain: bool = True) -> list[ModeComparison]:
    question = BenchQuestion("a", "", (ChatTurn(Role.USER, "Hi."),))
    of_plain = {"plain": answer(2.0, tuple(range(10)))} if plain else {}
    return [ModeComparison(question, {**of_plain, "auto": each}, {}) for each in answers]


def test_each_stretch_has_its_own_figures() -> None:
    answers = [answer(wall_s, figures=recalled(stood)) for wall_s, stood in ((2.0, 0), (2.0, 0), (1.0, 5), (1.5, 5))]
    first, second = windows("auto", comparisons(*answers), size=2)
    assert (first["from"], first["to"], second["from"], second["to"]) == (1, 2, 3, 4)
    assert (first["acceptance"], second["acceptance"]) == (0.0, pytest.approx(10 / 12, abs=1e-4))
    assert (first["tokens_per_round"], second["tokens_per_round"]) == (1.0, 2.0)
    assert (first["guessed_share"], second["guessed_share"]) == (0.0, 0.5)
    assert second["accepted_by_proposer"] == {"recall": 10}
    assert (first["ratio_to_plain"], second["ratio_to_plain"]) == (1.0, 1.6)  # 4 s over 2.5 s, as many tokens


def test_the_last_stretch_may_be_shorter_and_proposers_are_told_apart() -> None:
    stretches = windows("auto", comparisons(*(answer(figures=drafted()) for _ in range(3))), size=2)
    assert [(stretch["from"], stretch["to"]) for stretch in stretches] == [(1, 2), (3, 3)]
    both = windows("auto", comparisons(answer(figures=drafted()), answer(figures=recalled(2))), size=2)
    assert both[0]["accepted_by_proposer"] == {"drafter": 6, "recall": 2}


def test_what_cannot_be_said_is_left_open() -> None:
    (stretch,) = windows("auto", comparisons(answer(0.0, ()), plain=False), size=5)
    assert stretch["acceptance"] is None
    assert stretch["guessed_share"] is None
    assert stretch["ratio_to_plain"] is None
    assert windows("auto", [], size=5) == []
