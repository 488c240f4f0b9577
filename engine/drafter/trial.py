"""Tries an unknown drafter once in a process of its own.

torch's products for a CPU are private and check little: with numbers of inputs or outputs that nobody tried, on this
processor, they may read memory that is not there and end the process. They end that one instead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch

from engine.drafter.checkpoint import load_drafter
from engine.errors import Cancelled, DrafterUnusable, MendableError
from engine.target.child import Limits, ask_child
from engine.target.cpu import usable_cores

_CHUNKS = (1, 5, 40)  # tokens read at once: each way to multiply
_LIMIT_S = 300


def try_out(
    folder: Path, device: str | None, tried: Path, is_cancelled: Callable[[], bool], limit_s: float = _LIMIT_S
) -> None:
    """Returns where the drafter can be loaded and run. `tried` is a folder with an empty file for each that could: they
    are not tried again, until their files change. Takes some seconds else. Raises DrafterUnusable and Cancelled."""
    note = tried / _digest(folder, device)
    if note.exists():
        return
    try:
        complaint = ask_child(look, (folder, device), is_cancelled, Limits(wall_s=limit_s))
    except Cancelled:
        raise Cancelled("Loading the drafter was cancelled.") from None
    if complaint is None:
        raise DrafterUnusable(
            f"{folder.name} ended the process that tried it, or took minutes; choose another drafter."
        )
    if complaint:
        raise DrafterUnusable(complaint)
    with suppress(OSError):  # no room, or not to be written: then it is tried again
        tried.mkdir(parents=True, exist_ok=True)
        note.touch()


def look(folder: Path, device: str | None) -> str:
    """What is wrong with the drafter, in a sentence; empty where nothing is. For a process of its own."""
    try:
        drafter = load_drafter(folder, device, usable_cores()).model
        for size in _CHUNKS:
            drafter.roll_back(0)
            if not np.isfinite(drafter.read([0] * size)).all():
                return f"{folder.name} computes no numbers; download the drafter again."
    except MendableError as error:
        return str(error)
    return ""


def _digest(folder: Path, device: str | None) -> str:
    """Of the folder's files, and of what decides how torch multiplies."""
    files = sorted((file.name, file.stat()) for file in folder.glob("*") if file.is_file())
    known = [(name, status.st_size, status.st_mtime_ns) for name, status in files]
    place = (torch.__version__, torch.backends.cpu.get_cpu_capability(), device)
    return hashlib.sha256(repr((str(folder.absolute()), known, place)).encode()).hexdigest()
