from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.speculation.model.body import BodyTarget
from engine.speculation.model.interface import Interrupted, TargetFeature
from engine.values import clock
from engine.values.stop_signal import StopSignal
from tests.fakes.clock import FakeClock
from tests.fakes.target import PIECES, FakeTarget, says

GO = StopSignal()


def fail(error: Exception) -> Callable[[], None]:
    def raise_it() -> None:
        raise error

    return raise_it


def test_one_says_the_words_and_both_hold_the_tokens() -> None:
    inner, body = FakeTarget(says("yes")), FakeTarget(says("no"))
    target = BodyTarget(inner, body)
    rows = target.evaluate(list(b"ab"), 2, GO)
    assert (rows == FakeTarget(says("yes")).evaluate(list(b"ab"), 2, GO)).all()
    assert inner.held == body.held == list(b"ab")
    assert target.roll_back(1)
    assert target.num_held == len(inner.held) == len(body.held) == 1


def test_the_states_are_those_of_the_words() -> None:
    alone, target = FakeTarget(says("yes")), BodyTarget(FakeTarget(says("yes")), FakeTarget(says("no")))
    for each in (alone, target):
        each.tell_states(True)
        each.evaluate(list(b"ab"), 2, GO)
    assert target.states is not None
    assert (target.states == alone.states).all()


def test_only_the_bodys_passes_take_time(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = FakeClock(monkeypatch)
    inner, body = FakeTarget(), FakeTarget()
    inner.on_evaluate = lambda: machine.spend(100)
    body.on_evaluate = lambda: machine.spend(1)
    BodyTarget(inner, body).evaluate([1], 1, GO)
    assert clock.now() == 1


def test_tokens_that_the_body_does_not_have_are_others_to_it() -> None:
    inner, body = FakeTarget(more_pieces=(b"more", b"tokens")), FakeTarget()
    target = BodyTarget(inner, body)
    assert target.vocabulary == inner.vocabulary
    target.evaluate([len(PIECES) + 1, 5], 1, GO)
    assert inner.held == [len(PIECES) + 1, 5]
    assert body.held == [1, 5]


def test_both_hold_the_branch_that_is_kept() -> None:
    inner, body = FakeTarget(says("yes"), max_branches=4), FakeTarget(max_branches=2)
    target = BodyTarget(inner, body)
    assert target.limits.max_branches == 2
    rows = target.evaluate_tree(1, [2, 3, 4], (-1, -1, 1), GO)
    assert (rows == FakeTarget(says("yes"), max_branches=4).evaluate_tree(1, [2, 3, 4], (-1, -1, 1), GO)).all()
    assert inner.held == body.held == [1]
    target.keep_branch((1, 2))
    assert inner.held == body.held == [1, 3, 4]


def test_it_can_do_what_both_can() -> None:
    inner, body = FakeTarget(context_size=100, max_tokens=16), FakeTarget(context_size=200, can_roll_back=False)
    target = BodyTarget(inner, body)
    assert (target.limits.context_size, target.limits.max_tokens, target.limits.max_rows) == (100, 8, 8)
    assert target.features == {TargetFeature.STATES}
    assert BodyTarget(inner, FakeTarget()).features == inner.features - {TargetFeature.KEEPS}


@pytest.mark.parametrize("failing", ["inner", "body"])
def test_after_a_failed_pass_both_hold_what_they_held(failing: str) -> None:
    models = {"inner": FakeTarget(), "body": FakeTarget()}
    target = BodyTarget(models["inner"], models["body"])
    target.evaluate([1, 2], 1, GO)
    models[failing].on_evaluate = fail(Interrupted())
    with pytest.raises(Interrupted):
        target.evaluate([3], 1, GO)
    assert target.num_held == 2
    assert models["inner"].held == models["body"].held == [1, 2]


def test_where_one_cannot_roll_back_both_hold_nothing() -> None:
    inner, body = FakeTarget(), FakeTarget(can_roll_back=False)
    target = BodyTarget(inner, body)
    target.evaluate([1, 2], 1, GO)
    assert not target.roll_back(1)
    assert inner.held == body.held == []


def test_it_saves_nothing_and_closes_both() -> None:
    inner, body = FakeTarget(), FakeTarget()
    target = BodyTarget(inner, body)
    target.evaluate([1], 1, GO)
    saved: object = target.save()  # type: ignore[func-returns-value]  # as whoever knows the protocol alone
    assert saved is None
    target.close()
    assert inner.closed
    assert body.closed
