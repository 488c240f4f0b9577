from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from engine.lab.measuring.bench import Fork, LogitGauge, find_fork
from engine.speculation.model.interface import FloatRows
from engine.values.stop_signal import StopSignal
from tests.fakes.target import END, FakeTarget
from tests.unit.engine.lab.measuring.made import answer

A, B, C = b"abc"


class NearTie(FakeTarget):
    """After `ab`, C leads with 2.0, B has 1.75 and the end of the reply 1.5. Remembers how many tokens each pass
    had."""

    def __init__(self) -> None:
        super().__init__(context_size=32)
        self.passes: list[int] = []

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        self.passes.append(len(tokens))
        rows = super().evaluate(tokens, num_rows, stop)
        rows[:] = 0
        if self.held[-2:] == [A, B]:
            rows[-1, [C, B, END]] = 2.0, 1.75, 1.5
        return rows


def test_the_gap_is_the_largest_logit_less_that_of_the_other_token() -> None:
    target = NearTie()
    plain, other = answer(tokens=(A, B, C), prompt=(A, A)), answer(tokens=(A, B, B), prompt=(A, A))
    fork = find_fork(plain, other, LogitGauge(target), StopSignal())
    assert fork == Fork(2, 0.25)
    assert target.passes == [2, 1, 1], "as plain decoding does: the prompt at once, then token by token"


def test_a_reply_that_ends_where_plain_goes_on_is_a_fork_with_the_end() -> None:
    plain, other = answer(tokens=(A, B, C)), answer(tokens=(A, B))
    assert find_fork(plain, other, LogitGauge(NearTie()), StopSignal()) == Fork(2, 0.5)


def test_a_reply_that_goes_on_where_plain_ends_is_a_fork_with_its_token() -> None:
    plain, other = answer(tokens=(A, B)), answer(tokens=(A, B, B))
    assert find_fork(plain, other, LogitGauge(NearTie()), StopSignal()) == Fork(2, 0.25)


def test_the_same_text_is_no_fork() -> None:
    assert find_fork(answer(), answer(), LogitGauge(NearTie()), StopSignal()) is None


def test_beyond_the_context_there_is_no_gap_to_tell() -> None:
    gauge = LogitGauge(NearTie())
    assert gauge.gap([A] * 30, [B] * 3, C, StopSignal()) is None
    assert gauge.gap([A] * 30, [B] * 2, C, StopSignal()) == pytest.approx(0.0)


def test_what_the_target_held_before_does_not_matter() -> None:
    target = NearTie()
    target.evaluate([B, B, B], 1, StopSignal())
    assert LogitGauge(target).gap([A], [B], B, StopSignal()) == pytest.approx(np.float32(0.25))
