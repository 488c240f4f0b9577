"""Tries an unknown drafter once in a separate process.

torch's products for a CPU are private and check little: with untried numbers of inputs or outputs, on this processor,
they may read memory that is not there and end the process. Here they end that one instead.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from engine.speculation.drafter.checkpoint import choose_device, load_drafter
from engine.speculation.drafter.choice import bytes_on_disk, weight_bytes
from engine.speculation.drafter.files import TOKENIZER
from engine.speculation.drafter.tokenizer_apart import limits_for
from engine.speculation.model.apart.child import ask_child
from engine.speculation.model.apart.sandbox import Access
from engine.speculation.model.llama.cpu import usable_cores
from engine.values.errors import Cancelled, DrafterUnusable, MendableError
from engine.values.sentences import as_text, from_text, say
from engine.values.whole_file import private_folder

_CHUNKS = (1, 5, 40)  # tokens read at once: each way to multiply
_MOST_FILES = 1000  # of a folder; those of drafters have ten


def try_out(folder: Path, device: str | None, tried: Path, is_cancelled: Callable[[], bool]) -> None:
    """Returns if the drafter can be loaded and run. `tried` is a folder with an empty file for each that could: these
    are not tried again until their files change. Otherwise takes some seconds. Raises DrafterUnusable and Cancelled."""
    note = tried / _digest(folder, device)
    if note.exists():
        return
    limits = limits_for(weight_bytes(folder) + bytes_on_disk(folder / TOKENIZER))
    try:
        access = Access(reads=True, uses_graphics=choose_device(device) != "cpu")
        complaint = ask_child(look, (folder, device), is_cancelled, limits, access)
    except Cancelled:
        raise Cancelled("Loading the drafter was cancelled.") from None
    if complaint is None:
        raise DrafterUnusable(
            "{name} crashed the process that tried it, or took far more time or memory than its size suggests; "
            "choose another drafter.",
            name=folder.name,
        )
    if complaint:
        raise DrafterUnusable(from_text(complaint))
    with suppress(OSError):  # no room, or not to be written: then it is tried again
        private_folder(tried)
        note.touch(0o600)


def look(folder: Path, device: str | None) -> str:
    """The fault of the drafter, packed by `as_text`; empty if there is none. Runs in a separate process."""
    try:
        drafter = load_drafter(folder, device, usable_cores()).model
        for size in _CHUNKS:
            drafter.roll_back(0)
            if not np.isfinite(drafter.read([0] * size)).all():
                return as_text(say("{name} does not compute numbers; download the drafter again.", name=folder.name))
    except MendableError as error:
        return as_text(error.sentence)
    return ""


def _digest(folder: Path, device: str | None) -> str:
    """A digest of the folder's files, and of what decides how torch multiplies. Raises DrafterUnusable."""
    try:
        files = sorted(islice(folder.iterdir(), _MOST_FILES + 1))
        known = [(file.name, *_stamp(file.stat())) for file in files if file.is_file()]
    except OSError as error:
        raise DrafterUnusable(
            "{folder} cannot be read ({reason}); check its permissions.", folder=folder, reason=error.strerror
        ) from error
    if len(files) > _MOST_FILES:
        raise DrafterUnusable("{folder} contains thousands of files; choose the folder of one drafter.", folder=folder)
    place = (torch.__version__, torch.backends.cpu.get_cpu_capability(), device)
    return hashlib.sha256(repr((str(folder.absolute()), known, place)).encode()).hexdigest()


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    """The size and times of a file; no program can set the last."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns
