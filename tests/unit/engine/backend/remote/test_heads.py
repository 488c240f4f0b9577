"""A server that announces an answer again and again."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from engine.backend.remote.connection import ConnectionLimits, ServerConnection
from engine.backend.remote.failures import Stopped
from engine.values.errors import RemoteFailed
from engine.values.stop_signal import StopSignal

_ANNOUNCED = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
_LIMITS = ConnectionLimits(answer_s=60.0, first_s=60.0)


class Announcer:
    """Sends this many announcements, each time so many at once, and then an answer; None: no end."""

    def __init__(self, number: int | None) -> None:
        self.number = number
        self.num_bytes = 0
        self.is_asked = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with suppress(OSError):
            talk, _ = self._listening.accept()
            with talk:
                talk.recv(65_536)
                while self.number is None or self.number > 0:
                    talk.sendall(_ANNOUNCED * 100)
                    self.num_bytes += 100 * len(_ANNOUNCED)
                    self.number = None if self.number is None else self.number - 100
                    self.is_asked.set()
                talk.sendall(_ANSWER)

    def close(self) -> None:
        self._listening.close()
        self._thread.join(10)


@pytest.fixture
def endless() -> Iterator[Announcer]:
    server = Announcer(None)
    yield server
    server.close()


def _look(connection: ServerConnection) -> None:
    connection.get("/models", StopSignal())


def _begin_reply(connection: ServerConnection) -> None:
    with connection.stream("/chat/completions", {}, StopSignal()):
        raise AssertionError("there is no reply")


@pytest.mark.parametrize("method", ["get", "stream"])
def test_announcements_without_end_are_refused(endless: Announcer, method: str) -> None:
    connection = ServerConnection(endless.address, limits=_LIMITS)
    ask = _begin_reply if method == "stream" else _look
    with pytest.raises(RemoteFailed, match="sends more than a reply can be"):
        ask(connection)
    endless.close()
    assert endless.num_bytes < 32 << 20, "and not read on"


def test_stop_ends_them_too(endless: Announcer) -> None:
    stop = StopSignal()
    connection = ServerConnection(endless.address, limits=_LIMITS)

    def stop_it() -> None:
        endless.is_asked.wait(10)
        stop.set()

    threading.Thread(target=stop_it).start()
    with pytest.raises((Stopped, RemoteFailed)):
        connection.get("/models", stop)


def test_a_few_announcements_are_passed_over() -> None:
    server = Announcer(300)
    assert ServerConnection(server.address, limits=_LIMITS).get("/models", StopSignal()).json == {}
    server.close()
