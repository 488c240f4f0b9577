"""The CPU of this machine: how many of its cores a pass should use, and which of llama.cpp's libraries suits it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import psutil

from engine.speculation.model.llama.extensions import flags_of

_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")

# A bundle has a library for every kind of x86-64 CPU. llama.cpp could choose, but it asks the CPU alone: where a system
# or a virtual machine disables the registers of AVX-512, its choice crashes at the first pass. Best first, by its own
# scores, each with the last extensions that it is compiled for. `sapphirerapids` is left out: its AMX crashes on some
# machines (llama.cpp PR 26954), and `zen4` runs there.
_VARIANTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("zen4", ("AVX512_VBMI", "AVX512_VNNI", "AVX512_BF16")),
    ("cooperlake", ("AVX512_VNNI", "AVX512_BF16")),
    ("icelake", ("AVX512_VBMI", "AVX512_VNNI")),
    ("cascadelake", ("AVX512_VNNI",)),
    ("cannonlake", ("AVX512_VBMI",)),
    ("skylakex", ("AVX512",)),
    ("alderlake", ("AVX_VNNI",)),
    ("haswell", ("BMI2",)),
    ("piledriver", ("FMA",)),
    ("ivybridge", ("F16C",)),
    ("sandybridge", ("AVX",)),
    ("sse42", ("SSE42",)),
    ("x64", ()),
)
ALL_NAMES = tuple(name for name, _ in _VARIANTS)


def usable_cores() -> int:
    """Physical cores this process may use: a second thread on one core only slows matrix products down.

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


def libraries(folder: Path, flags: Iterable[str]) -> list[Path]:
    """The libraries in `folder` that run on a CPU with `flags`, best first; empty if there is nothing to choose
    from."""
    offered = frozenset(flags)
    suitable = (folder / f"libggml-cpu-{name}.so" for name, needed in _VARIANTS if flags_of(*needed) <= offered)
    return [path for path in suitable if path.is_file()]
