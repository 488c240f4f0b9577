"""What an attack is: many tries of one kind, made from a seed, each of which must end well."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

MEMORY_BAR = 300 << 20  # bytes over what was in use before


@dataclass(frozen=True, slots=True)
class Plan:
    """`folder` is empty, and gone afterwards."""

    seed: int
    count: int
    folder: Path

    def dice(self, number: int) -> random.Random:
        """For try `number`, so that each can be repeated alone."""
        return random.Random(f"{self.seed}:{number}")


@dataclass(slots=True)
class Outcome:
    """`figures` come into the line of the verdict, in the order in which they were set."""

    tried: int = 0
    failures: list[str] = field(default_factory=list)
    figures: dict[str, str] = field(default_factory=dict)

    def check(self, is_so: bool, complaint: str) -> None:
        if not is_so:
            self.failures.append(complaint)


@dataclass(frozen=True, slots=True)
class Attack:
    """`count`: of tries, where the command does not say. It is given up after `patience_s`."""

    name: str
    about: str
    count: int
    patience_s: float = 900.0


class Memory:
    """The most that this process holds at once, over what it held before: `with memory.watched(): …`."""

    def __init__(self) -> None:
        self.most = 0  # bytes, of all that was watched

    @contextmanager
    def watched(self, own: int = 0) -> Iterator[None]:
        """`own`: bytes of what is held because it is shown, which do not count."""
        _forget_peak()
        before = psutil.Process().memory_info().rss
        try:
            yield
        finally:
            self.most = max(self.most, _peak() - before - own)

    @property
    def is_within_bar(self) -> bool:
        return self.most < MEMORY_BAR

    def __str__(self) -> str:
        return f"{self.most / 2**20:.0f} MB over idle"


def _forget_peak() -> None:
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")  # see proc(5)


def _peak() -> int:
    """In bytes. Without Linux's account it is what is held now."""
    if sys.platform != "linux":
        return int(psutil.Process().memory_info().rss)
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
