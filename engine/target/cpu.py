"""The CPU of this machine: how many of its cores a pass should use, and which of llama.cpp's libraries suits it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil

_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")
CPU_INFO = Path("/proc/cpuinfo")

_SSE42 = frozenset({"sse4_2", "ssse3", "popcnt"})
_AVX = _SSE42 | {"avx", "xsave"}
_F16C = _AVX | {"f16c"}
_HASWELL = _F16C | {"fma", "avx2", "bmi2"}
_AVX512 = _HASWELL | {"avx512f", "avx512cd", "avx512vl", "avx512dq", "avx512bw"}
_ICELAKE = _AVX512 | {"avx512vbmi", "avx512_vnni"}

# A bundle has a library for every kind of x86-64 CPU. llama.cpp could choose, but it asks the CPU alone: where a system
# or a virtual machine disables the registers of AVX-512, its choice crashes at the first pass. Linux lists in
# /proc/cpuinfo only what programs may use. Best first, by llama.cpp's own scores, with the flags as Linux spells them.
# `sapphirerapids` is left out: its AMX crashes on some machines (llama.cpp PR 26954), and `zen4` runs there.
_VARIANTS: tuple[tuple[str, frozenset[str]], ...] = (
    ("zen4", _ICELAKE | {"avx512_bf16"}),
    ("cooperlake", _AVX512 | {"avx512_vnni", "avx512_bf16"}),
    ("icelake", _ICELAKE),
    ("cascadelake", _AVX512 | {"avx512_vnni"}),
    ("cannonlake", _AVX512 | {"avx512vbmi"}),
    ("skylakex", _AVX512),
    ("alderlake", _HASWELL | {"avx_vnni"}),
    ("haswell", _HASWELL),
    ("piledriver", _F16C | {"fma"}),
    ("ivybridge", _F16C),
    ("sandybridge", _AVX),
    ("sse42", _SSE42),
    ("x64", frozenset()),
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


def usable_flags(cpu_info: Path = CPU_INFO) -> frozenset[str]:
    """What the CPU offers and the system lets programs use; empty if that is unknown."""
    with suppress(OSError), cpu_info.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("flags"):
                return frozenset(line.partition(":")[2].split())
    return frozenset()


def libraries(folder: Path, flags: Iterable[str]) -> list[Path]:
    """Those in `folder` that run on a CPU with `flags`, best first; empty if there is nothing to choose from."""
    offered = frozenset(flags)
    suitable = (folder / f"libggml-cpu-{name}.so" for name, needed in _VARIANTS if needed <= offered)
    return [path for path in suitable if path.is_file()]
