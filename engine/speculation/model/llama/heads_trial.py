"""A first look at the heads that a model brings, in a separate process.

Headers were compared (`model/files/brought.py`), but llama.cpp checks some of what it reads by ending the process. Here
it ends that one. It loads the target, too, for which the heads were made; weights are read in place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import numpy as np

from engine.speculation.model.apart.child import Limits, ask_child
from engine.speculation.model.files.identity import file_stamp
from engine.speculation.model.files.model_files import part_paths
from engine.speculation.model.llama.cpu import usable_cores
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.speculation.model.llama.passes import sample_tokens
from engine.speculation.model.llama.runtime import library_digest
from engine.values.config import TargetSettings
from engine.values.errors import Cancelled, DrafterUnusable, MendableError
from engine.values.sentences import as_text, from_text, say
from engine.values.stop_signal import StopSignal
from engine.values.targets import HeadMethod
from engine.values.whole_file import private_folder

_SETTINGS = TargetSettings(context_size=256, gpu_layers=0)
_MAX_ROWS = 8
_NUM_TOKENS = 24
_GUESSES = 4
_MEMORY_BYTES = 4 << 30
_OPENING_S, _S_PER_GIB = 10.0, 20.0  # of each core
_WALL_S, _SLOWEST_DISK = 600.0, 5 << 20  # bytes a second


def try_heads(
    method: HeadMethod, path: Path | None, target: Path, tried: Path, is_cancelled: Callable[[], bool]
) -> None:
    """Returns if these heads, or where `path` is None the target's own, can draft for the target. `tried` is a folder
    with an empty file for each pair that could, which is not tried again until a file or llama.cpp changes. Raises
    DrafterUnusable and Cancelled."""
    stamps = repr((method.value, path and file_stamp(path), file_stamp(target), library_digest()))
    note = tried / hashlib.sha256(stamps.encode()).hexdigest()
    if note.exists():
        return
    size = sum(part.stat().st_size for each in {path or target, target} for part in part_paths(each) if part.is_file())
    processor_s = _OPENING_S + _S_PER_GIB * usable_cores() * size / 2**30
    limits = Limits(_MEMORY_BYTES + size // 4, processor_s, _WALL_S + size / _SLOWEST_DISK)
    try:
        complaint = ask_child(look, (method, path, target), is_cancelled, limits)
    except Cancelled:
        raise Cancelled("Loading the heads was cancelled.") from None
    if complaint is None:
        raise DrafterUnusable(
            "{name} cannot draft: llama.cpp ended the process that tried it; get the drafter made for this model.",
            name=(path or target).name,
        )
    if complaint:
        raise DrafterUnusable(from_text(complaint))
    with suppress(OSError):  # no room, or not to be written: then it is tried again
        private_folder(tried)
        note.touch(0o600)


def look(method: HeadMethod, path: Path | None, target_path: Path) -> str:
    """The fault of the heads, packed by `as_text`; empty if there is none. Runs in a separate process."""
    go = StopSignal()
    try:
        target = LlamaCppTarget.load(
            target_path, target_path.stem, _SETTINGS, lambda _: None, go, _MAX_ROWS, is_trial=True, with_heads=True
        )
        with closing(target):
            heads = target.open_heads(method, path)
            target.lead(heads)
            tokens = sample_tokens(target, _NUM_TOKENS)
            for start in (0, _NUM_TOKENS // 2):
                target.evaluate(tokens[start : start + _NUM_TOKENS // 2], 1, go)
                row = heads.start(tokens[start], _GUESSES)
                for _ in range(min(_GUESSES, heads.max_guesses or _GUESSES) - 1):
                    if not np.isfinite(row.max()):
                        name = (path or target_path).name
                        return as_text(
                            say("{name} does not compute numbers; it is damaged: download it again.", name=name)
                        )
                    row = heads.next(int(row.argmax()))
                target.roll_back(target.num_held - 1)
    except MendableError as error:
        return as_text(error.sentence)
    return ""
