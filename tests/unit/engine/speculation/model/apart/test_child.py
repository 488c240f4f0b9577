"""What may end the process that tries it is tried in another one. These import little: each child imports it again."""

from __future__ import annotations

import mmap
import os
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from engine.speculation.model.apart import child
from engine.speculation.model.apart.child import Child, ChildEnded, Limits, ask_child
from engine.values.errors import Cancelled


def never() -> bool:
    return False


def _dies(*_arguments: object) -> str:
    os.abort()


def _hangs(*_arguments: object) -> str:
    threading.Event().wait()
    return ""


def test_a_child_that_dies_or_hangs_is_no_answer() -> None:
    assert ask_child(_dies, (), never) is None
    assert ask_child(_hangs, (), never, Limits(wall_s=0.01)) is None
    with pytest.raises(Cancelled):
        ask_child(_hangs, (), lambda: True)


def _begins_an_answer(*_arguments: object) -> str:
    for file in range(3, 20):
        with suppress(OSError):
            os.write(file, struct.pack("!i", 100))
    return _hangs()


@pytest.mark.skipif(sys.platform == "win32", reason="its pipes have messages")
def test_a_child_that_begins_an_answer_and_does_not_end_it_is_not_waited_for() -> None:
    assert ask_child(_begins_an_answer, (), never, Limits(wall_s=0.5)) is None


def _silent(pipe: Connection) -> None:
    pipe.recv_bytes()
    _hangs()


def test_one_that_is_asked_for_long_is_given_up_when_nobody_wants_to_know_any_more() -> None:
    silent = Child(_silent, (), Limits())
    with pytest.raises(Cancelled):
        silent.ask(b"?", 60.0, lambda: True)
    assert silent.has_ended
    with pytest.raises(ChildEnded):
        silent.ask(b"?", 60.0)


def _begins_to_answer(_pipe: Connection) -> None:
    _begins_an_answer()


def _reads_nothing(_pipe: Connection) -> None:
    _hangs()


@pytest.mark.parametrize("serve", [_begins_to_answer, _reads_nothing])
def test_one_that_leaves_a_question_or_its_answer_half_done_is_given_up(
    serve: Callable[[Connection], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    large = bytes(4 << 20)  # more than a pipe holds
    stopped = Child(serve, (), Limits())
    with pytest.raises(Cancelled):
        stopped.ask(large, 60.0, lambda: True)
    assert stopped.has_ended
    monkeypatch.setattr(child, "_PATIENCE", 1)
    slow = Child(serve, (), Limits())
    with pytest.raises(ChildEnded):
        slow.ask(large, 0.5)
    assert slow.has_ended


def _keeps(num_bytes: int) -> str:
    return str(len(bytearray(num_bytes)))


def _computes() -> str:
    while True:
        pass


def _maps(file: Path) -> str:
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return str(sum(mapped[:: 1 << 12]))


def test_a_child_dies_at_its_limits_and_mapped_files_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = Limits(memory_bytes=64 << 20)
    assert ask_child(_keeps, (16 << 20,), never, small) == str(16 << 20)
    assert ask_child(_keeps, (256 << 20,), never, small) is None
    file = tmp_path / "weights"
    with file.open("wb") as opened:
        opened.truncate(512 << 20)
    assert ask_child(_maps, (file,), never, small) == "0"
    monkeypatch.setattr(child, "_START_S", 0.5)
    assert ask_child(_computes, (), never, Limits(processor_s=0.0)) is None
