"""How fast this machine writes without drafts, from passes that were made without one."""

from __future__ import annotations

import math

_MEMORY = 0.95  # what counts of a round when the next is seen
_LARGEST_SURPRISE = 3.0  # times what is known: more is a hiccup of the machine


class Baseline:
    """Running mean and spread of the seconds of a round that writes one token alone."""

    def __init__(self, seconds: float) -> None:
        """`seconds`: a first idea, worth one round."""
        self.seconds = seconds  # of a token
        self._variance = 0.0
        self._weight = 1.0  # rounds that the mean stands for
        self.num_seen = 0

    def note(self, seconds: float) -> None:
        seen = min(seconds, _LARGEST_SURPRISE * self.seconds)
        self._weight = _MEMORY * self._weight + 1
        surprise = seen - self.seconds
        self.seconds += surprise / self._weight
        self._variance += (surprise * (seen - self.seconds) - self._variance) / self._weight
        self.num_seen += 1

    def move(self) -> None:
        """The conditions are others now: what is seen next counts more than what was."""
        self._weight = min(self._weight, 1.0)

    @property
    def spread(self) -> float:
        """Standard deviation of a round, as a share of the mean."""
        return math.sqrt(self._variance) / self.seconds

    @property
    def error(self) -> float:
        """Standard error of the mean, as a share of it."""
        return self.spread / math.sqrt(self._weight)
