"""Refuses a drafter whose config.json asks for more than its files hold, or than there is memory for, before anything
of that size is allocated."""

from __future__ import annotations

from math import prod
from pathlib import Path

import psutil

from engine.speculation.drafter.choice import weight_bytes
from engine.speculation.drafter.config_file import MIN_POSITIONS
from engine.speculation.drafter.loading import expected_weights
from engine.speculation.drafter.matrices import WeightForm
from engine.speculation.drafter.model import cache_bytes, most_held
from engine.speculation.drafter.shape import LlamaShape
from engine.values.errors import DrafterUnusable

_LEAST_BITS = 4  # of a stored weight
_BYTES = {WeightForm.INT8: 1, WeightForm.DENSE: 4}  # of a weight in memory, at most


def check_room(folder: Path, shape: LlamaShape, form: WeightForm, max_held: int | None = None) -> None:
    """Raises DrafterUnusable."""
    num_weights = sum(prod(size) for _name, size in expected_weights(shape))
    stored = weight_bytes(folder)
    if stored and stored < num_weights * _LEAST_BITS // 8:  # missing weights are reported when they are read
        raise DrafterUnusable(
            "The weights in {folder} are cut short or damaged: its config.json describes {num_weights:,} "
            "weights, and {stored:,} bytes are there; download the drafter again.",
            folder=folder,
            num_weights=num_weights,
            stored=stored,
        )
    if most_held(shape) < MIN_POSITIONS:
        raise DrafterUnusable(
            "{name} takes far more memory per token than its weights take; choose another drafter.",
            name=folder.name,
        )
    total = psutil.virtual_memory().total
    needed = num_weights * _BYTES[form] + cache_bytes(shape, most_held(shape, max_held))
    if needed > total:
        raise DrafterUnusable(
            "{name} takes {needed:.1f} GB as a drafter, but this computer has {total:.1f} GB of memory; "
            "choose a smaller drafter.",
            name=folder.name,
            needed=needed / 1e9,
            total=total / 1e9,
        )
