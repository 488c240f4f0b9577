"""Confines a process that reads what strangers made: whatever they make of it, it acts on nothing outside.

Linux confines it by a filter of system calls (`system_calls.py`), by a set of paths (Landlock) and by limits, as far as
the kernel supports them. Other systems have the limits alone, and Windows none. Children call this, never the app.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from engine.speculation.model.apart.system_calls import give_up_rights, libc, set_filter

_GRAPHICS = ("nvidia*", "dri/*", "kfd", "shm")  # in /dev
# See landlock(7).
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_TELL_VERSION, _BENEATH_PATH = 1, 1
_WRITE_FILE, _READ_FILE, _READ_FOLDER, _REMOVE_FILE, _MAKE_FILE, _TRUNCATE, _DEVICES = (
    1 << bit for bit in (1, 2, 3, 5, 8, 14, 15)
)
_NUM_RIGHTS = (13, 14, 15, 15, 16)  # of the versions
_TCP_SINCE, _SCOPES_SINCE = 4, 6
_TCP, _SCOPES = 0b11, 0b11  # to bind and to connect; abstract sockets and signals to others


@dataclass(frozen=True, slots=True)
class Access:
    """The files and devices that a process may still open. What is open stays so."""

    reads: bool = False  # any file
    writes: tuple[Path, ...] = ()  # these files, which are there, and those in these folders
    uses_graphics: bool = False  # cards, and what their drivers also need: sockets on this machine


SHUT = Access()
READING = Access(reads=True)


def confine(access: Access = SHUT) -> None:
    """Confines this process: it starts no program, reaches no network, sends no signal, shares no memory with others,
    and opens and changes no file but what `access` says. Calling it again confines it further."""
    if sys.platform == "win32":
        return
    import resource

    is_filtered = False
    if sys.platform == "linux":
        cage(access)
        is_filtered = set_filter(access.reads, bool(access.writes) or access.uses_graphics, access.uses_graphics)
    if access.reads:
        return
    kinds = [resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE]
    for kind in kinds if is_filtered else [*kinds, resource.RLIMIT_NPROC]:  # that one counts threads, too
        resource.setrlimit(kind, (0, 0))


def cage(access: Access) -> None:
    """Confines only this thread and those that it starts; libraries can still be loaded."""
    if sys.platform != "linux":
        return
    give_up_rights()
    version = libc().syscall(_CREATE_RULESET, None, 0, _TELL_VERSION)
    if version < 1:
        return
    known = (1 << _NUM_RIGHTS[min(version, len(_NUM_RIGHTS)) - 1]) - 1
    held = struct.pack("Q", known)
    if version >= _TCP_SINCE:
        held += struct.pack("Q", _TCP)
    if version >= _SCOPES_SINCE:
        held += struct.pack("Q", _SCOPES)
    rules = libc().syscall(_CREATE_RULESET, held, len(held), 0)
    if rules < 0:
        return
    try:
        for path, rights in _rights(access):
            with suppress(OSError):  # it is not there
                _allow(rules, path, rights & known)
        libc().syscall(_RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _rights(access: Access) -> Iterator[tuple[Path, int]]:
    if access.reads:
        yield Path("/"), _READ_FILE | _READ_FOLDER
        yield Path(os.devnull), _WRITE_FILE | _TRUNCATE  # libraries open it when they are loaded
    for path in access.writes:
        within = _MAKE_FILE | _REMOVE_FILE | _READ_FOLDER if path.is_dir() else 0
        yield path, _READ_FILE | _WRITE_FILE | _TRUNCATE | within
    if access.uses_graphics:
        for path in (path for pattern in _GRAPHICS for path in Path("/dev").glob(pattern)):
            within = _MAKE_FILE | _REMOVE_FILE | _READ_FOLDER | _TRUNCATE if path.is_dir() else 0
            yield path, _READ_FILE | _WRITE_FILE | _DEVICES | within


def _allow(rules: int, path: Path, rights: int) -> None:
    """Raises OSError."""
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        libc().syscall(_ADD_RULE, rules, _BENEATH_PATH, struct.pack("=Qi", rights, opened), 0)
    finally:
        os.close(opened)
