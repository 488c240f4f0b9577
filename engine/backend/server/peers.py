"""Which program is at the other end of a connection within this machine, and of which user.

Linux says for one connection who owns the socket at either end of it (`sock_diag(7)`). That takes as long on a machine
with thousands of connections as on a quiet one, and needs no rights. Other systems say it to administrators alone, or
not of one moment (decision 56): there, no program counts as the user's own.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

SOCKET = "socket"  # in the state of each request: the number of a socket of this user's at its other end, or 0

_SOCK_DIAG = 4  # of netlink
_BY_FAMILY, _REQUEST, _NUMBER = 20, 1, 1
_HEAD = struct.Struct("=IHHII")  # length, type, flags, number and port of a message of netlink
_ASKED = struct.Struct("=BBBBI")  # family, protocol, extensions, padding and wanted states, before the ends
_ENDS = struct.Struct("!HH16s16s")  # ports and addresses: first those of the end that is asked about
_REST = struct.Struct("=III")  # an interface, and no cookie
_TOLD = struct.Struct("=4x36s12x12xII")  # the ends, the user and the inode of the socket
_ANY = 0xFFFFFFFF
_MOST_KNOWN = 8  # programs
_OVERFLOW = Path("/proc/sys/kernel/overflowuid")  # stands for every user whom this process cannot name

Address = tuple[Any, ...]  # as sockets give it


def tells_users() -> bool:
    """Tried out, with a connection to itself."""
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as server,
        closing(socket.create_connection(server.getsockname())) as client,
    ):
        accepted, _ = server.accept()
        with accepted:
            return own_socket(accepted.family, client.getsockname(), accepted.getsockname()) != 0


def own_socket(family: int, there: Address, here: Address) -> int:
    """The inode of the socket at `there`, which is connected to the one at `here`, if it belongs to the user of this
    process. 0 otherwise, and where that is not known, also because it is closed by now."""
    if sys.platform != "linux":
        return 0
    try:
        ends = _ends(family, there, here)
        user, inode = holder(_told(family, ends), ends)
        return inode if user == os.getuid() != int(_OVERFLOW.read_text()) else 0
    except (OSError, ValueError, struct.error):
        return 0


class Programs:
    """Finds the process that holds a socket, by which programs that open a connection for each request are recognized.
    It looks through all processes of this user, the last found first. Any thread may call `of`."""

    def __init__(self) -> None:
        self._last: tuple[str, ...] = ()

    def of(self, inode: int) -> str:
        """Its number and when it began: numbers are given again. Empty where it cannot be found."""
        for process in (*self._last, *_processes()):
            if _holds(process, inode) and (began := _began(process)):
                self._last = (process, *(each for each in self._last if each != process))[:_MOST_KNOWN]
                return f"{process} {began}"
        return ""


def _processes() -> Iterable[str]:
    return (path.name for path in Path("/proc").iterdir() if path.name.isdecimal())


def _holds(process: str, inode: int) -> bool:
    """Also False where that may not be known."""
    wanted = f"socket:[{inode}]"
    try:
        return any(_leads_to(file) == wanted for file in Path(f"/proc/{process}/fd").iterdir())
    except OSError:
        return False


def _leads_to(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:  # closed meanwhile
        return ""


def _began(process: str) -> str:
    try:  # its name comes before, in brackets, and may have any character
        return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _ends(family: int, there: Address, here: Address) -> bytes:
    packed = [socket.inet_pton(family, address[0]) for address in (there, here)]
    return _ENDS.pack(there[1], here[1], *packed)


def _told(family: int, ends: bytes) -> bytes:
    """The kernel's message about the socket at the first of both ends. Raises OSError."""
    asked = _ASKED.pack(family, socket.IPPROTO_TCP, 0, 0, _ANY) + ends + _REST.pack(0, _ANY, _ANY)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.send(_HEAD.pack(_HEAD.size + len(asked), _BY_FAMILY, _REQUEST, _NUMBER, 0) + asked)
        return kernel.recv(4096, socket.MSG_DONTWAIT)  # it has answered by now


def holder(message: bytes, ends: bytes) -> tuple[int | None, int]:
    """The user and the inode of the socket that `message` is about; no user unless it has these ends and a program
    holds it: a closed one has no owner and is reported with user 0. Raises struct.error."""
    kind = _HEAD.unpack_from(message)[1]
    if kind != _BY_FAMILY:
        return None, 0
    found, user, inode = _TOLD.unpack_from(message, _HEAD.size)
    return (user, inode) if found == ends and inode else (None, 0)
