from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

import pytest

from engine.backend.worker import Worker
from engine.values.errors import Cancelled, NotPossible
from engine.values.requests import NEVER, Call, Door, Request, ignore
from engine.values.stop_signal import StopSignal


class Things:
    """A service whose methods do what the test says."""

    def __init__(self, work: Callable[[int, StopSignal], object] = lambda number, _stop: number) -> None:
        self.done: list[int] = []
        self._work = work

    def do(self, number: int, stop: StopSignal = NEVER) -> object:
        self.done.append(number)
        return self._work(number, stop)

    def list(self, number: int) -> int:
        return number


def asked(worker: Worker, things: Things, number: int, name: str = "do", is_owed: bool = False) -> Request[object]:
    request = Request[object](worker.signal())
    door = Door("busy", lambda: things, is_owed=is_owed)
    worker.post(Call(getattr(door, name), (number,), {}, request, ignore))
    return request


def close(worker: Worker, timeout_s: float) -> bool:
    worker.end()
    return worker.join(timeout_s)


def begun(worker: Worker) -> Worker:
    worker.start()
    return worker


def test_calls_are_carried_out_in_order_on_another_thread() -> None:
    names: list[str] = []
    things = Things(lambda _number, _stop: names.append(threading.current_thread().name))
    worker = begun(Worker("busy"))
    requests = [asked(worker, things, number) for number in range(3)]
    requests[-1].result(10)
    assert things.done == [0, 1, 2]
    assert names == ["busy"] * 3
    assert close(worker, 2.0)


def test_a_failure_says_whether_it_was_wanted_to_end_and_a_method_can_be_ended_alone() -> None:
    began = threading.Event()

    def work(_number: int, stop: StopSignal) -> None:
        began.set()
        while not stop.is_set():
            time.sleep(0.001)
        raise NotPossible("It was ended.")

    worker, things = begun(Worker("busy")), Things(work)
    door = Door("busy", lambda: things)
    requests = []
    for method in (door.do, door.do, door.list):
        requests.append(Request[object](worker.signal()))
        worker.post(Call(method, (1,), {}, requests[-1], ignore))
    running, waiting, other = requests
    assert began.wait(10)
    worker.stop(door.do)
    assert waiting.signal.is_set()
    assert not other.signal.is_set()
    assert (failure := running.failure) is not None
    assert (failure.sentence, failure.error, failure.is_stopped) == ("It was ended.", NotPossible, True)
    assert (cancelled := waiting.failure) is not None
    assert cancelled.error is Cancelled, "it did not begin"
    assert other.result(10) == 1
    assert things.done == [1]
    assert close(worker, 2.0)


def test_a_failure_becomes_a_sentence_and_the_next_call_is_carried_out(caplog: pytest.LogCaptureFixture) -> None:
    def work(number: int, _stop: StopSignal) -> None:
        if number == 1:
            raise NotPossible("No model is loaded; choose one.")
        if number == 2:
            raise ZeroDivisionError("secret internals")

    worker, things = begun(Worker("busy")), Things(work)
    with caplog.at_level(logging.ERROR, "slipstream.requests"):
        mendable, bug, whole = (asked(worker, things, number) for number in (1, 2, 3))
        assert whole.result(10) is None
    assert mendable.failure is not None
    assert mendable.failure.sentence == "No model is loaded; choose one."
    assert bug.failure is not None
    assert "Something went wrong inside Slipstream (ZeroDivisionError" in bug.failure.sentence
    assert "do failed" in caplog.text, "a bug of ours leaves its traceback in the log"
    assert close(worker, 2.0)


def test_closing_stops_what_runs_and_drops_what_waits() -> None:
    started = threading.Event()
    ended: list[str] = []

    def work(number: int, stop: StopSignal) -> None:
        started.set()
        while not stop.is_set():
            time.sleep(0.001)
        ended.append(str(number))

    worker, things = begun(Worker("busy", on_end=lambda: ended.append("closed"))), Things(work)
    asked(worker, things, 1)
    waiting = asked(worker, things, 2)
    assert started.wait(10)
    assert close(worker, 2.0)
    assert ended == ["1", "closed"]
    assert waiting.failure is not None
    late = asked(worker, things, 3)
    assert late.signal.is_set(), "after closing, nothing is taken any more"
    assert late.failure is not None


def test_a_call_that_is_stopped_before_it_begins_ends_at_once() -> None:
    release = threading.Event()
    worker, things = begun(Worker("busy")), Things(lambda _number, _stop: release.wait(10))
    first, second = asked(worker, things, 1), asked(worker, things, 2)
    second.stop()
    assert second.failure is not None
    assert second.failure.error is Cancelled
    release.set()
    first.result(10)
    assert close(worker, 2.0)
    assert things.done == [1]


def test_closing_says_when_the_thread_does_not_end() -> None:
    started, release = threading.Event(), threading.Event()

    def work(_number: int, _stop: StopSignal) -> None:
        started.set()
        release.wait(10)

    worker = begun(Worker("busy"))
    asked(worker, Things(work), 1)
    assert started.wait(10)
    assert not close(worker, 0.05)
    release.set()
    assert close(worker, 2.0)


def test_what_is_owed_is_carried_out_also_at_the_end() -> None:
    began, go_on = threading.Event(), threading.Event()

    def work(_number: int, _stop: StopSignal) -> None:
        began.set()
        assert go_on.wait(10)

    worker, things = begun(Worker("busy")), Things(work)
    for number in (1, 2, 3):
        asked(worker, things, number, is_owed=number == 3)
    assert began.wait(10)
    worker.end()
    go_on.set()
    assert worker.join(10)
    assert things.done == [1, 3]


def test_what_is_carried_out_inside_another_call_is_dropped_at_the_end_like_the_rest() -> None:
    began, go_on = threading.Event(), threading.Event()

    def work(number: int, _stop: StopSignal) -> None:
        if number == 1:
            worker.carry_out_now(next(iter(worker.waiting)))
            began.set()
            assert go_on.wait(10)
            for stop in worker.waiting:
                worker.carry_out_now(stop)

    worker, things = Worker("busy"), Things(work)
    for number in (1, 2, 3, 4):
        asked(worker, things, number, is_owed=number == 4)
    worker.start()
    assert began.wait(10)
    worker.end()
    go_on.set()
    assert worker.join(10)
    assert things.done == [1, 2, 4]
