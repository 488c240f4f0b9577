"""On what machine something was measured."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

_CPU_INFO = Path("/proc/cpuinfo")


def describe_machine(threads: int) -> dict[str, object]:
    """`threads`: what the target computes with."""
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
    """What this process holds in memory now."""
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
