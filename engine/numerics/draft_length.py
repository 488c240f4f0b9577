"""How far to draft: the costs of passes, and the length that gains most."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise

MAX_LENGTH = 15  # tokens of a draft; one pass then has 16 rows
_REFINEMENT = 0.1  # how much one pass changes what is known about passes, in the end
_LARGEST_SURPRISE = 2.0  # a pass that took longer or shorter than that says more about the machine than about passes
_SPANS = (256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768)  # numbers of tokens held at which costs change


class PassCosts:
    """V(n): the seconds of a pass over n tokens, for n from 1 to MAX_LENGTH + 1, by how much the target holds.

    A pass takes longer the more tokens are held, one over many tokens less so; each span of lengths has costs of its
    own. A span that is entered for the first time begins with the costs of the one before.
    """

    def __init__(self, measured: Mapping[int, float]) -> None:
        """`measured` maps some numbers of tokens, 1 among them, to seconds; the others are filled in between."""
        self._seconds = filled(measured)
        self._spans = {0: (self._seconds, 0)}  # span -> costs, and how many passes refined them
        self._span = 0
        self._num_seen = 0

    def of(self, num_tokens: int) -> float:
        return self._seconds[min(num_tokens, MAX_LENGTH + 1) - 1]

    def enter(self, num_held: int) -> bool:
        """From now on the costs are those of a target that holds so many tokens. Whether they are different."""
        span = bisect_right(_SPANS, num_held)
        if span == self._span:
            return False
        self._spans[self._span] = (self._seconds, self._num_seen)
        self._seconds, self._num_seen = self._spans.get(span, (self._seconds, 0))
        self._span = span
        return True

    def refine(self, num_tokens: int, seconds: float) -> None:
        """A pass over `num_tokens` took so long. All costs move with it, since they grow together with the context and
        with the machine's other work; its own moves most. The first passes of a span count more than later ones."""
        if not 1 <= num_tokens <= MAX_LENGTH + 1:
            return
        self._num_seen += 1
        place = num_tokens - 1
        surprise = min(max(seconds / self._seconds[place], 1 / _LARGEST_SURPRISE), _LARGEST_SURPRISE)
        together = surprise ** (max(_REFINEMENT, 1 / (self._num_seen + 1)) / 2)
        self._seconds = [known * together for known in self._seconds]
        self._seconds[place] *= together


class FixedCosts(PassCosts):
    """Given costs that stay."""

    def enter(self, num_held: int) -> bool:  # noqa: ARG002
        return False

    def refine(self, num_tokens: int, seconds: float) -> None: ...


def best_gain(
    costs: PassCosts, chances: Sequence[float], rate: float, num_rows: int = 1, step_s: float = 0.0
) -> tuple[int, float]:
    """How many of these tokens to check beside `num_rows` others, and the tokens gained by it: argmax over k of
    a₁ + a₁a₂ + … + a₁…aₖ − rate · (V(rows + k) − V(rows) + (k − 1) · step); (0, 0.0) where nothing is gained.

    `chances` a: that each is accepted if those before it are; `rate`: tokens per second otherwise; `step_s`: seconds
    for guessing one more, the first being there already. A token is worth drafting while its chance is above its costs
    at the going rate; a pass can cost less with more rows, so all lengths are tried.
    """
    best, best_gain = 0, 0.0
    accepted, gained = 1.0, 0.0
    without = costs.of(num_rows)
    for length, chance in enumerate(chances[: MAX_LENGTH + 1 - num_rows], 1):
        accepted *= chance
        gained += accepted
        gain = gained - rate * (costs.of(num_rows + length) - without + (length - 1) * step_s)
        if gain > best_gain:
            best, best_gain = length, gain
    return best, best_gain


def filled(measured: Mapping[int, float]) -> list[float]:
    """The seconds of passes over 1, 2, … MAX_LENGTH + 1 tokens, interpolated from some of them."""
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
