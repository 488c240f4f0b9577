"""What becomes of a request: with one thread of an engine, without any, and with the real one."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from PySide6.QtCore import QCoreApplication, QObject, QThread, Slot
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from app.engine_bridge import EngineBridge, Request
from engine import Engine, EngineConfig
from engine.backend.worker import Worker
from engine.values.errors import NotPossible
from engine.values.events import ConversationsListed, Event, LearnedGrew, Listener
from engine.values.prompts import TokenCount
from engine.values.requests import Call, Failure, door_to, ignore
from engine.values.requests import Request as Asked
from tests.fakes.bridge import FakeBridge


class Diary(QObject):
    """Writes down what it hears, and where."""

    def __init__(self, bridge: EngineBridge) -> None:
        super().__init__()
        self.lines: list[object] = []
        self.threads: set[QThread] = set()
        bridge.listen(Event, self.hear)
        bridge.unhandled.connect(self.hear)

    @Slot(object)
    def hear(self, said: object) -> None:
        self.lines.append(said)
        self.threads.add(QThread.currentThread())

    def follow(self, request: Request[Any], name: str) -> None:
        request.progressed.connect(lambda progress: self.hear(f"{name}: {progress}"))
        request.answered.connect(lambda answer: self.hear(f"{name} answered {answer}"))
        request.failed.connect(lambda failed: self.hear(f"{name}: {failed.sentence}"))


class Things:
    """A service that lists, and fails to open."""

    def __init__(self, emit: Listener, go_on: threading.Event) -> None:
        self._emit = emit
        self._go_on = go_on

    def list(self, progress: Callable[[int], object] = ignore) -> int:
        assert self._go_on.wait(10)
        self._emit(ConversationsListed(()))
        progress(1)
        return 2

    def open(self) -> None:
        assert self._go_on.wait(10)
        raise NotPossible("There is no such chat.")


class OneThread:
    """An engine with one service."""

    def __init__(self, listener: Listener) -> None:
        self.go_on = threading.Event()
        self.go_on.set()
        service = Things(listener, self.go_on)
        self.things: Things = door_to("engine", lambda: service)
        self._worker = Worker("engine")
        self._worker.start()

    def begin(self, method: Any, args: Any, kwargs: Any, progress: Callable[[Any], object]) -> Asked[Any]:
        request = Asked[Any](self._worker.signal())
        self._worker.post(Call(method, args, kwargs, request, progress))
        return request

    def close(self) -> bool:
        self.go_on.set()
        self._worker.end()
        return self._worker.join(5)


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


def test_a_request_ends_after_all_that_was_told_on_the_interface_thread(qtbot: QtBot, make: Make) -> None:
    bridge, engine, diary = make()
    for name, method in (("list", engine.things.list), ("open", engine.things.open), ("again", engine.things.list)):
        diary.follow(bridge.ask(method), name)
    qtbot.waitUntil(lambda: "again answered 2" in diary.lines)
    assert diary.lines == [
        *(ConversationsListed(()), "list: 1", "list answered 2", "open: There is no such chat."),
        *(ConversationsListed(()), "again: 1", "again answered 2"),
    ]
    assert diary.threads == {QCoreApplication.instance().thread()}  # type: ignore[union-attr]


def test_a_request_is_stopped_before_it_begins(qtbot: QtBot, make: Make) -> None:
    bridge, engine, diary = make()
    engine.go_on.clear()
    first, second = bridge.ask(engine.things.open), bridge.ask(engine.things.open)
    diary.follow(second, "second")
    second.stop()
    assert (first.is_stopped, second.is_stopped) == (False, True)
    qtbot.waitUntil(lambda: "second: This was stopped before it began." in diary.lines)
    engine.go_on.set()


def test_nothing_is_heard_of_a_bridge_that_is_closed(make: Make) -> None:
    bridge, engine, diary = make()
    engine.go_on.clear()
    for method in (engine.things.list, engine.things.open, engine.things.list):
        diary.follow(bridge.ask(method), "request")
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
