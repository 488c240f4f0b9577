"""The machine that something was measured on, and what passes of a target cost there."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median

import psutil

from engine.speculation.model.interface import Target
from engine.speculation.model.llama.passes import sample_tokens, time_pass
from engine.values.stop_signal import StopSignal

_CPU_INFO = Path("/proc/cpuinfo")


def describe_machine(threads: int) -> dict[str, object]:
    """The machine. `threads`: what the target computes with."""
    return {
        "cpu": _cpu_name(),
        "cores": psutil.cpu_count(logical=False),
        "logical_cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "llama_cpp_python": _version("llama-cpp-python"),
        "torch": _version("torch"),
        "slipstream": _version("slipstream"),
        "threads": threads,
    }


def memory_mb() -> float:
    return float(psutil.Process().memory_info().rss) / 1e6


def _cpu_name() -> str:
    try:
        for line in _CPU_INFO.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:  # not Linux
        pass
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


NUM_ROWS = (1, 2, 4, 8)
_REPEATS = 2  # the first builds the graph of this size


class PassProbe:
    """V(n) for a few n, once after each question: so the drift of the machine's speed falls on all of them alike."""

    def __init__(self, target: Target) -> None:
        self._target = target
        limits = target.limits
        longest = min(limits.max_rows, limits.max_tokens) if limits.rolls_back_freely else 0
        self._sizes = [num_rows for num_rows in NUM_ROWS if num_rows <= longest]
        self._tokens = sample_tokens(target, max(NUM_ROWS))
        self._seconds: dict[int, list[float]] = {num_rows: [] for num_rows in self._sizes}

    def measure(self, stop: StopSignal) -> None:
        """Passes after what the target holds, which it holds again afterwards. Raises Interrupted."""
        if self._target.limits.context_size - self._target.num_held < max(self._sizes, default=0):
            return
        for num_rows in self._sizes:
            self._seconds[num_rows].append(
                min(time_pass(self._target, self._tokens[:num_rows], stop) for _ in range(_REPEATS))
            )

    @property
    def costs(self) -> dict[int, float]:
        """The costs V(n) as multiples of V(1); empty if nothing was measured."""
        return {
            num_rows: median(s / single for s, single in zip(seconds, self._seconds[1], strict=False))
            for num_rows, seconds in self._seconds.items()
            if seconds
        }
