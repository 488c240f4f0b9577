"""Tells whether this is the only Slipstream that has its window open with a data folder.

The system itself releases the lock when a process ends, however it ends, so no stale lock remains. The file
holds the address at which the owner of the lock can be reached, which is why `filelock` does not do: it empties the
file before it tries to lock it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO, NoReturn

from engine.values.errors import MendableError
from engine.values.whole_file import private_folder

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_BUSY = frozenset({errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK})
_LOCKED_BYTE = 4096  # on Windows, a byte that is locked cannot be read
_MOST_BYTES = 1024  # of an address
# What lies there under the name of the lock may lead elsewhere, or be a pipe that keeps its reader waiting.
_CAREFULLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class LockUnusable(MendableError):
    """What has the name of the lock is no file of its own; writing it would change another file."""


class InstanceLock:
    """Held from `take` to `close`, or to the end of the process."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds all files of the program."""
        self._path = folder / "running.lock"
        self._file: BinaryIO | None = None

    def take(self) -> bool:
        """Takes the lock; False while another process has it. True if the folder has no locks or cannot be written.
        Raises LockUnusable."""
        try:
            private_folder(self._path.parent)
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | _CAREFULLY, 0o600)
        except OSError as error:
            if error.errno == errno.ELOOP:
                self._refuse()
            return True
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            os.close(handle)
            self._refuse()
        file = os.fdopen(handle, "r+b", buffering=0)
        try:
            if sys.platform == "win32":
                file.seek(_LOCKED_BYTE)
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            return error.errno not in _BUSY
        self._file = file
        self.publish("")
        return True

    def publish(self, address: str) -> None:
        """Publishes the address of this process; empty: none."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # no room: then no instance can
                self._file.seek(0)
                self._file.truncate()
                self._file.write(address.encode("utf-8", "surrogateescape"))

    def address(self) -> str:
        """The address of the lock's owner; empty: none."""
        try:
            with os.fdopen(os.open(self._path, os.O_RDONLY | _CAREFULLY), "rb") as file:
                return file.read(_MOST_BYTES).decode("utf-8", "surrogateescape")
        except OSError:
            return ""

    def close(self) -> None:
        """Releases the lock."""
        self.publish("")
        if self._file is not None:
            self._file.close()
            self._file = None

    def _refuse(self) -> NoReturn:
        raise LockUnusable(
            f"{self._path} is a link, or another file has this name as well; delete it, and start Slipstream again."
        )
