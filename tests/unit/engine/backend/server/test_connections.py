"""Who holds the server's connections, over real ones; a few lines answer instead of the engine."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send

from engine.backend.server.serving import Server
from engine.values.serving import ServerLimits, ServerSettings
from tests.fakes.served import ANYWHERE
from tests.fakes.served_target import FakeServed

HEAD = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"
HALVES = (b"GET / HT", b"", b"POST /read HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
LONG = 16 << 20  # more than all buffers between two sockets hold
LIMITS = ServerLimits(connections=8, share=4)


@dataclass
class Engine:
    """Stands for all that is behind the guard."""

    is_asked: threading.Event = field(default_factory=threading.Event)
    is_reading: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b"x" * LONG if scope["path"] == "/long" else b"yes"
        if scope["path"] == "/read":
            self.is_reading.release()
            while (await receive()).get("more_body"):
                pass
        if scope["path"] == "/wait":
            self.is_asked.set()
            await self.go_on.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
        await send({"type": "http.response.body", "body": body})


Open = Callable[[ServerLimits], Server]


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def opened(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    monkeypatch.setattr("engine.backend.server.application.make_application", lambda *_: engine)
    with ExitStack() as stack:

        def opening(limits: ServerLimits) -> Server:
            server = Server(ServerSettings(port=ANYWHERE, limits=limits), tmp_path, FakeServed())
            stack.callback(server.close)
            server.open()
            return server

        yield opening


def connected(server: Server, sent: bytes = b"") -> socket.socket:
    host, _, port = server.address.removeprefix("http://").rpartition(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(60)
    connection.connect((host, int(port)))
    connection.sendall(sent)
    return connection


def is_answered(server: Server) -> bool:
    with closing(connected(server, HEAD % b"/")) as connection:
        return has_answer(connection)


def has_answer(connection: socket.socket) -> bool:
    found = b""
    while not found.endswith(b"yes") and (part := connection.recv(4096)):
        found += part
    return found.startswith(b"HTTP/1.1 200")


def rest_of(connection: socket.socket) -> bytes:
    """Until the server has ended it."""
    found = bytearray()
    with suppress(ConnectionResetError):  # it had sent what nobody read
        while part := connection.recv(1 << 20):
            found += part
    return bytes(found)


@pytest.mark.parametrize("sent", [*HALVES, HEAD % b"/", HEAD % b"/long"])
def test_whoever_holds_connections_keeps_nobody_out(opened: Open, engine: Engine, sent: bytes) -> None:
    server = opened(LIMITS)
    with ExitStack() as stack:
        held = []
        for _ in range(3 * LIMITS.connections):
            held.append(stack.enter_context(closing(connected(server, sent))))
            if sent.startswith(b"GET") and sent.endswith(b"\r\n\r\n"):  # whole: what is not answered yet makes no room
                assert held[-1].recv(1, socket.MSG_PEEK)
            if sent.startswith(b"POST"):  # else a later one, of which nothing was read yet, waits longer
                assert engine.is_reading.acquire(timeout=60)
        assert is_answered(server)
        first = rest_of(held[0])  # waited longest
        assert first == b"" or first.startswith(b"HTTP/1.1 200")
        assert len(first) < LONG


def test_what_is_being_answered_makes_no_room(opened: Open, engine: Engine) -> None:
    server = opened(LIMITS)
    with closing(connected(server, HEAD % b"/wait")) as asking, ExitStack() as stack:
        assert engine.is_asked.wait(60)
        for _ in range(3 * LIMITS.connections):
            stack.enter_context(closing(connected(server)))
        assert is_answered(server)
        assert server._loop is not None
        server._loop.call_soon_threadsafe(engine.go_on.set)
        assert has_answer(asking)


def test_where_all_are_being_answered_a_new_one_is_told_so(opened: Open, engine: Engine) -> None:
    server = opened(ServerLimits(connections=1))
    with closing(connected(server, HEAD % b"/wait")):
        assert engine.is_asked.wait(60)
        with closing(connected(server)) as late:
            assert rest_of(late).startswith(b"HTTP/1.1 503")


def test_others_have_a_share(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    server = opened(LIMITS)
    with ExitStack() as stack:
        own = [stack.enter_context(closing(connected(server, HEAD % b"/"))) for _ in range(4)]
        assert all(map(has_answer, own))
        monkeypatch.setattr("engine.backend.server.connections.own_socket", lambda *_: 0)
        others = [stack.enter_context(closing(connected(server))) for _ in range(10)]
        assert [rest_of(each) for each in others[:6]] == [b""] * 6
        for each in own:
            each.sendall(HEAD % b"/")
        assert all(map(has_answer, own))


@pytest.mark.parametrize(
    ("sent", "limits"),
    [
        (HALVES[0], ServerLimits(head_s=0.05)),
        (HALVES[1], ServerLimits(head_s=0.05)),
        (HEAD % b"/" + HALVES[0], ServerLimits(head_s=0.05)),
        (HEAD % b"/", ServerLimits(next_s=0.05)),
        (HEAD % b"/long", ServerLimits(reading_s=0.05)),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n", ServerLimits(head_s=0.05)),
    ],
)
def test_each_step_of_a_program_has_its_time(opened: Open, sent: bytes, limits: ServerLimits) -> None:
    server = opened(limits)
    with closing(connected(server, sent)) as connection:
        if sent.startswith(HEAD % b"/long"):
            connections = server._connections
            assert connections is not None
            while not connections._connections:
                pass
            while connections._connections:  # it is ended by itself, before anything is read here
                pass
        assert len(rest_of(connection)) < LONG


@pytest.mark.parametrize("sent", [*HALVES, HEAD % b"/", HEAD % b"/long"])
def test_stop_ends_them_all(opened: Open, sent: bytes) -> None:
    server = opened(ServerLimits())
    with ExitStack() as stack:
        held = [stack.enter_context(closing(connected(server, sent))) for _ in range(4)]
        assert is_answered(server)
        server.close()
        thread = server._thread
        assert thread is not None
        thread.join(60)
        assert not thread.is_alive()
        assert all(len(rest_of(each)) < LONG for each in held)
