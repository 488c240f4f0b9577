"""Refuses a drafter whose config.json asks for more than its files hold, or than there is memory, before anything of
that size is allocated."""

from __future__ import annotations

from math import prod
from pathlib import Path

import psutil

from engine.drafter.choice import weight_bytes
from engine.drafter.loading import expected_weights
from engine.drafter.matrices import WeightForm
from engine.drafter.model import DEFAULT_MAX_HELD
from engine.drafter.shape import LlamaShape
from engine.errors import DrafterUnusable

_LEAST_BITS = 4  # of a stored weight
_BYTES = {WeightForm.INT8: 1, WeightForm.DENSE: 4}  # of a weight in memory, at most
_FLOAT_BYTES = 4


def check_room(folder: Path, shape: LlamaShape, form: WeightForm, max_held: int | None = None) -> None:
    """Raises DrafterUnusable."""
    num_weights = sum(prod(size) for _name, size in expected_weights(shape))
    stored = weight_bytes(folder)
    if stored and stored < num_weights * _LEAST_BITS // 8:  # that there are none is said when they are read
        raise DrafterUnusable(
            f"The weights in {folder} are cut short or damaged: its config.json describes {num_weights:,} weights, and "
            f"{stored:,} bytes are there; download the drafter again."
        )
    held = min(shape.max_positions, max_held or DEFAULT_MAX_HELD)
    cache = 2 * shape.num_layers * shape.num_kv_heads * shape.head_dim * held * _FLOAT_BYTES
    needed, total = num_weights * _BYTES[form] + cache, psutil.virtual_memory().total
    if needed > total:
        raise DrafterUnusable(
            f"{folder.name} takes {needed / 2**30:.1f} GiB as a drafter, but this computer has {total / 2**30:.1f} GiB "
            "of memory; choose a smaller drafter."
        )
