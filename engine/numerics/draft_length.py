"""How far to draft: what passes cost, what guesses are worth, and the length that pays best."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

MAX_LENGTH = 15  # tokens of a draft; one pass then has 16 rows
_REFINEMENT = 0.1  # how much one pass changes what is known about passes
_LARGEST_SURPRISE = 2.0  # a pass that took longer or shorter than that says more about the machine than about passes


class PassCosts:
    """V(n): the seconds of a pass over n tokens, for n from 1 to MAX_LENGTH + 1."""

    def __init__(self, measured: Mapping[int, float]) -> None:
        """`measured` maps some numbers of tokens, 1 among them, to seconds; the others are filled in between."""
        self._seconds = _filled(measured)

    def of(self, num_tokens: int) -> float:
        return self._seconds[min(num_tokens, MAX_LENGTH + 1) - 1]

    def refine(self, num_tokens: int, seconds: float) -> None:
        """A pass over `num_tokens` took so long. All costs move with it, since they grow together with the context and
        with what else the machine does; its own moves most."""
        if not 1 <= num_tokens <= MAX_LENGTH + 1:
            return
        place = num_tokens - 1
        surprise = min(max(seconds / self._seconds[place], 1 / _LARGEST_SURPRISE), _LARGEST_SURPRISE)
        together = surprise ** (_REFINEMENT / 2)
        self._seconds = [known * together for known in self._seconds]
        self._seconds[place] *= together


class FixedCosts(PassCosts):
    """Costs that are given and stay."""

    def refine(self, num_tokens: int, seconds: float) -> None: ...


def best_length(costs: PassCosts, acceptance: float, cost_per_token: float, longest: int) -> int:
    """The draft length k that brings most tokens per second: argmax (1 + a + … + a^k) / (V(k+1) + k·c); 0 when
    drafting does not pay.

    `acceptance` a is the probability that a drafted token stands, given that those before it did; `cost_per_token` c
    the seconds that drafting one takes.
    """
    best, best_speed = 0, 0.0
    tokens = stands = 1.0
    for length in range(min(longest, MAX_LENGTH) + 1):
        speed = tokens / (costs.of(length + 1) + length * cost_per_token)
        if speed > best_speed:
            best, best_speed = length, speed
        stands *= acceptance
        tokens += stands
    return best


def _filled(measured: Mapping[int, float]) -> list[float]:
    points = sorted(measured.items())
    assert points
    assert points[0][0] == 1
    seconds = [points[0][1]]
    for (low, low_s), (high, high_s) in pairwise(points):
        step = (high_s - low_s) / (high - low)
        seconds += [low_s + step * (place + 1) for place in range(high - low)]
    # Beyond the last point a token costs what it did on average up to there.
    last, last_s = points[-1]
    slope = (last_s - seconds[0]) / (last - 1) if last > 1 else seconds[0] * 0.25
    seconds += [last_s + max(slope, 0.0) * (place + 1) for place in range(MAX_LENGTH + 1 - last)]
    return seconds[: MAX_LENGTH + 1]
