"""Whose program is at the other end of a connection within this machine.

Linux tells for one connection who owns the socket at either end of it (`sock_diag(7)`). That takes as long on a machine
with thousands of connections as on a quiet one, and needs no rights. Other systems tell it to administrators alone, or
not of one moment (decision 56): there, nobody counts as the own user.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

IS_OWN = "is_own"  # in the state of each request: whether a program of this user asks, on this machine

_SOCK_DIAG = 4  # of netlink
_BY_FAMILY, _REQUEST, _NUMBER = 20, 1, 1
_HEAD = struct.Struct("=IHHII")  # length, type, flags, number and port of a message of netlink
_ASKED = struct.Struct("=BBBBI")  # family, protocol, extensions, padding and wanted states, before the ends
_ENDS = struct.Struct("!HH16s16s")  # ports and addresses: first those of the end that is asked about
_REST = struct.Struct("=III")  # an interface, and no cookie
_TOLD = struct.Struct("=4x36s12x12xII")  # the ends, the user and the inode of the socket
_ANY = 0xFFFFFFFF
_OVERFLOW = Path("/proc/sys/kernel/overflowuid")  # stands for every user whom this process cannot name

Address = tuple[Any, ...]  # as sockets tell it


def tells_users() -> bool:
    """Tried out, with a connection to itself."""
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as server,
        closing(socket.create_connection(server.getsockname())) as client,
    ):
        accepted, _ = server.accept()
        with accepted:
            return is_own(accepted.family, client.getsockname(), accepted.getsockname())


def is_own(family: int, there: Address, here: Address) -> bool:
    """Whether the socket at `there`, which is connected to the one at `here`, belongs to the user of this process.
    False where that is not known, also because it is closed by now."""
    if sys.platform != "linux":
        return False
    try:
        ends = _ends(family, there, here)
        user = owner(_told(family, ends), ends)
        return user == os.getuid() != int(_OVERFLOW.read_text())
    except (OSError, ValueError, struct.error):
        return False


def _ends(family: int, there: Address, here: Address) -> bytes:
    packed = [socket.inet_pton(family, address[0]) for address in (there, here)]
    return _ENDS.pack(there[1], here[1], *packed)


def _told(family: int, ends: bytes) -> bytes:
    """The kernel's message about the socket at the first of both ends. Raises OSError."""
    asked = _ASKED.pack(family, socket.IPPROTO_TCP, 0, 0, _ANY) + ends + _REST.pack(0, _ANY, _ANY)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.send(_HEAD.pack(_HEAD.size + len(asked), _BY_FAMILY, _REQUEST, _NUMBER, 0) + asked)
        return kernel.recv(4096, socket.MSG_DONTWAIT)  # it has answered by now


def owner(message: bytes, ends: bytes) -> int | None:
    """The user of the socket that `message` is about; None unless it has these ends and a program holds it: one that is
    closed belongs to nobody, which is told as user 0. Raises struct.error."""
    kind = _HEAD.unpack_from(message)[1]
    if kind != _BY_FAMILY:
        return None
    found, user, inode = _TOLD.unpack_from(message, _HEAD.size)
    return user if found == ends and inode else None
