"""The vector extensions of x86-64 that llama.cpp can be compiled for, and which of them may be used here.

Plain standard library, because set-up asks before anything is installed: `python3 …/llama/extensions.py` prints
llama.cpp's options for this CPU. AMX is not among them: it ends the process on some machines (llama.cpp PR 26954).
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")

# By the names of llama.cpp's options: the extension that each builds upon, and the flags it adds, as Linux spells them.
_EXTENSIONS = {
    "SSE42": ("", "ssse3 sse4_2 popcnt"),
    "AVX": ("SSE42", "avx xsave"),
    "F16C": ("AVX", "f16c"),
    "FMA": ("F16C", "fma"),
    "AVX2": ("FMA", "avx2"),
    "BMI2": ("AVX2", "bmi2"),
    "AVX_VNNI": ("BMI2", "avx_vnni"),
    "AVX512": ("BMI2", "avx512f avx512cd avx512vl avx512dq avx512bw"),
    "AVX512_VBMI": ("AVX512", "avx512vbmi"),
    "AVX512_VNNI": ("AVX512", "avx512_vnni"),
    "AVX512_BF16": ("AVX512", "avx512_bf16"),
}


def flags_of(*extensions: str) -> frozenset[str]:
    """The flags that these need, with all that they build upon."""
    needed: set[str] = set()
    for extension in filter(None, extensions):
        below, added = _EXTENSIONS[extension]
        needed |= {*added.split(), *flags_of(below)}
    return frozenset(needed)


def usable_flags(cpu_info: Path = CPU_INFO) -> frozenset[str]:
    """The flags that the CPU offers and the system lets programs use; empty if that is unknown."""
    with suppress(OSError), cpu_info.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("flags"):
                return frozenset(line.partition(":")[2].split())
    return frozenset()


def options_for(flags: Iterable[str]) -> str:
    """llama.cpp's options for a CPU with `flags`: each extension on or off. Nothing if the flags are unknown."""
    offered = frozenset(flags)
    if not offered:
        return ""
    usable = {extension for extension in _EXTENSIONS if flags_of(extension) <= offered}
    if "AVX512_VNNI" in usable:
        usable -= {"AVX_VNNI"}  # the same products; llama.cpp would use the other
    return " ".join(f"-DGGML_{extension}={'ON' if extension in usable else 'OFF'}" for extension in _EXTENSIONS)


def lacking(options: str, flags: Iterable[str]) -> list[str]:
    """The flags that a build with these options needs beyond `flags`, sorted."""
    on = [extension for extension in _EXTENSIONS if f"-DGGML_{extension}=ON" in options.split()]
    return sorted(flags_of(*on) - frozenset(flags))


def _options_here() -> str:
    known = sys.platform.startswith("linux") and platform.machine() == "x86_64"
    return options_for(usable_flags()) if known else ""


if __name__ == "__main__":
    print(_options_here())
