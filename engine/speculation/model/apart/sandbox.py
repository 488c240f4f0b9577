"""Confines a process that reads what strangers made: whatever they make of it, it acts on nothing outside.

Linux confines it by a filter of system calls (seccomp), by a set of paths (Landlock) and by limits, as far as
the kernel supports them. Other systems have the limits alone, and Windows none. Children call this, never the app.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import struct
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

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

_PR_SET_NO_NEW_PRIVS, _PR_SET_DUMPABLE = 38, 4
_SET_MODE_FILTER, _ALL_THREADS = 1, 1
# Calls with their numbers on x86_64 and aarch64; -: it is not there.
_CALL_NUMBERS = (
    # names in folders, and what files are
    "creat 85 -, open_by_handle_at 304 265, openat2 437 437, unlink 87 -, unlinkat 263 35, rmdir 84 -, rename 82 -, "
    "renameat 264 38, renameat2 316 276, link 86 -, linkat 265 37, symlink 88 -, symlinkat 266 36, mkdir 83 -, "
    "mkdirat 258 34, mknod 133 -, mknodat 259 33, chmod 90 -, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, "
    "chown 92 -, lchown 94 -, fchown 93 55, fchownat 260 54, utime 132 -, utimes 235 -, futimesat 261 -, "
    "utimensat 280 88, setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7, setxattrat 463 463, removexattr 197 14, "
    "lremovexattr 198 15, fremovexattr 199 16, removexattrat 466 466, file_setattr 469 469, chroot 161 51, "
    "flock 73 32, fanotify_init 300 262, quotactl 179 60, quotactl_fd 443 443, "
    # other processes
    "fork 57 -, vfork 58 -, execve 59 221, execveat 322 281, kill 62 129, tkill 200 130, rt_sigqueueinfo 129 138, "
    "rt_tgsigqueueinfo 297 240, pidfd_open 434 434, pidfd_send_signal 424 424, pidfd_getfd 438 438, ptrace 101 117, "
    "process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440, process_mrelease 448 448, "
    "kcmp 312 272, migrate_pages 256 238, move_pages 279 239, unshare 272 97, setns 308 268, ioprio_set 251 30, "
    "shmget 29 194, shmat 30 196, shmctl 31 195, semget 64 190, semop 65 193, semtimedop 220 192, semctl 66 191, "
    "msgget 68 186, msgsnd 69 189, msgrcv 70 188, msgctl 71 187, mq_open 240 180, mq_unlink 241 181, "
    # networks
    "socketpair 53 199, listen 50 201, accept 43 202, accept4 288 242, sendmmsg 307 269, "
    # the system
    "mount 165 40, umount2 166 39, pivot_root 155 41, open_tree 428 428, move_mount 429 429, fsopen 430 430, "
    "fsconfig 431 431, fsmount 432 432, fspick 433 433, mount_setattr 442 442, swapon 167 224, swapoff 168 225, "
    "reboot 169 142, sethostname 170 161, setdomainname 171 162, settimeofday 164 170, clock_settime 227 112, "
    "adjtimex 159 171, clock_adjtime 305 266, acct 163 89, syslog 103 116, init_module 175 105, finit_module 313 273, "
    "delete_module 176 106, kexec_load 246 104, kexec_file_load 320 294, iopl 172 -, ioperm 173 -, modify_ldt 154 -, "
    "vhangup 153 58, personality 135 92, bpf 321 280, perf_event_open 298 241, userfaultfd 323 282, "
    "io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427, add_key 248 217, request_key 249 218, "
    "keyctl 250 219, memfd_secret 447 447, "
)
_CALLS: Mapping[str, tuple[int | None, int | None]] = {
    name: (int(x86_64), None if aarch64 == "-" else int(aarch64))
    for name, x86_64, aarch64 in re.findall(r"(\w+) (\d+) (\d+|-)", _CALL_NUMBERS)
}
_NOT_BY_DRIVERS = {  # of graphics cards, which speak with a helper and share memory
    "memfd_create": (319, 279),
    "connect": (42, 203),
    "bind": (49, 200),
    "sendmsg": (46, 211),
    "sendto": (44, 206),
}
_OPENING = {"open": (2, None), "openat": (257, 56)}
_CHANGING = {"truncate": (76, 45), "ftruncate": (77, 46), "fallocate": (285, 47)}
_CLONE, _CLONE3, _SOCKET, _FCNTL, _IOCTL, _TGKILL, _PRLIMIT = (
    (56, 220),
    (435, 435),
    (41, 198),
    (72, 25),
    (16, 29),
    (234, 131),
    (302, 261),
)
_ON_ITSELF = {  # by the place of the argument that names a process; 0 is this one
    "setpriority": (1, (141, 140)),
    "sched_setparam": (0, (142, 118)),
    "sched_setscheduler": (0, (144, 119)),
    "sched_setattr": (0, (314, 274)),
    "sched_setaffinity": (0, (203, 122)),
    "setpgid": (0, (109, 154)),
}
_FIRST_UNKNOWN = 480  # newer than any that was known when this was written
_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | 0x400000  # the last: a file without a name
_CLONE_THREAD = 0x10000
_AF_UNIX = 1
_LOCKS_AND_SIGNALS = (6, 7, 37, 38, 8, 10, 15, 1024, 1026)  # F_SETLK …, F_SETOWN, F_SETSIG, F_SETLEASE, F_NOTIFY
_TERMINALS = (0x5412, 0x541C, 0x8901, 0x8902)  # TIOCSTI, TIOCLINUX; FIOSETOWN and SIOCSPGRP send signals
_LOAD, _EQUAL, _NOT_BELOW, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_KILL, _ALLOW, _DENY, _MISSING = 0x80000000, 0x7FFF0000, 0x50000 | 1, 0x50000 | 38  # EPERM, ENOSYS
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16  # where in what a filter is shown; see seccomp(2)
_MACHINES = {"x86_64": (0, 0xC000003E, 317), "aarch64": (1, 0xC00000B7, 277)}  # column, name, seccomp's own number
_Step = tuple[int, int, int, int]  # code, steps to go on if so and if not, value


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


@cache
def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def give_up_rights() -> None:
    """Gives up rights: no program that this process starts has more than it has, and no other process may look into
    it."""
    libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc().prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def set_filter(reads: bool, writes: bool, uses_graphics: bool) -> bool:
    """Sets the filter for all threads of this process, for good; False if the kernel has none, or the machine is
    unknown. `reads` and `writes`: files may still be opened for that. `uses_graphics`: what drivers of graphics cards
    need is left."""
    known = _MACHINES.get(platform.machine())
    if known is None or struct.calcsize("P") != 8:
        return False
    column, machine, number = known
    steps = [*_program(column, machine, reads, writes, uses_graphics)]
    packed = b"".join(struct.pack("HBBI", *step) for step in steps)
    held = ctypes.create_string_buffer(packed, len(packed))
    told = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(held))
    return bool(libc().syscall(number, _SET_MODE_FILTER, _ALL_THREADS, told) == 0)


def _program(column: int, machine: int, reads: bool, writes: bool, uses_graphics: bool) -> Iterator[_Step]:
    denied = dict(_CALLS)
    if not uses_graphics:
        denied |= _NOT_BY_DRIVERS
    if not writes:
        denied |= _CHANGING
    if not reads:
        denied |= _OPENING

    yield _LOAD, 0, 0, _MACHINE
    yield _EQUAL, 1, 0, machine
    yield _RETURN, 0, 0, _KILL
    yield _LOAD, 0, 0, _NUMBER
    yield _NOT_BELOW, 0, 1, _FIRST_UNKNOWN  # calls of another kind of program have such numbers, too
    yield _RETURN, 0, 0, _MISSING
    for numbers in denied.values():
        yield from _when(numbers[column], [(_RETURN, 0, 0, _DENY)])
    yield from _when(_CLONE3[column], [(_RETURN, 0, 0, _MISSING)])  # its flags are out of sight; libraries use `clone`
    yield from _when(_CLONE[column], [_argument(0), (_ANY_BIT, 1, 0, _CLONE_THREAD), *_verdicts()])
    allowed = _AF_UNIX if uses_graphics else 0xFFFF
    yield from _when(_SOCKET[column], [_argument(0), (_EQUAL, 1, 0, allowed), *_verdicts()])
    yield from _when(_FCNTL[column], _unless(1, _LOCKS_AND_SIGNALS))
    yield from _when(_IOCTL[column], _unless(1, _TERMINALS))
    yield from _when(_TGKILL[column], [_argument(0), (_EQUAL, 1, 0, os.getpid()), *_verdicts()])  # to end by `abort`
    yield from _when(_PRLIMIT[column], [_argument(0), (_EQUAL, 2, 0, 0), (_EQUAL, 1, 0, os.getpid()), *_verdicts()])
    for place, numbers in _ON_ITSELF.values():
        yield from _when(numbers[column], [_argument(place), (_EQUAL, 1, 0, 0), *_verdicts()])
    if reads and not writes:
        for place, numbers in ((1, _OPENING["open"]), (2, _OPENING["openat"])):
            shown = [_argument(place), (_ANY_BIT, 0, 1, _TO_WRITE), *_verdicts()]
            yield from _when(numbers[column], shown)
    yield _RETURN, 0, 0, _ALLOW


def _when(number: int | None, then: list[_Step]) -> Iterator[_Step]:
    """`then` ends with a verdict, or goes on after it with the number loaded."""
    if number is not None:
        yield _EQUAL, 0, len(then), number
        yield from then


def _argument(place: int) -> _Step:
    """The lower half of an argument: nothing asked here is longer."""
    return _LOAD, 0, 0, _ARGUMENTS + 8 * place


def _verdicts() -> Iterator[_Step]:
    yield _RETURN, 0, 0, _DENY
    yield _RETURN, 0, 0, _ALLOW


def _unless(place: int, values: tuple[int, ...]) -> list[_Step]:
    """Denies the call if the argument is one of these."""
    steps = [_argument(place)]
    for left, value in enumerate(reversed(values)):
        steps.insert(1, (_EQUAL, left + 1, 0, value))
    return [*steps, (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _DENY)]
