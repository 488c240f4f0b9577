from __future__ import annotations

import threading

import pytest

from engine.backend.quiet import Quiet
from engine.speculation.model.interface import Interrupted
from engine.values.stop_signal import StopSignal

PATIENCE_S = 20.0


def test_work_is_done_at_once_where_nobody_waits() -> None:
    assert Quiet().run(lambda signal: not signal.is_set(), StopSignal())


def test_work_gives_way_and_is_done_anew() -> None:
    quiet, began, waits, free = Quiet(), threading.Event(), threading.Event(), threading.Event()
    attempts: list[str] = []

    def reply() -> None:
        assert began.wait(PATIENCE_S)
        with quiet.broken():
            waits.set()
            assert free.wait(PATIENCE_S)

    def work(signal: StopSignal) -> str:
        if attempts:
            return "done"
        attempts.append("begun")
        began.set()
        assert waits.wait(PATIENCE_S)
        assert signal.is_set(), "so that a pass ends in its middle"
        free.set()
        raise Interrupted

    thread = threading.Thread(target=reply)
    thread.start()
    assert quiet.run(work, StopSignal()) == "done"
    thread.join()


def test_work_that_waits_can_be_stopped() -> None:
    quiet, stop = Quiet(), StopSignal()
    with quiet.broken():
        stop.set()
        with pytest.raises(Interrupted):
            quiet.run(lambda _signal: None, stop)


def test_work_that_is_stopped_is_not_done_anew() -> None:
    stop = StopSignal()

    def work(_signal: StopSignal) -> None:
        stop.set()
        raise Interrupted

    with pytest.raises(Interrupted):
        Quiet().run(work, stop)


def test_waiting_ends_when_the_last_one_has_what_they_waited_for() -> None:
    quiet, outcome = Quiet(), []
    with quiet.broken():
        thread = threading.Thread(target=lambda: outcome.append(quiet.run(lambda _signal: 1, StopSignal())))
        with quiet.broken():
            thread.start()
        assert not outcome
    thread.join(PATIENCE_S)
    assert outcome == [1]
