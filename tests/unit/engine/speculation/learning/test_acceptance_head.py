"""The acceptance head: it takes the state into account where that tells something, and only there."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from engine.speculation.learning.adapting import AdaptedModel
from engine.speculation.learning.samples import Sample
from engine.speculation.learning.training import fit_head

HIDDEN = 48
LENGTH = 200


def go_on() -> None: ...


class Guesser(AdaptedModel):
    """Guesses token 7 with some probability that says nothing, from states of which the first part may say all."""

    def __init__(self) -> None:
        self.shape: Any = SimpleNamespace(hidden=HIDDEN)

    def states(self, tokens: Any, check: Any = go_on) -> torch.Tensor:
        check()
        random = np.random.default_rng(int(tokens[0]))
        return torch.from_numpy(random.standard_normal((len(tokens), HIDDEN)).astype(np.float32))

    def logits(self, states: torch.Tensor, check: Any = go_on) -> torch.Tensor:
        check()
        rows = torch.zeros((len(states), 16))
        rows[:, 7] = 3 + torch.rand(len(states), generator=torch.Generator().manual_seed(0))
        return rows


def samples(numbers: range, tells: bool) -> list[Sample]:
    """Where the first part of the state is above zero the target writes 7; or where it is not asked, at random."""
    found = []
    for number in numbers:
        states = Guesser().states([number] * LENGTH)[:, 0].numpy()
        asked = states if tells else np.random.default_rng(1000 + number).standard_normal(LENGTH)
        tokens = np.where(asked[: LENGTH - 1] > 0, 7, 8).astype(np.int32)
        tokens = np.concatenate([[number], tokens]).astype(np.int32)
        found.append(Sample(tokens, np.ones(LENGTH, np.float32), np.full(LENGTH, -1, np.int32), 1))
    return found


def test_the_state_counts_where_it_tells_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch._dynamo", None)  # a compiler, which is not to be imported for this
    head = fit_head(Guesser(), samples(range(12), True), samples(range(12, 16), True), go_on)
    assert head is not None
    assert head.chance(torch.eye(HIDDEN)[0] * 2, 0.6) > 0.8
    assert head.chance(torch.eye(HIDDEN)[0] * -2, 0.6) < 0.2


def test_there_is_none_where_it_would_tell_less_than_the_probability() -> None:
    assert fit_head(Guesser(), samples(range(12), False), samples(range(12, 16), False), go_on) is None


def test_few_replies_make_none() -> None:
    assert fit_head(Guesser(), samples(range(2), True), samples(range(12, 16), True), go_on) is None
    assert fit_head(Guesser(), samples(range(12), True), [], go_on) is None
    assert fit_head(Guesser(), [], samples(range(12, 16), True), go_on) is None


def test_it_can_be_ended_in_the_middle() -> None:
    class SomebodyCame(Exception):
        pass

    calls = 0

    def come() -> None:
        nonlocal calls
        calls += 1
        if calls == 40:
            raise SomebodyCame

    with pytest.raises(SomebodyCame):
        fit_head(Guesser(), samples(range(12), True), samples(range(12, 16), True), come)
