"""Whose program is at the other end of a connection."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from subprocess import PIPE

import pytest

from engine.backend.server.peers import Programs, holder, own_socket, tells_users

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")

ENDS = struct.pack("!HH16s16s", 50_000, 8642, b"\x7f\0\0\x01", b"\x7f\0\0\x01")
NOBODY = (None, 0)


def told(ends: bytes = ENDS, user: int = 1000, inode: int = 77, kind: int = 20) -> bytes:
    """As the kernel lays it out: see `inet_diag_msg` in linux/inet_diag.h."""
    body = struct.pack("=BBBB", socket.AF_INET, 1, 0, 0) + ends + bytes(12) + struct.pack("=5I", 5, 6, 7, user, inode)
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 1, 0) + body


def test_the_owner_of_a_socket_is_read() -> None:
    assert holder(told(), ENDS) == (1000, 77)
    assert holder(told(user=0, inode=0), ENDS) == NOBODY  # closed
    assert holder(told(kind=2), ENDS) == NOBODY  # an error
    listening = struct.pack("!HH16s16s", 50_000, 0, b"\x7f\0\0\x01", b"")
    assert holder(told(listening), ENDS) == NOBODY  # another socket, which the kernel tells of once ours is gone
    with pytest.raises(struct.error):
        holder(told()[:60], ENDS)


@pytest.fixture(params=["127.0.0.1", "::1"])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket]]:
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    try:
        server = socket.create_server((request.param, 0), family=family)
    except OSError:
        pytest.skip(f"{request.param} is not here")
    with closing(server), closing(socket.create_connection(server.getsockname()[:2])) as client:
        accepted, _ = server.accept()
        with accepted:
            yield client, accepted


def test_the_other_end_of_a_connection_is_known_until_it_is_closed(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, accepted = ends
    there, here = client.getsockname(), accepted.getsockname()
    assert own_socket(accepted.family, there, here)
    assert not own_socket(accepted.family, (there[0], 1), here)
    client.shutdown(socket.SHUT_WR)
    assert own_socket(accepted.family, there, here)
    user = os.getuid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: user + 1)
        assert not own_socket(accepted.family, there, here)
    client.close()
    assert not own_socket(accepted.family, there, here)


def test_a_program_is_known_again_on_another_connection(ends: tuple[socket.socket, socket.socket]) -> None:
    client, accepted = ends
    programs = Programs()

    def program() -> str:
        return programs.of(own_socket(accepted.family, client.getsockname(), accepted.getsockname()))

    own = program()
    assert own.split()[0] == str(os.getpid())
    with socket.create_connection(client.getpeername()[:2]) as other:
        assert programs.of(os.fstat(other.fileno()).st_ino) == own
    code = (
        "import socket, sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2])));"
        "import os; print(os.fstat(s.fileno()).st_ino, flush=True); sys.stdin.read()"
    )
    where = [str(each) for each in client.getpeername()[:2]]
    with subprocess.Popen([sys.executable, "-c", code, *where], stdin=PIPE, stdout=PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        inode = int(child.stdout.readline())
        assert programs.of(inode).split()[0] == str(child.pid)
        assert program() == own
        child.stdin.close()
    assert programs.of(inode) == ""


def test_whether_the_system_tells_is_tried_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tells_users()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not tells_users()
