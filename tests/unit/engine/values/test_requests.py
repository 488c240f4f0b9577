"""A request is settled with what the method returned or raised, on the service's own thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from engine.threads import Engine
from engine.values.config import EngineConfig
from engine.values.errors import Cancelled, MendableError, NotPossible
from engine.values.requests import NEVER, Call, Failure, Method, Request, door_to, ignore
from engine.values.stop_signal import StopSignal


class Adding:
    def __init__(self) -> None:
        self.thread = threading.current_thread().name
        self.begun = threading.Event()
        self.noted: list[str] = []

    def add(self, first: int, second: int = 1) -> tuple[int, str]:
        return first + second, self.thread

    def count(self, end: int, stop: StopSignal = NEVER, progress: Callable[[int], object] = ignore) -> int:
        for number in range(end):
            progress(number)
        self.begun.set()
        while not stop.is_set():
            pass
        raise Cancelled("It was stopped.")

    def note(self, word: str) -> list[str]:
        self.noted.append(word)
        return self.noted

    def refuse(self) -> None:
        raise NotPossible("Choose {name}.", name="another")

    def break_down(self) -> None:
        raise ValueError("oops\nand more")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = Engine(EngineConfig(tmp_path), lambda _event: None)
    yield made
    assert made.close()


@pytest.fixture
def service() -> Adding:
    return Adding()


@pytest.fixture
def adding() -> Adding:
    built: list[Adding] = []

    def build() -> Adding:
        if not built:
            built.append(Adding())
        return built[0]

    return door_to("search", build)


def test_a_request_is_answered_on_the_services_thread(engine: Engine, adding: Adding) -> None:
    assert engine.ask(adding.add, 2).result() == (3, "slipstream-search")
    assert engine.ask(adding.add, 2, second=5).result()[0] == 7


def test_what_was_asked_with_is_not_in_what_may_be_logged(adding: Adding) -> None:
    call = Call(cast(Method, adding.add), ("sesame",), {"second": "sesame"}, Request(NEVER), ignore)
    assert "sesame" not in repr(call)


def test_what_fails_says_so_with_its_kind(engine: Engine, adding: Adding) -> None:
    refused = engine.ask(adding.refuse)
    with pytest.raises(NotPossible, match=r"^Choose another\.$"):
        refused.result()
    assert refused.failure == Failure("Choose another.", NotPossible)
    broken = engine.ask(adding.break_down)
    with pytest.raises(MendableError, match=r"\(ValueError: oops\)"):
        broken.result()
    assert engine.ask(adding.add, 1).result()[0] == 2, "the thread goes on"


def test_progress_is_told_and_the_work_can_be_stopped(engine: Engine, adding: Adding) -> None:
    told: list[int] = []
    request = engine.begin(adding.count, (3,), {}, told.append)
    waiting = engine.ask(adding.add, 1)
    while len(told) < 3:
        pass
    request.stop()
    with pytest.raises(Cancelled):
        request.result()
    assert told == [0, 1, 2]
    assert request.failure is not None
    assert request.failure.is_stopped
    assert waiting.result()[0] == 2


@pytest.fixture
def busy(engine: Engine, adding: Adding) -> Request[int]:
    """A request that has begun, and lasts until it is stopped."""
    begun = threading.Event()
    request = engine.begin(adding.count, (1,), {}, lambda _number: begun.set())
    assert begun.wait(10)
    return request


def test_what_is_stopped_before_it_begins_is_cancelled_at_once(
    engine: Engine, adding: Adding, busy: Request[int]
) -> None:
    waiting = engine.ask(adding.note, "stopped")
    waiting.stop()
    with pytest.raises(Cancelled):
        waiting.result(10)
    assert not busy.future.done()
    busy.stop()
    assert engine.ask(adding.note, "asked").result() == ["asked"]


def test_what_is_owed_is_done_although_it_is_stopped_or_the_engine_closed(tmp_path: Path, service: Adding) -> None:
    owing: Adding = door_to("writing", lambda: service, is_owed=True)
    engine = Engine(EngineConfig(tmp_path), lambda _event: None)
    busy = engine.ask(owing.count, 1)
    assert service.begun.wait(10)
    waiting = [engine.ask(owing.note, word) for word in ("stopped", "waiting")]
    waiting[0].stop()
    assert engine.close()
    assert busy.future.done()
    assert [each.result() for each in waiting] == [["stopped", "waiting"]] * 2


def test_a_newer_request_stops_those_before_it_and_those_that_it_ends(engine: Engine, service: Adding) -> None:
    newest: Adding = door_to("search", lambda: service, is_newest_only=True)
    other: Adding = door_to("files", lambda: service)
    ending: Adding = door_to("hub", lambda: service, ends=(other.count,))
    counting = [engine.ask(newest.count, 1), engine.ask(newest.count, 1)]
    with pytest.raises(Cancelled):
        counting[0].result(10)
    assert not counting[1].signal.is_set()
    engine.ask(newest.add, 1).result(10)
    assert counting[1].future.done()
    counting, noting = [engine.ask(other.count, 1) for _ in range(2)], engine.ask(other.note, "noted")
    engine.ask(ending.add, 1).result(10)
    assert all(isinstance(each.future.exception(10), Cancelled) for each in counting)
    assert noting.result(10) == ["noted"], "only the method that it names"


def test_what_waits_when_the_engine_is_closed_fails(tmp_path: Path, adding: Adding) -> None:
    engine = Engine(EngineConfig(tmp_path), lambda _event: None)
    first, second = engine.ask(adding.count, 1), engine.ask(adding.add, 1)
    engine.close()
    for each in (first, second, engine.ask(adding.add, 1)):
        with pytest.raises(Cancelled):
            each.result()
