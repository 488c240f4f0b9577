"""A library as people have it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from engine import SamplingSettings, TargetOptions, TargetSettings
from engine.values.targets import (
    ComputeDevice,
    DeviceKind,
    GpuShare,
    GpuSupport,
    HeadMethod,
    HubFile,
    LibraryTarget,
    MemoryEstimate,
    TargetDetails,
)

USED = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)


def details(architecture: str = "llama", trained: int = 32_768, can_speculate: bool = True) -> TargetDetails:
    why = "It is drafted for." if can_speculate else "It cannot take back what it has read."
    return TargetDetails(
        "A Model",
        architecture,
        7_600_000_000,
        "Q4_K_M",
        trained,
        152_064,
        "BPE (qwen2)",
        True,
        "mit",
        can_speculate,
        why,
    )


STARTER_TARGET = LibraryTarget(
    "smol", Path("/models/smol.gguf"), 144_000_000, USED, True, details(trained=8192), "", TargetOptions()
)
QWEN = LibraryTarget(
    "qwen2.5-7b",
    Path("/models/qwen2.5-7b.gguf"),
    4_680_000_000,
    None,
    False,
    details("qwen2"),
    "",
    TargetOptions(TargetSettings(context_size=16_384), SamplingSettings(temperature=0.3), "Be brief."),
)
MAMBA = LibraryTarget(
    "mamba", Path("/models/mamba.gguf"), 4_200_000_000, USED, False, details("mamba", 0, False), "", TargetOptions()
)
GONE = LibraryTarget(
    "gone", Path("/usb/gone.gguf"), 2_000_000_000, USED, False, None, "The file is gone; plug it in.", TargetOptions()
)
HEAD = LibraryTarget(
    "eagle3-qwen2.5-7b",
    Path("/models/eagle3-qwen2.5-7b.gguf"),
    400_000_000,
    None,
    False,
    details("eagle3", 0, False),
    "It is a drafter made for one model.",
    TargetOptions(),
    head=HeadMethod.EAGLE3,
)
TARGETS = (STARTER_TARGET, QWEN, MAMBA, GONE)
SMALL = MemoryEstimate(4_000_000_000, 500_000_000, 100_000_000, 10_000_000_000)
LARGE = MemoryEstimate(40_000_000_000, 5_000_000_000, 100_000_000, 10_000_000_000)
Q4 = HubFile("owner/model", "model-Q4_K_M.gguf", 4_000_000_000, "Q4_K_M")
Q8 = HubFile("owner/model", "model-Q8_0.gguf", 8_000_000_000, "Q8_0")
CARD = ComputeDevice("CUDA0", "NVIDIA GeForce RTX 4070", "CUDA", DeviceKind.GPU, 12_000_000_000, 8_000_000_000)
ON_CARD = replace(SMALL, gpu=GpuShare(GpuSupport(("CUDA",), (CARD,)), 33, 33, 4_300_000_000, 7_000_000_000))
