"""How far two token sequences agree."""

from __future__ import annotations

from collections.abc import Sequence


def common_prefix_length(first: Sequence[int], second: Sequence[int]) -> int:
    """How many tokens both begin with."""
    length = min(len(first), len(second))
    if first[:length] == second[:length]:
        return length
    return next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), length)
