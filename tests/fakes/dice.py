"""Dice that go through every outcome instead of drawing one, so that a distribution can be summed exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from engine.speculation.numerics.sampling import Dice

Result = TypeVar("Result")


class _Script:
    """Dice that follow a script, and give the first possible outcome when the script has ended."""

    def __init__(self, written: tuple[int, ...]) -> None:
        self._written = written
        self._num_thrown = 0
        self.weight = 1.0
        self.untried: list[tuple[int, ...]] = []
        self._thrown: tuple[int, ...] = ()

    def happens(self, probability: float) -> bool:
        assert 0 <= probability <= 1 + 1e-12
        return self._throw([1 - probability, probability]) == 1

    def choose(self, weights: npt.NDArray[np.float64]) -> int:
        listed = weights.tolist()  # there are few of them: numpy would take several times as long
        assert min(listed) >= 0
        assert sum(listed) > 0
        return self._throw(listed)

    def _throw(self, weights: list[float]) -> int:
        if self._num_thrown < len(self._written):
            outcome = self._written[self._num_thrown]
        else:
            outcome, *others = (place for place, weight in enumerate(weights) if weight > 0)
            self.untried += [(*self._thrown, other) for other in others]
        self._num_thrown += 1
        self._thrown = (*self._thrown, outcome)
        self.weight *= weights[outcome] / sum(weights)
        return outcome


def every_outcome(run: Callable[[Dice], Result]) -> Iterator[tuple[float, Result]]:
    """What `run` returns for each way its dice can fall, with the probability of that way."""
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        script = _Script(scripts.pop())
        result = run(script)
        scripts += script.untried
        yield script.weight, result
