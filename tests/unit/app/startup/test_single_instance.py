"""One window for one data folder: who has the lock, what is handed over, and who may say what on the socket."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.startup.instance_lock import InstanceLock, LockUnusable
from app.startup.open_request import MOST_BYTES, CannotOpenFile, OpenRequest
from app.startup.single_instance import InstanceSilent, OpenRequests, hand_over

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sockets with names, and their permissions")
_HOLD = """
import sys, time
from pathlib import Path
from app.startup.instance_lock import InstanceLock
lock = InstanceLock(Path(sys.argv[1]))
assert lock.take()
lock.publish(sys.argv[2])
print("taken", flush=True)
time.sleep(60)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """With a name as short as those of users."""
    with tempfile.TemporaryDirectory(prefix="desk-") as folder:
        yield Path(folder) / "data"


@pytest.fixture
def first(folder: Path, qtbot: QtBot) -> Iterator[OpenRequests]:  # noqa: ARG001
    lock = InstanceLock(folder)
    assert lock.take()
    requests = OpenRequests(lock, folder)
    yield requests
    requests.close()
    requests.deleteLater()
    lock.close()


@pytest.fixture
def hold(folder: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Another process that has the lock and is deaf."""
    running: list[subprocess.Popen[str]] = []

    def begin(address: str = "") -> subprocess.Popen[str]:
        command = [sys.executable, "-c", _HOLD, str(folder), address]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        assert running[-1].stdout is not None
        assert running[-1].stdout.readline() == "taken\n"
        return running[-1]

    yield begin
    for process in running:
        process.kill()
        process.communicate()


class Peer(threading.Thread):
    """Somebody who says one line on a socket; `answer` is what comes back."""

    def __init__(self, address: str, line: bytes) -> None:
        super().__init__()
        self._address = address
        self._line = line
        self.answer = b""
        self.start()

    def run(self) -> None:
        with socket.socket(socket.AF_UNIX) as peer, contextlib.suppress(OSError):
            peer.connect(self._address)
            peer.sendall(self._line)
            self.answer = peer.recv(10)


def is_heard(qtbot: QtBot, requests: OpenRequests, address: str, request: OpenRequest) -> bool:
    with qtbot.waitSignal(requests.asked) as asked:
        peer = Peer(address, request.to_bytes())
    qtbot.waitUntil(lambda: not peer.is_alive())
    return asked.args == [request] and peer.answer == b"ok\n"


def test_a_further_start_is_heard_and_answered(qtbot: QtBot, first: OpenRequests, folder: Path) -> None:
    request = OpenRequest((Path("/models/große Datei.gguf"), Path("/tmp/\udcff.txt")), "token-1")
    assert is_heard(qtbot, first, InstanceLock(folder).address(), request)


def test_whoever_asks_while_it_closes_is_turned_away(qtbot: QtBot, first: OpenRequests, folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(folder / "running.sock"))
        qtbot.waitUntil(lambda: len(first._peers) == 1)
        peer.sendall(OpenRequest().to_bytes())  # lies there unread
        first.close()
        with qtbot.assertNotEmitted(first.asked):
            qtbot.waitUntil(lambda: not first._peers)
        with contextlib.suppress(ConnectionResetError):
            assert peer.recv(10) == b""


def test_only_this_user_can_reach_it(first: OpenRequests, folder: Path) -> None:
    assert first.parent() is None
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "running.sock").stat().st_mode) & 0o077 == 0
    assert stat.S_IMODE((folder / "running.lock").stat().st_mode) == 0o600


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_no_other_file_is_emptied_through_the_lock(folder: Path, link: Callable[[Path, Path], None]) -> None:
    folder.mkdir()
    letter = folder / "letter.txt"
    letter.write_text("Dear Ada")
    link(folder / "running.lock", letter)
    with pytest.raises(LockUnusable, match="delete it, and start Slipstream again"):
        InstanceLock(folder).take()
    assert letter.read_text() == "Dear Ada"


def test_a_pipe_in_place_of_the_lock_keeps_nobody_waiting(folder: Path) -> None:
    folder.mkdir()
    os.mkfifo(folder / "running.lock")
    assert InstanceLock(folder).address() == ""
    with pytest.raises(LockUnusable):
        InstanceLock(folder).take()


def test_a_folder_with_a_long_name_has_its_socket_elsewhere(qtbot: QtBot, tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40)
    lock = InstanceLock(folder)
    assert lock.take()
    requests = OpenRequests(lock, folder)
    place = Path(lock.address())
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    assert is_heard(qtbot, requests, lock.address(), OpenRequest())
    requests.close()
    lock.close()
    assert not place.parent.exists()


def test_what_a_killed_process_left_behind_is_in_nobodys_way(
    qtbot: QtBot, folder: Path, hold: Callable[[str], subprocess.Popen[str]]
) -> None:
    folder.mkdir()
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(folder / "running.sock"))
    stale.close()
    process = hold(str(folder / "running.sock"))
    assert not InstanceLock(folder).take()
    process.kill()
    process.wait()
    lock = InstanceLock(folder)
    assert hand_over(lock, folder, OpenRequest()) is False, "it is ours now"
    requests = OpenRequests(lock, folder)
    assert lock.address() == str(folder / "running.sock")
    assert is_heard(qtbot, requests, lock.address(), OpenRequest())
    requests.close()
    lock.close()


def test_one_that_hangs_is_told_of_in_a_sentence(folder: Path, hold: Callable[[str], subprocess.Popen[str]]) -> None:
    folder.mkdir()
    deaf = socket.socket(socket.AF_UNIX)
    deaf.bind(str(folder / "running.sock"))
    deaf.listen()
    hold(str(folder / "running.sock"))
    with pytest.raises(InstanceSilent, match=r"is open already with the chats in .*, but does not answer"):
        hand_over(InstanceLock(folder), folder, OpenRequest(), answer_s=0.2)
    deaf.close()
    with pytest.raises(InstanceSilent):
        hand_over(InstanceLock(folder), folder, OpenRequest(), starting_s=0.2)


def test_another_folder_is_another_instance(first: OpenRequests, tmp_path: Path) -> None:
    assert first.parent() is None
    other = InstanceLock(tmp_path / "portable")
    assert other.take()
    other.close()


def test_a_folder_that_cannot_be_locked_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    lock = InstanceLock(tmp_path / "file" / "data")
    assert lock.take()
    lock.publish("nobody hears it")
    assert lock.address() == ""
    lock.close()


GOOD = {"version": 1, "files": ["/a.gguf"], "token": ""}


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xff\xfe",
        b"[1, 2]",
        b"[" * 100_000,
        json.dumps(GOOD | {"version": 2}).encode(),
        json.dumps(GOOD | {"files": ["relative.gguf"]}).encode(),
        json.dumps(GOOD | {"files": ["/a\0b"]}).encode(),
        json.dumps(GOOD | {"files": ["/" + "a" * 10_000]}).encode(),
        json.dumps(GOOD | {"files": "/a.gguf"}).encode(),
        json.dumps(GOOD | {"files": [7]}).encode(),
        json.dumps(GOOD | {"files": ["/a"] * 101}).encode(),
        json.dumps(GOOD | {"token": "\n"}).encode(),
        json.dumps(GOOD | {"token": 7}).encode(),
        json.dumps(GOOD | {"token": "x" * 600}).encode(),
        b"x" * (MOST_BYTES + 10),
    ],
)
def test_whoever_talks_nonsense_is_not_heard(qtbot: QtBot, first: OpenRequests, folder: Path, line: bytes) -> None:
    heard: list[object] = []
    first.asked.connect(heard.append)
    peer = Peer(str(folder / "running.sock"), line + b"\n")
    qtbot.waitUntil(lambda: not peer.is_alive())
    assert peer.answer == b""
    assert heard == []


def test_many_silent_peers_do_not_pile_up(qtbot: QtBot, first: OpenRequests, folder: Path) -> None:
    peers = [socket.socket(socket.AF_UNIX) for _ in range(20)]
    for peer in peers:
        peer.connect(str(folder / "running.sock"))
    qtbot.waitUntil(lambda: len(first._peers) == 8)
    for peer in peers:
        peer.close()
    qtbot.waitUntil(lambda: not first._peers)
    assert is_heard(qtbot, first, str(folder / "running.sock"), OpenRequest())


def test_a_request_names_whole_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_ACTIVATION_TOKEN", "abc")
    Path("a.gguf").write_text("")
    request = OpenRequest.of([Path("a.gguf")])
    assert request == OpenRequest((tmp_path / "a.gguf",), "abc")
    assert OpenRequest.from_bytes(request.to_bytes()) == request


@pytest.mark.parametrize("name", ["b.gguf", "x" * 5000])
def test_a_file_that_is_not_there_is_told_of(name: str) -> None:
    with pytest.raises(CannotOpenFile, match="There is no file"):
        OpenRequest.of([Path(name)])
