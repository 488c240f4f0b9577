from __future__ import annotations

import logging
import threading
import time

import pytest

from engine.backend.worker import Worker
from engine.values.commands import Command
from engine.values.errors import NotPossible, ServerNotAgreed
from engine.values.events import ConversationsListed, Failed, Finished
from engine.values.stop_signal import StopSignal
from tests.fakes.commands import ListThings, OpenThing
from tests.fakes.listener import EventQueue


def close(worker: Worker, timeout_s: float) -> bool:
    worker.end()
    return worker.join(timeout_s)


def test_commands_are_carried_out_in_order_on_another_thread() -> None:
    events = EventQueue()
    carried_out: list[tuple[Command, str]] = []

    def handle(command: Command, _stop: StopSignal) -> None:
        carried_out.append((command, threading.current_thread().name))
        if command == OpenThing(2):
            events(ConversationsListed(()))

    worker = Worker("busy", handle, events)
    worker.start()
    for number in range(3):
        worker.post(OpenThing(number))
    events.wait_for(ConversationsListed)
    assert carried_out == [(OpenThing(number), "busy") for number in range(3)]
    assert close(worker, 2.0)


def test_a_failure_says_whether_it_was_wanted_to_end_and_a_kind_can_be_ended_alone() -> None:
    events, begun = EventQueue(), threading.Event()

    def handle(command: Command, stop: StopSignal) -> None:
        if isinstance(command, OpenThing):
            begun.set()
            while not stop.is_set():
                time.sleep(0.001)
            raise NotPossible("It was ended.")

    worker = Worker("busy", handle, events)
    worker.start()
    other = worker.post(ListThings())
    worker.post(OpenThing(1))
    waiting = worker.post(OpenThing(2))
    assert begun.wait(10)
    worker.stop(OpenThing)
    assert waiting.is_set()
    assert not other.is_set()
    assert events.wait_for(Failed) == Failed("It was ended.", OpenThing(1), is_stopped=True)
    assert Finished(OpenThing(2)) in events.seen, "it did not begin"
    assert close(worker, 2.0)


def test_a_failure_becomes_a_sentence_and_the_next_command_is_carried_out(caplog: pytest.LogCaptureFixture) -> None:
    events = EventQueue()

    def handle(command: Command, _stop: StopSignal) -> None:
        if command == OpenThing(1):
            raise NotPossible("No model is loaded; choose one.")
        if command == OpenThing(2):
            raise ZeroDivisionError("secret internals")
        events(ConversationsListed(()))

    worker = Worker("busy", handle, events)
    worker.start()
    with caplog.at_level(logging.ERROR, "slipstream.worker"):
        worker.post(OpenThing(1))
        worker.post(OpenThing(2))
        worker.post(ListThings())
        assert events.wait_for(Failed) == Failed("No model is loaded; choose one.", OpenThing(1))
        bug = events.wait_for(Failed)
        events.wait_for(ConversationsListed)
    assert "Something went wrong inside Slipstream (ZeroDivisionError" in bug.sentence
    assert bug.command == OpenThing(2)
    assert "OpenThing'> failed" in caplog.text, "a bug of ours leaves its traceback in the log"
    assert close(worker, 2.0)


def test_every_command_ends_with_one_event_after_its_own() -> None:
    events = EventQueue()

    def handle(command: Command, _stop: StopSignal) -> None:
        events(ConversationsListed(()))
        if command == OpenThing(1):
            raise NotPossible("No model is loaded; choose one.")

    worker = Worker("busy", handle, events)
    worker.start()
    for command in (ListThings(), OpenThing(1), OpenThing(2)):
        worker.post(command)
    while len(events.seen) < 6:
        events.wait_for(object)
    assert events.seen == [
        ConversationsListed(()),
        Finished(ListThings()),
        ConversationsListed(()),
        Failed("No model is loaded; choose one.", OpenThing(1)),
        ConversationsListed(()),
        Finished(OpenThing(2)),
    ]
    assert close(worker, 2.0)


def test_closing_stops_what_runs_and_drops_what_waits() -> None:
    started = threading.Event()
    ended: list[str] = []

    def handle(command: Command, stop: StopSignal) -> None:
        started.set()
        while not stop.is_set():
            time.sleep(0.001)
        ended.append(str(command))

    worker = Worker("busy", handle, EventQueue(), on_end=lambda: ended.append("closed"))
    worker.start()
    worker.post(OpenThing(1))
    worker.post(OpenThing(2))
    assert started.wait(10)
    assert close(worker, 2.0)
    assert ended == [str(OpenThing(1)), "closed"]
    assert worker.post(OpenThing(3)).is_set(), "after closing, nothing is taken any more"


def test_a_command_that_is_stopped_before_it_begins_ends_at_once() -> None:
    release = threading.Event()
    events = EventQueue()
    carried_out: list[Command] = []

    def handle(command: Command, _stop: StopSignal) -> None:
        assert release.wait(10)
        carried_out.append(command)

    worker = Worker("busy", handle, events)
    worker.start()
    worker.post(OpenThing(1))
    worker.post(OpenThing(2)).set()
    assert events.wait_for(Finished) == Finished(OpenThing(2))
    release.set()
    events.wait_for(Finished)
    assert close(worker, 2.0)
    assert carried_out == [OpenThing(1)]


def test_closing_says_when_the_thread_does_not_end() -> None:
    started, release = threading.Event(), threading.Event()

    def handle(_command: Command, _stop: StopSignal) -> None:
        started.set()
        release.wait(10)

    worker = Worker("busy", handle, EventQueue())
    worker.start()
    worker.post(ListThings())
    assert started.wait(10)
    assert not close(worker, 0.05)
    release.set()
    assert close(worker, 2.0)


def test_what_is_owed_is_carried_out_also_at_the_end() -> None:
    began, go_on = threading.Event(), threading.Event()
    carried_out: list[Command] = []

    def handle(command: Command, _stop: StopSignal) -> None:
        began.set()
        assert go_on.wait(10)
        carried_out.append(command)

    worker = Worker("busy", handle, EventQueue(), is_owed=lambda command: command == OpenThing(3))
    worker.start()
    for number in (1, 2, 3):
        worker.post(OpenThing(number))
    assert began.wait(10)
    worker.end()
    go_on.set()
    assert worker.join(10)
    assert carried_out == [OpenThing(1), OpenThing(3)]


def test_what_is_carried_out_inside_another_command_is_dropped_at_the_end_like_the_rest() -> None:
    began, go_on = threading.Event(), threading.Event()
    carried_out: list[Command] = []

    def handle(command: Command, _stop: StopSignal) -> None:
        carried_out.append(command)
        if command == OpenThing(1):
            worker.carry_out_now(next(iter(worker.waiting)))
            began.set()
            assert go_on.wait(10)
            for stop in worker.waiting:
                worker.carry_out_now(stop)

    worker = Worker("busy", handle, EventQueue(), is_owed=lambda command: command == OpenThing(4))
    for number in (1, 2, 3, 4):
        worker.post(OpenThing(number))
    worker.start()
    assert began.wait(10)
    worker.end()
    go_on.set()
    assert worker.join(10)
    assert carried_out == [OpenThing(1), OpenThing(2), OpenThing(4)]


def test_a_place_that_the_user_has_not_agreed_to_is_told_as_such() -> None:
    events = EventQueue()

    def handle(_command: Command, _stop: StopSignal) -> None:
        raise ServerNotAgreed("Agree first.")

    worker = Worker("busy", handle, events)
    worker.start()
    worker.post(ListThings())
    assert events.wait_for(Failed) == Failed("Agree first.", ListThings(), is_not_agreed=True)
    assert close(worker, 2.0)
