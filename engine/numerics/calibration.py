"""How likely guesses stand, by kind, learned from those that did and did not."""

from __future__ import annotations

import math
from collections.abc import Sequence

_MEMORY = 0.985  # what counts of a guess when the next of its kind is seen
_PRIOR_WEIGHT = 8.0  # guesses that a prior is worth
_LEAN_STEP = 0.12  # of one guess, in log odds
_LEAN_MEMORY = 0.97
_SURELY = 0.995  # nothing is surer than that


class Calibration:
    """The share of guesses of each kind that stood, of late; and a lean, by which the text at hand is easier or harder
    than that. The shares are slow and sure, the lean follows within a dozen guesses and fades as quickly: an online
    logistic regression with one weight for each kind and one for the moment."""

    def __init__(self, priors: Sequence[float]) -> None:
        """`priors`: for each kind, the chance before anything was seen."""
        self._stood = [prior * _PRIOR_WEIGHT for prior in priors]
        self._tried = [_PRIOR_WEIGHT] * len(priors)
        self._lean = 0.0

    def chance(self, kind: int) -> float:
        return self.chances((kind,))[0]

    def chances(self, kinds: Sequence[int]) -> tuple[float, ...]:
        odds = math.exp(-self._lean)
        shares = (min(max(self._stood[kind] / self._tried[kind], 1 - _SURELY), _SURELY) for kind in kinds)
        return tuple(share / (share + (1 - share) * odds) for share in shares)

    def note(self, kind: int, stood: bool) -> None:
        self._lean = _LEAN_MEMORY * self._lean + _LEAN_STEP * (stood - self.chance(kind))
        self._stood[kind] = _MEMORY * self._stood[kind] + stood
        self._tried[kind] = _MEMORY * self._tried[kind] + 1
