"""Hostile code in a child that reads what strangers made, after its access are shut: nothing that it tries outside may
succeed, whatever it may still open, and nobody waits for it longer than its limits."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import random
import resource
import signal
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from engine.backend.documents import apart
from engine.speculation.model.apart.child import Child, ChildEnded, Limits, ask_child
from engine.speculation.model.apart.sandbox import READING, Access
from engine.values.errors import Cancelled
from tests.attacks.attack import Outcome, Plan

_WORDS = b"what the user wrote"
_LIMITS = Limits(wall_s=60.0)
_LONGEST_WAIT_S = 10.0  # twenty times what it may take
_REFUSALS = (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EMFILE)
# Raw calls, with the same number on x86_64 and aarch64.
_PIDFD_SEND, _IO_URING, _CLONE3, _OPENAT2, _PIDFD_GETFD, _FSOPEN, _PROCESS_MADVISE = 424, 425, 435, 437, 438, 430, 440
_OTHER_PROGRAMS = 0x40000000  # calls of a 32-bit kind of program


@dataclass(frozen=True, slots=True)
class Prey:
    """What is the app's."""

    folder: Path  # with a file `a`, a folder `b` and nothing else
    own: Path  # a folder that the child may be allowed to write to
    address: int  # of `_WORDS` in the memory of the parent


def run(plan: Plan) -> Outcome:
    outcome = Outcome()
    if sys.platform != "linux":
        return outcome
    done = 0
    for number in range(plan.count):
        dice = plan.dice(number)
        kind = ("reading", "shut", "writing", "graphics")[number % 4]
        folder = plan.folder / str(number)
        outcome.tried += 1
        done += attack(folder, kind, dice.randrange(2**32), outcome)
        _ask_one_that_stalls(dice, outcome)
    outcome.figures["acts"] = str(done)
    return outcome


def attack(folder: Path, kind: str, seed: int, outcome: Outcome) -> int:
    """The number of acts that were tried."""
    prey, own = folder / "prey", folder / "own"
    (prey / "b").mkdir(parents=True)
    own.mkdir()
    (prey / "a").write_bytes(_WORDS)
    held = ctypes.create_string_buffer(_WORDS)
    before = _look(prey)
    priority, affinity = os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0)
    access = {"writing": Access(reads=True, writes=(own,)), "graphics": Access(reads=True, uses_graphics=True)}
    told = Prey(prey, own, ctypes.addressof(held))
    said = ask_child(misbehave, (told, kind, seed), lambda: False, _LIMITS, access.get(kind, READING))
    if said is None:
        outcome.failures.append(f"{kind}: the child ended before it told")
        return 0
    tried, done = json.loads(said)
    outcome.check(not done, f"{kind}: {', '.join(done)}")
    outcome.check(held.value == _WORDS, f"{kind}: the app's memory was written to")
    outcome.check(_look(prey) == before, f"{kind}: the app's files changed")
    outcome.check(os.getpriority(os.PRIO_PROCESS, 0) == priority, f"{kind}: the app's priority changed")
    outcome.check(os.sched_getaffinity(0) == affinity, f"{kind}: the app's processors changed")
    return int(tried)


def _ask_one_that_stalls(dice: random.Random, outcome: Outcome) -> None:
    """Its question is larger than a pipe holds."""
    child = Child(stall, (dice.randrange(2**32),), Limits())
    begun = time.monotonic()
    is_stopped = dice.choice((lambda: False, lambda: time.monotonic() > begun + 0.2))
    with suppress(ChildEnded, Cancelled):
        child.ask(bytes(1 << 20), 0.05, is_stopped)
    outcome.check(time.monotonic() - begun < _LONGEST_WAIT_S, "a child that stalls was waited for")
    child.end()


def stall(seed: int, pipe: Connection) -> None:
    """Runs in the child: it reads a part of what it is asked, sends something of any size and form, and waits."""
    dice = random.Random(seed)
    for _ in range(dice.randrange(20)):
        os.read(pipe.fileno(), 1 << dice.randrange(18))
    size = dice.choice((b"", b"\0", struct.pack("!i", dice.randrange(1, 1 << 30)), struct.pack("!iQ", -1, 1 << 28)))
    with suppress(OSError):
        os.write(pipe.fileno(), size + dice.randbytes(dice.randrange(100)))
    signal.pause()


def misbehave(prey: Prey, kind: str, seed: int) -> str:
    """Runs in the child. JSON: how many acts were tried, and the names of those that succeeded."""
    if kind == "shut":
        apart._shut_doors()
    acts = [*_acts(prey, kind).items()]
    dice = random.Random(seed)
    dice.shuffle(acts)
    done = []
    with ThreadPoolExecutor(1) as aside:  # a thread of its own is held as well
        for name, act in acts:
            if aside.submit(_gets_through, act).result() if dice.random() < 0.5 else _gets_through(act):
                done.append(name)
    return json.dumps((len(acts), sorted(done)))


def _gets_through(act: Callable[[], object]) -> bool:
    """Also where the kernel looks at what is asked before it refuses."""
    try:
        act()
    except OSError as error:
        return error.errno not in _REFUSALS
    except ValueError:  # of `resource.prlimit`, which makes it of EPERM
        return False
    return True


def _look(folder: Path) -> list[tuple[Any, ...]]:
    """Names, kinds, rights, owners, times and contents."""
    found = []
    for path in sorted(folder.rglob("*")):
        seen = path.lstat()
        data = path.read_bytes() if stat.S_ISREG(seen.st_mode) else b""
        found.append((path.name, seen.st_mode, seen.st_uid, seen.st_mtime_ns, seen.st_nlink, data))
    return found


def _acts(prey: Prey, kind: str) -> dict[str, Callable[[], object]]:
    libc, app = ctypes.CDLL(None, use_errno=True), os.getppid()
    file, folder = prey.folder / "a", prey.folder / "b"
    pipe, _ = os.pipe() if kind != "shut" else (0, 0)
    words = ctypes.create_string_buffer(b"nothing of the kind")
    here = (ctypes.c_void_p * 2)(ctypes.addressof(words), len(_WORDS))
    there = (ctypes.c_void_p * 2)(prey.address, len(_WORDS))

    def call(name: str, *arguments: object) -> None:
        if getattr(libc, name)(*arguments) < 0:
            raise OSError(ctypes.get_errno(), name)

    def raw(number: int, *arguments: object) -> None:
        call("syscall", ctypes.c_long(number), *arguments)

    def write_memory() -> None:
        with Path(f"/proc/{app}/mem").open("r+b", buffering=0) as memory:
            memory.seek(prey.address)
            memory.write(words.raw[: len(_WORDS)])

    def read_memory() -> None:
        with Path(f"/proc/{app}/mem").open("rb", buffering=0) as memory:
            memory.seek(prey.address)
            memory.read(len(_WORDS))

    def fork(start: Callable[[], int]) -> None:
        number = start()
        if number == 0:
            os._exit(0)
        os.waitpid(number, 0)

    def execute() -> None:
        os.execv("/bin/true", ["true"])

    def connect() -> None:
        with socket.socket(socket.AF_UNIX) as opened:
            opened.connect(str(file))

    def send_signal_when_readable() -> None:
        fcntl.fcntl(pipe, 10, signal.SIGURG)  # F_SETSIG
        fcntl.fcntl(pipe, fcntl.F_SETOWN, app)

    acts: dict[str, Callable[[], object]] = {
        "write": lambda: file.write_bytes(b""),
        "append": partial(open, file, "ab"),
        "create": partial(open, prey.folder / "new", "xb"),
        "nameless file": lambda: os.open(prey.folder, os.O_RDWR | 0x410000),
        "truncate": lambda: os.truncate(file, 0),
        "unlink": file.unlink,
        "rmdir": folder.rmdir,
        "rename": lambda: file.rename(prey.folder / "new"),
        "rename elsewhere": lambda: file.rename(prey.own / "new"),
        "link": lambda: os.link(file, prey.own / "link"),
        "symlink": lambda: (prey.own / "symlink").symlink_to(file),
        "mkdir": (prey.folder / "new").mkdir,
        "mkfifo": lambda: os.mkfifo(prey.folder / "new"),
        "chmod": lambda: file.chmod(0o777),
        "chown": lambda: os.chown(file, os.getuid(), os.getgid()),
        "utime": lambda: os.utime(file, (0, 0)),
        "setxattr": lambda: os.setxattr(file, "user.a", b"b"),
        "kill": lambda: os.kill(app, 0),
        "kill the group": lambda: os.killpg(os.getpgid(app), 0),
        "pidfd": lambda: os.pidfd_open(app),
        "pidfd signal": lambda: raw(_PIDFD_SEND, 0, 0, None, 0),
        "pidfd file": lambda: raw(_PIDFD_GETFD, 0, 0, 0),
        "queue a signal": lambda: call("sigqueue", app, 0, None),
        "signal when readable": send_signal_when_readable,
        "ptrace": lambda: call("ptrace", 0x4206, app, None, None),
        "process_vm_writev": lambda: call("process_vm_writev", app, here, 1, there, 1, 0),
        "process_vm_readv": lambda: call("process_vm_readv", app, here, 1, there, 1, 0),
        "process_madvise": lambda: raw(_PROCESS_MADVISE, 0, here, 1, 4, 0),
        "write memory": write_memory,
        "read memory": read_memory,
        "priority": lambda: os.setpriority(os.PRIO_PROCESS, app, 19),
        "processors": lambda: os.sched_setaffinity(app, {min(os.sched_getaffinity(app))}),
        "limits": lambda: resource.prlimit(app, resource.RLIMIT_CORE, (0, 0)),
        "fork": lambda: fork(os.fork),
        "spawn": lambda: os.posix_spawn("/bin/true", ["true"], {}),
        "execute": execute,
        "clone3": lambda: raw(_CLONE3, ctypes.create_string_buffer(88), 88),
        "internet": partial(socket.socket, socket.AF_INET),
        "datagrams": partial(socket.socket, socket.AF_INET, socket.SOCK_DGRAM),
        "netlink": partial(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW),
        "socketpair": socket.socketpair,
        "io_uring": lambda: raw(_IO_URING, 1, ctypes.create_string_buffer(120)),
        "openat2": lambda: raw(_OPENAT2, -100, str(file).encode(), ctypes.create_string_buffer(24), 24),
        "mount": lambda: call("mount", b"none", bytes(folder), b"tmpfs", 0, None),
        "new file system": lambda: raw(_FSOPEN, b"tmpfs", 0),
        "namespace": lambda: call("unshare", 0x10000000),
        "chroot": lambda: os.chroot(folder),
        "shared memory": lambda: call("shmget", 0, 4096, 0o1600),
        "an unknown call": lambda: raw(_CLONE3 + 300),
        "a call of another kind": lambda: raw(_OTHER_PROGRAMS + 39),
    }
    if kind != "graphics":
        acts |= {"connect": connect, "memfd": lambda: os.memfd_create("a")}
    if kind == "shut":
        acts |= {"read": file.read_bytes, "list": lambda: [*folder.iterdir()], "pipe": os.pipe}
    return acts
