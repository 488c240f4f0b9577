"""How many threads a pass should use."""

from __future__ import annotations

import os
from pathlib import Path

import psutil

_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores() -> int:
    """Physical cores this process may use: a second thread on one core only gets in the way of matrix products.

    Respects the affinity mask and, in a container, the quota of processor time.
    """
    physical = psutil.cpu_count(logical=False) or psutil.cpu_count() or 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else physical
    return max(1, min(physical, allowed, _quota(_CGROUP_QUOTA) or physical))


def _quota(file: Path) -> int | None:
    """Whole processors that a cgroup grants, or None without a limit."""
    try:
        quota, period = file.read_text().split()
    except (OSError, ValueError):
        return None
    return max(1, int(quota) // int(period)) if quota != "max" else None
