"""Where chance enters: two verbs, so that a test can go through every outcome instead."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt


class Dice(Protocol):
    def happens(self, probability: float) -> bool: ...

    def choose(self, weights: npt.NDArray[np.float64]) -> int:
        """A place in `weights`, shape (n,), in proportion to them; they need not sum to 1."""
        ...


class RandomDice:
    """Dice over numpy's generator; the same seed gives the same throws."""

    def __init__(self, seed: int | None) -> None:
        self._random = np.random.default_rng(seed).random

    def happens(self, probability: float) -> bool:
        return self._random() < probability

    def choose(self, weights: npt.NDArray[np.float64]) -> int:
        if len(weights) == 1:
            return 0
        cumulative = np.cumsum(weights)
        # Scaled by the last sum, so that rounding can never leave the throw beyond it.
        place = int(np.searchsorted(cumulative, self._random() * cumulative[-1], side="right"))
        return min(place, len(weights) - 1)
