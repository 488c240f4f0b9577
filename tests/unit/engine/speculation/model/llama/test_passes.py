"""The tokens that passes are timed over: ordinary ones, and different ones."""

from __future__ import annotations

import pytest

from engine.speculation.model.llama.passes import sample_tokens, time_pass
from engine.values.stop_signal import StopSignal
from tests.fakes.clock import FakeClock
from tests.fakes.target import END, START, FakeTarget


def test_they_are_those_of_a_text_and_all_different() -> None:
    target = FakeTarget()
    tokens = sample_tokens(target, 64)
    assert len(set(tokens)) == 64
    assert tokens == sample_tokens(target, 64)
    assert tokens[:8] == target.tokenize("The old")[:7] + target.tokenize("har")[:1]


def test_where_the_text_has_too_few_the_vocabulary_has_others_and_then_they_are_repeated() -> None:
    target = FakeTarget()
    num_ordinary = len(target.vocabulary) - 2
    tokens = sample_tokens(target, num_ordinary + 3)
    assert len(set(tokens)) == num_ordinary
    assert not {START, END} & set(tokens)
    assert tokens[num_ordinary:] == tokens[:3]


def test_a_timed_pass_leaves_the_target_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, target = FakeClock(monkeypatch), FakeTarget()
    target.evaluate([5, 6], 1, StopSignal())
    target.on_evaluate = lambda: clock.spend(3.0)
    assert time_pass(target, [7, 8, 9], StopSignal()) == 3.0
    assert target.held == [5, 6]
