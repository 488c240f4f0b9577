"""Whose program is at the other end of a connection."""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from engine.server.peers import is_own, owner, tells_users

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")

ENDS = struct.pack("!HH16s16s", 50_000, 8642, b"\x7f\0\0\x01", b"\x7f\0\0\x01")


def told(ends: bytes = ENDS, user: int = 1000, inode: int = 77, kind: int = 20) -> bytes:
    """As the kernel lays it out: see `inet_diag_msg` in linux/inet_diag.h."""
    body = struct.pack("=BBBB", socket.AF_INET, 1, 0, 0) + ends + bytes(12) + struct.pack("=5I", 5, 6, 7, user, inode)
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 1, 0) + body


def test_the_owner_of_a_socket_is_read() -> None:
    assert owner(told(), ENDS) == 1000
    assert owner(told(user=0, inode=0), ENDS) is None  # closed
    assert owner(told(kind=2), ENDS) is None  # an error
    listening = struct.pack("!HH16s16s", 50_000, 0, b"\x7f\0\0\x01", b"")
    assert owner(told(listening), ENDS) is None  # another socket, which the kernel tells of once ours is gone
    with pytest.raises(struct.error):
        owner(told()[:60], ENDS)


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
    assert is_own(accepted.family, there, here)
    assert not is_own(accepted.family, (there[0], 1), here)
    client.shutdown(socket.SHUT_WR)
    assert is_own(accepted.family, there, here)
    user = os.getuid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: user + 1)
        assert not is_own(accepted.family, there, here)
    client.close()
    assert not is_own(accepted.family, there, here)


def test_whether_the_system_tells_is_tried_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tells_users()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not tells_users()
