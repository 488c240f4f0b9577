"""Replies side by side: each is what the target says after its own prompt, whoever ends first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from engine.speculation.model.interface import FloatRow
from engine.speculation.replies.side_by_side import Task, write_side_by_side
from engine.values.config import SamplingSettings
from engine.values.stop_signal import StopSignal
from tests.fakes.parallel_target import FakeParallelTarget, surely
from tests.fakes.target import END, PIECES

GREEDY = SamplingSettings(temperature=0)


def counts_down(tokens: Sequence[int]) -> int:
    """From the digit that ends the prompt to the end."""
    return END if tokens[-1] == ord("0") else tokens[-1] - 1


class Watched(FakeParallelTarget):
    """Notes which slots a pass has."""

    def __init__(self) -> None:
        super().__init__(surely(counts_down))
        self.slots: list[list[int]] = []
        self.num_read = 0

    def evaluate(self, tokens: Mapping[int, Sequence[int]], stop: StopSignal | None = None) -> dict[int, FloatRow]:
        self.slots.append(sorted(tokens))
        self.num_read += sum(map(len, tokens.values()))
        return super().evaluate(tokens, stop)


def task(prompt: str, max_tokens: int = 100, sampling: SamplingSettings = GREEDY) -> Task[str]:
    return Task(prompt, tuple(prompt.encode()), sampling, max_tokens)


def text(tokens: Sequence[int]) -> str:
    return b"".join(PIECES[token] for token in tokens).decode()


def test_every_prompt_is_read_once_and_answered_so_many_times() -> None:
    target = Watched()
    tasks = [task("say 3"), task("from 9"), task("by 1"), task("and 5", max_tokens=2)]
    replies = list(write_side_by_side(target, tasks, 2, StopSignal()))
    said = sorted((prompt, text(reply.tokens.tolist())) for prompt, reply in replies)
    end = PIECES[END].decode()
    expected = [("say 3", f"210{end}"), ("from 9", f"876543210{end}"), ("by 1", f"0{end}"), ("and 5", "43")]
    assert said == sorted(expected * 2)
    for _, reply in replies:
        assert (reply.top_tokens[:, 0] == reply.tokens).all()
        np.testing.assert_allclose(reply.top_logs[:, 0], 0, atol=1e-2)
    for slots in target.slots:
        assert slots == list(range(slots[0], slots[0] + len(slots))), "a gap would take another pass"
    num_written = sum(len(reply.tokens) for _, reply in replies)
    assert target.num_read == sum(len(each.prompt) for each in tasks) + num_written - len(replies)
    assert target.held == {}


def test_samples_of_a_prompt_differ() -> None:
    sampled = SamplingSettings(temperature=1, top_k=0, top_p=1, min_p=0)
    tasks = [task("Hi", 40, sampled)]
    (_, one), (_, other) = write_side_by_side(FakeParallelTarget(), tasks, 2, StopSignal())
    assert one.tokens.tolist() != other.tokens.tolist()
    assert (one.temperature, other.temperature) == (1, 1)


def test_repetition_teaches_nothing() -> None:
    target = FakeParallelTarget(surely(lambda _tokens: ord("a")), context_size=400)
    assert list(write_side_by_side(target, [task("Hi", 300)], 2, StopSignal())) == []
    assert target.num_passes < 200


def test_a_stop_leaves_what_is_worth_it() -> None:
    stop = StopSignal()
    target = FakeParallelTarget(surely(lambda tokens: ord("a") + len(tokens) % 20))
    num_passes = iter(range(1000))

    def on_pass() -> None:
        if next(num_passes) == 20:
            stop.set()

    tasks = (task(prompt) for prompt in ("one", "two"))
    replies = list(write_side_by_side(target, tasks, 2, stop, on_pass))
    assert [prompt for prompt, _ in replies] == ["one", "one", "two", "two"]
    assert {len(reply.tokens) for _, reply in replies} == {19}
    assert target.held == {}

    stop = StopSignal()
    stop.set()
    assert list(write_side_by_side(target, [task("three")], 2, stop)) == []
