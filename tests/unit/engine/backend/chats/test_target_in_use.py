"""Counting tokens beside a reply, and while a target is being closed; targets that the program did not survive. How
targets are loaded is in `test_chat_service.py`."""

from __future__ import annotations

import threading

import pytest

from engine.speculation.model.files.suspects import Suspects
from engine.values.errors import TargetSuspect
from engine.values.orders import Send
from engine.values.targets import LoadOrder
from tests.fakes.target import FakeTarget, says
from tests.unit.engine.backend.chats.test_chat_service import GREEDY, Desk


def load(desk: Desk, target: FakeTarget) -> None:
    desk.load(LoadOrder(desk.add("fake", target)))


def test_it_counts_as_the_target_in_use_reads(desk: Desk) -> None:
    assert desk.target.count_tokens("the ") is None
    assert not desk.target.is_loaded
    load(desk, FakeTarget())
    assert desk.target.is_loaded
    assert desk.target.count_tokens("the end") == 4
    assert desk.target.count_tokens("") == 0
    load(desk, FakeTarget(more_pieces=(b"the end",)))
    assert desk.target.count_tokens("the end") == 1
    desk.target.close()
    assert desk.target.count_tokens("the end") is None


def test_a_text_that_cannot_fit_is_not_even_tokenized(desk: Desk) -> None:
    load(desk, FakeTarget(context_size=4))
    assert desk.target.count_tokens("x" * 64) == 64
    assert desk.target.count_tokens("x" * 65) is None
    assert desk.target.count_tokens("€" * 22) is None


def test_a_target_is_not_closed_in_the_middle_of_counting(desk: Desk) -> None:
    began, go_on = threading.Event(), threading.Event()

    class SlowTarget(FakeTarget):
        def tokenize(self, text: str) -> list[int]:
            began.set()
            assert go_on.wait(10)
            assert not self.closed
            return super().tokenize(text)

    target = SlowTarget()
    load(desk, target)
    counted: list[int | None] = []
    counting = threading.Thread(target=lambda: counted.append(desk.target.count_tokens("abc")))
    counting.start()
    assert began.wait(10)
    closing = threading.Thread(target=desk.target.close)
    closing.start()
    go_on.set()
    counting.join(10)
    closing.join(10)
    assert counted == [3]
    assert target.closed


def test_a_mark_is_left_while_a_target_is_loaded_and_writes_its_first_reply(desk: Desk) -> None:
    folder = desk.repository.data_dir / "suspects"
    seen: list[int] = []

    def look() -> None:
        seen.append(len(list(folder.iterdir())))

    class Watching(FakeTarget):
        def tokenize(self, text: str) -> list[int]:
            look()
            return super().tokenize(text)

    desk.on_load = look
    load(desk, Watching(says("Hello.")))
    assert seen == [1]
    assert not list(folder.iterdir())
    for is_first in (True, False):
        seen.clear()
        desk.do(Send("Hi", None, GREEDY))
        assert set(seen) == {int(is_first)}
        assert not list(folder.iterdir())


def test_a_target_that_the_program_did_not_survive_is_opened_only_if_somebody_asks(desk: Desk) -> None:
    path = desk.add("fake", FakeTarget())
    desk.load(LoadOrder(path, by_itself=True))
    desk.load(LoadOrder(path, by_itself=True))
    assert desk.trusted["fake"], "it was loaded before"
    identity = desk.target.loaded.identity
    with Suspects(desk.repository.data_dir).watched(identity):  # as a process that ends leaves it behind
        with pytest.raises(TargetSuspect, match="while fake was loading or writing its first reply; open it again"):
            desk.load(LoadOrder(path, by_itself=True))
        desk.trusted.clear()
        desk.load(LoadOrder(path))
        assert not desk.trusted["fake"], "it gets its first look once more"
    desk.load(LoadOrder(path, by_itself=True))
    assert desk.trusted["fake"]


def test_a_mark_stays_as_long_as_any_thread_tries_the_target_and_none_longer_than_the_app(desk: Desk) -> None:
    suspects, folder = Suspects(desk.repository.data_dir), desk.repository.data_dir / "suspects"
    with suspects.watched("sha256:1"):
        with suspects.watched("sha256:1"), suspects.watched("sha256:2"):
            assert len(list(folder.iterdir())) == 2
        assert [mark.name for mark in folder.iterdir()] == ["1"]
        assert not suspects.holds("sha256:1"), "this process has survived it so far"
        assert Suspects(desk.repository.data_dir).holds("sha256:1")
        suspects.acquit()
        with suspects.watched("sha256:2"):
            assert not list(folder.iterdir()), "a thread that goes on while the app closes"
    assert not list(folder.iterdir())


def test_what_the_target_before_took_goes_back_to_the_system(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[bool] = []
    first = FakeTarget()
    load(desk, first)
    monkeypatch.setattr("engine.backend.chats.target_in_use.return_free_memory", lambda: closed.append(first.closed))
    load(desk, FakeTarget())
    assert closed == [True]
