"""Estimates from round to round: how likely guesses are to be accepted, and how fast plain decoding is."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

from engine.values.draft_policy import KnownChances

_GUESS_MEMORY = 0.985  # what counts of a guess when the next of its kind is seen
_PRIOR_WEIGHT = 8.0  # guesses that a prior is worth
_LEAN_STEP = 0.12  # of one guess, in log odds
_LEAN_MEMORY = 0.97
_HIGHEST_SHARE = 0.995
_WARMER = (0.5, 1.0)  # temperatures that end a level
NUM_LEVELS = len(_WARMER) + 2
_ROUND_MEMORY = 0.95  # what counts of a round when the next is seen
_LARGEST_SURPRISE = 3.0  # times what is known: more is a hiccup of the machine


class Calibration:
    """The share of guesses of each kind that were accepted recently; and a lean: whether the present text is easier or
    harder than that. The shares change slowly, the lean follows within a dozen guesses and fades as quickly: an online
    logistic regression with one weight for each kind and one for the moment.

    Each level of temperature has shares of its own, as the same guess stands less often the freer the target is."""

    def __init__(self, priors: Sequence[float], fewest_known: int = 0) -> None:
        """`priors`: for each kind, the chance before anything was seen. A record of fewer than `fewest_known` kinds is
        ignored."""
        self._fewest_known = fewest_known
        self._accepted = [prior * _PRIOR_WEIGHT for prior in priors]
        self._tried = [_PRIOR_WEIGHT] * len(priors)
        self._level = 0
        self._others: dict[int, tuple[list[float], list[float]]] = {}  # accepted and tried at the other levels
        self._lean = 0.0

    def chance(self, kind: int) -> float:
        share = self.share(kind)
        return share / (share + (1 - share) * math.exp(-self._lean))

    def share(self, kind: int) -> float:
        return min(max(self._accepted[kind] / self._tried[kind], 1 - _HIGHEST_SHARE), _HIGHEST_SHARE)

    def enter(self, level: int) -> None:
        """Switches to the shares at a level of temperature (see `level_of`). One that was never seen begins with the
        present shares, which then weigh no more than priors."""
        if level == self._level:
            return
        self._others[self._level] = self._accepted, self._tried
        self._level = level
        known = self._others.pop(level, None)
        if known is None:
            weights = [min(1.0, _PRIOR_WEIGHT / tried) for tried in self._tried]
            known = (
                [accepted * weight for accepted, weight in zip(self._accepted, weights, strict=True)],
                [tried * weight for tried, weight in zip(self._tried, weights, strict=True)],
            )
        self._accepted, self._tried = known

    @property
    def known(self) -> dict[int, KnownChances]:
        """By level."""
        levels = {**self._others, self._level: (self._accepted, self._tried)}
        return {level: KnownChances(tuple(accepted), tuple(tried)) for level, (accepted, tried) in levels.items()}

    def know(self, known: KnownChances, level: int = 0) -> None:
        """Restores what was known earlier, if it is of the same kinds or of the first of them."""
        num_kinds, pairs = len(known.tried), list(zip(known.accepted, known.tried, strict=False))
        is_of_these = self._fewest_known <= num_kinds <= len(self._tried)
        if is_of_these and len(known.accepted) == num_kinds and all(a <= b > 0 for a, b in pairs):
            before = self._level
            self.enter(level)
            self._accepted[:num_kinds], self._tried[:num_kinds] = known.accepted, known.tried
            self.enter(before)

    def note(self, kind: int, accepted: float, leans: bool = True) -> None:
        """Notes a guess. `accepted`: whether it was, or how likely that was; `leans`: whether that says something of
        the present text."""
        if leans:
            self._lean = _LEAN_MEMORY * self._lean + _LEAN_STEP * (accepted - self.chance(kind))
        self._accepted[kind] = _GUESS_MEMORY * self._accepted[kind] + accepted
        self._tried[kind] = _GUESS_MEMORY * self._tried[kind] + 1

    def forget_lean(self) -> None:
        """Forgets the lean: another text comes."""
        self._lean = 0.0


def level_of(temperature: float) -> int:
    """The level of a temperature: 0 where the target is greedy."""
    return 0 if temperature == 0 else bisect_left(_WARMER, temperature) + 1


class Baseline:
    """Running mean and spread of the seconds of a round without a draft, which writes one token."""

    def __init__(self, seconds: float) -> None:
        """`seconds`: a first idea, worth one round."""
        self.seconds = seconds  # of a token
        self._variance = 0.0
        self._weight = 1.0  # rounds that the mean stands for
        self.num_seen = 0

    def note(self, seconds: float) -> None:
        seen = min(seconds, _LARGEST_SURPRISE * self.seconds)
        self._weight = _ROUND_MEMORY * self._weight + 1
        surprise = seen - self.seconds
        self.seconds += surprise / self._weight
        self._variance += (surprise * (seen - self.seconds) - self._variance) / self._weight
        self.num_seen += 1

    def move(self) -> None:
        """Makes what is seen next count more, since conditions have changed."""
        self._weight = min(self._weight, 1.0)

    @property
    def spread(self) -> float:
        """Standard deviation of a round, as a share of the mean."""
        return math.sqrt(self._variance) / self.seconds

    @property
    def error(self) -> float:
        """Standard error of the mean, as a share of it."""
        return self.spread / math.sqrt(self._weight)
