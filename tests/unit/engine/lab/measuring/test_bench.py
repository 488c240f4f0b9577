from __future__ import annotations

from collections.abc import Sequence

from engine.lab.measuring.bench import Bench, Fork, ModeComparison
from engine.lab.measuring.modes import ModeAnswer
from engine.lab.measuring.prompts import BenchQuestion
from engine.speculation.model.interface import Interrupted
from engine.values.conversations import Role
from engine.values.errors import PromptTooLong
from engine.values.stop_signal import StopSignal
from tests.unit.engine.lab.measuring.made import FakeMode, answer, chat


class FixedGauge:
    """Implements `engine.lab.measuring.bench.Gauge`."""

    def __init__(self) -> None:
        self.asked: list[tuple[tuple[int, ...], tuple[int, ...], int | None]] = []

    def gap(self, prompt: Sequence[int], reply: Sequence[int], token: int | None, stop: StopSignal) -> float:  # noqa: ARG002
        self.asked.append((tuple(prompt), tuple(reply), token))
        return 0.25


def test_modes_take_turns_prompt_by_prompt_and_the_first_changes() -> None:
    log: list[tuple[str, str]] = []
    modes = {name: FakeMode(name, log, lambda _question: answer()) for name in ("plain", "auto", "neural")}
    Bench(modes).run([chat(name) for name in ("a", "b", "c", "d")], StopSignal())
    assert log[3:] == [
        *(("plain", "a"), ("auto", "a"), ("neural", "a")),
        *(("auto", "b"), ("neural", "b"), ("plain", "b")),
        *(("neural", "c"), ("plain", "c"), ("auto", "c")),
        *(("plain", "d"), ("auto", "d"), ("neural", "d")),
    ]


def test_every_mode_warms_up_on_a_question_that_does_not_count() -> None:
    log: list[tuple[str, str]] = []
    modes = {name: FakeMode(name, log, lambda _question: answer()) for name in ("plain", "auto")}
    outcome = Bench(modes).run([chat("a")], StopSignal())
    assert log[:2] == [("plain", "warm-up"), ("auto", "warm-up")]
    assert [comparison.question.id for comparison in outcome.comparisons] == ["a"]


def test_a_chat_goes_on_with_plains_reply_in_every_mode() -> None:
    modes = {
        name: FakeMode(name, [], lambda question, name=name: answer(text=f"{name} on {question.turns[-1].text}"))  # type: ignore[misc]
        for name in ("auto", "plain")
    }
    outcome = Bench(modes).run([chat("a", "One.", "Two.")], StopSignal())
    assert [comparison.question.id for comparison in outcome.comparisons] == ["a-t1", "a-t2"]
    for mode in modes.values():
        turns = mode.questions[-1].turns
        assert [turn.text for turn in turns] == ["One.", "plain on One.", "Two."]
        assert turns[1].role is Role.ASSISTANT


def test_where_a_mode_parts_from_plain_the_gap_is_measured_for_its_token() -> None:
    modes = {
        "plain": FakeMode("plain", [], lambda _question: answer(tokens=(5, 6, 7))),
        "auto": FakeMode("auto", [], lambda _question: answer(tokens=(5, 9, 7))),
        "neural": FakeMode("neural", [], lambda _question: answer(tokens=(5, 6, 7))),
    }
    gauge = FixedGauge()
    (comparison,) = Bench(modes, gauge).run([chat("a")], StopSignal()).comparisons
    assert comparison.forks == {"auto": Fork(1, 0.25)}
    assert gauge.asked[-1] == ((1, 2), (5,), 9)


def test_without_a_gauge_nothing_is_said_about_forks() -> None:
    modes = {
        "plain": FakeMode("plain", [], lambda _question: answer(tokens=(5,))),
        "auto": FakeMode("auto", [], lambda _question: answer(tokens=(6,))),
    }
    (comparison,) = Bench(modes).run([chat("a")], StopSignal()).comparisons
    assert comparison.forks == {}


def test_a_question_that_is_too_long_ends_its_chat_only() -> None:
    def refuse_b(question: BenchQuestion) -> ModeAnswer:
        if question.id == "b-t2":
            raise PromptTooLong("Too long.")
        return answer()

    outcome = Bench({"plain": FakeMode("plain", [], refuse_b)}).run(
        [chat("a"), chat("b", "1", "2", "3"), chat("c")], StopSignal()
    )
    assert [comparison.question.id for comparison in outcome.comparisons] == ["a", "b-t1", "c"]
    assert outcome.skipped == ("b-t2",)
    assert not outcome.interrupted


def test_what_was_compared_before_an_interruption_counts() -> None:
    def stop_at_c(question: BenchQuestion) -> ModeAnswer:
        if question.id == "c":
            raise Interrupted
        return answer()

    seen: list[ModeComparison] = []
    modes = {"plain": FakeMode("plain", [], lambda _question: answer()), "auto": FakeMode("auto", [], stop_at_c)}
    outcome = Bench(modes).run([chat(name) for name in "abcd"], StopSignal(), seen.append)
    assert outcome.interrupted
    assert [comparison.question.id for comparison in outcome.comparisons] == ["a", "b"]
    assert tuple(seen) == outcome.comparisons


def test_the_most_memory_held_after_an_answer_is_kept_for_each_mode() -> None:
    readings = iter([10.0, 20.0, 30.0, 25.0])
    modes = {name: FakeMode(name, [], lambda _question: answer()) for name in ("plain", "auto")}
    outcome = Bench(modes, read_memory_mb=lambda: next(readings)).run([chat("a")], StopSignal())
    assert outcome.memory_mb == {"plain": 30.0, "auto": 25.0}
