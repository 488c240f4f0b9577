"""What becomes of a posted command: with one thread of an engine, without any, and with the real one."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest
from PySide6.QtCore import QCoreApplication, QObject, QThread, Slot
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from app.engine_bridge import EngineBridge, Posted, Request
from engine import Command, Engine, EngineConfig, StopSignal
from engine.backend.worker import Worker
from engine.values.errors import NotPossible
from engine.values.events import ConversationsListed, Event, Failed, LearnedGrew, Listener
from engine.values.prompts import TokenCount
from engine.values.requests import Failure
from tests.fakes.bridge import FakeBridge
from tests.fakes.commands import ListThings, OpenThing


class Diary(QObject):
    """Writes down what it hears, and where."""

    def __init__(self, bridge: EngineBridge) -> None:
        super().__init__()
        self.lines: list[object] = []
        self.threads: set[QThread] = set()
        bridge.happened.connect(self.hear)
        bridge.unhandled.connect(self.hear)

    @Slot(object)
    def hear(self, said: object) -> None:
        self.lines.append(said)
        self.threads.add(QThread.currentThread())

    def follow(self, request: Posted, name: str) -> None:
        request.finished.connect(lambda: self.hear(f"{name} finished"))
        request.failed.connect(lambda failed: self.hear(f"{name}: {failed.sentence}"))


class OneThread:
    """An engine that lists, and fails to open."""

    def __init__(self, listener: Listener) -> None:
        self.go_on = threading.Event()
        self.go_on.set()
        self._emit = listener
        self._worker = Worker("engine", self._handle, listener)
        self._worker.start()

    def post(self, command: Command) -> StopSignal:
        return self._worker.post(command)

    def close(self) -> bool:
        self.go_on.set()
        self._worker.end()
        return self._worker.join(5)

    def _handle(self, command: Command, stop: StopSignal) -> None:
        assert self.go_on.wait(10)
        if isinstance(command, OpenThing):
            raise NotPossible("It was stopped." if stop.is_set() else "There is no such chat.")
        self._emit(ConversationsListed(()))


Make = Callable[[], tuple[EngineBridge, OneThread, Diary]]


@pytest.fixture
def make() -> Iterator[Make]:
    bridges: list[EngineBridge] = []

    def made() -> tuple[EngineBridge, OneThread, Diary]:
        engines: list[OneThread] = []

        def make_engine(_config: EngineConfig, listener: Listener) -> Engine:
            engines.append(OneThread(listener))
            return cast(Engine, engines[0])

        bridges.append(EngineBridge(EngineConfig(Path()), make_engine=make_engine))
        return bridges[-1], engines[0], Diary(bridges[-1])

    yield made
    for bridge in bridges:
        assert bridge.close()


def test_a_request_ends_after_all_its_events_on_the_interface_thread(qtbot: QtBot, make: Make) -> None:
    bridge, _, diary = make()
    for name, command in (("list", ListThings()), ("open", OpenThing(1)), ("again", ListThings())):
        diary.follow(bridge.post(command), name)
    qtbot.waitUntil(lambda: "again finished" in diary.lines)
    assert diary.lines == [
        ConversationsListed(()),
        "list finished",
        "open: There is no such chat.",
        Failed("There is no such chat.", OpenThing(1)),
        ConversationsListed(()),
        "again finished",
    ]
    assert diary.threads == {QCoreApplication.instance().thread()}  # type: ignore[union-attr]


def test_a_request_is_stopped_before_it_begins(qtbot: QtBot, make: Make) -> None:
    bridge, engine, diary = make()
    engine.go_on.clear()
    first, second = bridge.post(OpenThing(1)), bridge.post(OpenThing(2))
    diary.follow(second, "second")
    second.stop()
    assert (first.is_stopped, second.is_stopped) == (False, True)
    engine.go_on.set()
    qtbot.waitUntil(lambda: "second: It was stopped." in diary.lines)


def test_a_failure_that_nobody_listens_to_is_said_once(qtbot: QtBot, make: Make) -> None:
    bridge, _, diary = make()
    bridge.post(OpenThing(1))
    bridge.post(OpenThing(1), quiet=True)
    finished = bridge.post(OpenThing(1))
    finished.finished.connect(lambda: diary.hear("never"))
    failed = Failed("There is no such chat.", OpenThing(1))
    qtbot.waitUntil(lambda: diary.lines.count(failed) == 3)
    assert diary.lines == [failed.sentence, failed, failed, failed.sentence, failed]


def test_what_the_engine_asks_of_itself_ends_no_request() -> None:
    bridge = FakeBridge()
    diary = Diary(bridge)
    diary.follow(bridge.post(ListThings()), "list")
    bridge.tell(Failed("The disk is full.", OpenThing(1)))
    assert diary.lines == ["The disk is full.", Failed("The disk is full.", OpenThing(1))]


def test_equal_commands_end_in_the_order_in_which_they_were_posted() -> None:
    bridge = FakeBridge()
    diary = Diary(bridge)
    for name in ("first", "second"):
        diary.follow(bridge.post(OpenThing(1)), name)
    bridge.tell(Failed("No.", bridge.posted[0]))
    assert diary.lines[0] == "first: No."
    bridge.tell(Failed("No.", bridge.posted[1]))
    assert diary.lines[2] == "second: No."


def test_nothing_is_heard_of_a_bridge_that_is_closed(make: Make) -> None:
    bridge, engine, diary = make()
    engine.go_on.clear()
    requests = [bridge.post(command) for command in (ListThings(), OpenThing(1), ListThings())]
    for request in requests:
        diary.follow(request, "request")
    engine.go_on.set()
    time.sleep(0.05)  # some of it is on its way to this thread
    assert bridge.close()
    QCoreApplication.processEvents()
    assert diary.lines == []


@pytest.mark.parametrize("is_failure_handled", [True, False])
def test_requests_are_gone_when_they_have_ended(qtbot: QtBot, tmp_path: Path, is_failure_handled: bool) -> None:
    bridge = EngineBridge(EngineConfig(tmp_path))
    diary = Diary(bridge)
    alive: weakref.WeakSet[Request[TokenCount | None]] = weakref.WeakSet()
    gc.disable()  # nothing is left for it to find
    try:
        for number in range(3000):
            request = bridge.ask(bridge.engine.counting.count, str(number))  # nothing happens, as there is no target
            if is_failure_handled:
                request.failed.connect(diary.hear)
            alive.add(request)
        with qtbot.waitSignal(request.answered, timeout=30_000):
            del request
        qtbot.waitUntil(lambda: len(alive) == 0)
    finally:
        gc.enable()
    assert bridge._requests == []
    assert diary.lines == []
    assert bridge.close()


def test_an_event_is_heard_as_it_was_said() -> None:
    bridge = FakeBridge()
    diary = Diary(bridge)
    events: list[Event] = [LearnedGrew(), ConversationsListed(())]
    bridge.tell(*events)
    assert diary.lines == events


@pytest.mark.usefixtures("qapp")
def test_a_request_tells_its_progress_and_its_answer_in_order_on_this_thread() -> None:
    bridge = FakeBridge()
    diary = Diary(bridge)
    request = bridge.ask(bridge.engine.hub.search, "tiny")
    request.progressed.connect(diary.hear)
    request.answered.connect(diary.hear)
    (asked,) = bridge.asked(bridge.engine.hub.search)
    assert asked.args == ("tiny",)
    assert bridge.is_at_work

    def carry_out() -> None:
        asked.progress(1)
        asked.progress(2)
        asked.request.future.set_result(3)

    other = threading.Thread(target=carry_out)
    other.start()
    other.join()
    assert diary.lines == []
    QCoreApplication.processEvents()
    assert diary.lines == [1, 2, 3]
    assert diary.threads == {QThread.currentThread()}
    assert not bridge.is_at_work


@pytest.mark.usefixtures("qapp")
def test_a_failure_is_told_once_and_in_the_window_only_where_nobody_listens() -> None:
    bridge = FakeBridge()
    diary = Diary(bridge)
    bridge.ask(bridge.engine.hub.search, "a")
    bridge.ask(bridge.engine.hub.search, "b").failed.connect(diary.hear)
    bridge.ask(bridge.engine.hub.search, "c").is_quiet = True
    for asked in bridge.all_asked:
        asked.fail(NotPossible("No."))
    assert diary.lines == ["No.", Failure("No.", NotPossible)]


@pytest.mark.usefixtures("qapp")
def test_what_is_dropped_is_stopped_and_tells_nothing() -> None:
    bridge = FakeBridge()
    diary = Diary(bridge)
    requests = [bridge.ask(bridge.engine.hub.search, "a") for _ in range(2)]
    for request, asked in zip(requests, bridge.all_asked, strict=True):
        request.answered.connect(diary.hear)
        request.drop()
        assert asked.request.signal.is_set()
    bridge.all_asked[0].answer(())
    bridge.all_asked[1].fail("No.")
    assert diary.lines == []
    assert not bridge.is_at_work


@pytest.mark.usefixtures("qapp")
def test_only_who_listens_to_a_fact_hears_it_until_it_is_deleted() -> None:
    bridge = FakeBridge()
    first, second = Diary(FakeBridge()), Diary(FakeBridge())
    bridge.listen(ConversationsListed, first.hear)
    bridge.listen(ConversationsListed, second.hear)
    bridge.tell(ConversationsListed(()), LearnedGrew())
    assert first.lines == second.lines == [ConversationsListed(())]
    delete(first)
    bridge.tell(ConversationsListed(()))
    assert (len(first.lines), len(second.lines)) == (1, 2)
