"""Where a drafter runs."""

from __future__ import annotations

import re

import torch

from engine.errors import DrafterUnusable


def choose_device(wanted: str | None = None) -> str:
    """`wanted` ("cpu", "cuda", "cuda:1", "mps"), or the best there is. Raises DrafterUnusable when it is not there."""
    available = _available()
    if wanted is None:
        return available[0]
    if wanted in available or (_is_cuda_index(wanted) and "cuda" in available):
        return wanted
    offered = " or ".join(available)
    raise DrafterUnusable(f"The drafter cannot run on “{wanted}” on this machine; choose {offered}.")


def number_type(device: str) -> torch.dtype:
    """bfloat16 is slower than float32 for single steps on a CPU, and not everywhere at home on Apple's chips."""
    return torch.bfloat16 if device.startswith("cuda") else torch.float32


def _available() -> list[str]:
    """Best first."""
    devices = ["cuda"] if torch.cuda.is_available() else []
    if torch.backends.mps.is_available():
        devices.append("mps")
    return [*devices, "cpu"]


def _is_cuda_index(wanted: str) -> bool:
    match = re.fullmatch(r"cuda:(\d{1,3})", wanted)
    return match is not None and int(match[1]) < torch.cuda.device_count()
