"""Costs of passes in one reply after another, for the ratio to plain decoding that is reported with each."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from engine.speculation.decoding.figures import DecodingFigures
from engine.speculation.numerics.draft_length import PassCosts

_DRAFTED_COUNT = 4.0  # plain passes: what all others of a reply count for in the speed of the machine
_UNSURE = 0.05  # standard error of a multiple, as a share of it: of a speed that no plain pass has shown
_LARGEST_SURPRISE = math.log(2)  # a pass that took longer or shorter than that is a hiccup of the machine
_LONGEST_MEMORY = 50  # passes that the multiple of a number of rows stands for


@dataclass(slots=True)
class _Mean:
    """The mean and variance of logarithms."""

    number: int = 0
    sum: float = 0.0
    squares: float = 0.0

    def note(self, value: float) -> None:
        if self.number:
            value = min(max(value, self.value - _LARGEST_SURPRISE), self.value + _LARGEST_SURPRISE)
        self.number += 1
        self.sum += value
        self.squares += value * value

    @property
    def value(self) -> float:
        return self.sum / self.number

    @property
    def variance(self) -> float:
        return max(0.0, self.squares / self.number - self.value**2) if self.number else 0.0


class ReplyCosts:
    """Keeps the machine's speed apart from what passes cost. The machine is faster in one minute than in the next,
    while a pass over several rows always takes about the same multiple of one over a single row. So the time of passes
    over several rows is attributed to the machine, except for what plain passes of the same reply contradict. Unlike
    the draft policy, which follows what passes cost at any moment, this is not misled where plain passes are rare.

    Our own work counts on both sides: plain decoding takes what it takes in a plain round, and this reply what its
    drafts and the steps of the drafter take more. Until a plain round has shown it, plain decoding is taken to need
    none."""

    def __init__(self, passes: PassCosts) -> None:
        """`passes`: as measured at first, or known from earlier."""
        self._passes = passes
        self._logs = {rows: math.log(passes.of(rows) / passes.of(1)) for rows in range(1, passes.most_rows + 1)}
        self._weights: defaultdict[int, float] = defaultdict(float)
        self._last_rows = 1
        self._begin()

    def note(self, num_rows: int, seconds: float) -> None:
        """Notes the seconds of the target's pass over `num_rows`, and of its rollback."""
        change_s = self._passes.change_s if num_rows != self._last_rows else 0.0
        self._last_rows = num_rows
        if seconds <= 0 or num_rows not in self._logs:
            return
        log = math.log(max(seconds - change_s, seconds / 2)) - self._logs[num_rows]
        (self._plain if num_rows == 1 else self._drafted).note(log)
        if num_rows > 1:
            self._by_rows[num_rows].note(log)

    def end_reply(self) -> None:
        """Keeps what the plain passes of the reply said of the others."""
        if self._plain.number:
            speed = self._speed
            for rows, seen in self._by_rows.items():
                self._weights[rows] = min(self._weights[rows] + seen.number, _LONGEST_MEMORY)
                share = seen.number / (self._weights[rows] + _DRAFTED_COUNT)
                self._logs[rows] += min(1.0, share) * (seen.value - speed)
        self._begin()

    def ratio(self, figures: DecodingFigures) -> float:
        """The speed of this reply relative to plain decoding, with every pass taking its usual time: so a hiccup of the
        machine is neither blamed on drafts nor credited to them. 0 where nothing was written."""
        passes, num_rounds = self._passes, sum(figures.passes.values())
        plain_s = math.exp(self._speed)
        dearer = math.exp(self._drafted.value - self._speed) if self._drafted.number else 1.0
        costs = {rows: math.exp(self._logs.get(rows, 0.0)) * (dearer if rows > 1 else 1.0) for rows in figures.passes}
        spent = plain_s * sum(count * costs[rows] for rows, count in figures.passes.items())
        spent += passes.change_s * figures.num_changes + figures.draft_s
        spent += passes.own.of(num_rounds, num_rounds - figures.passes[1], figures.num_steps)
        return figures.num_written * (plain_s + passes.own.plain_s) / spent if spent > 0 else 0.0

    @property
    def plain(self) -> tuple[float, float]:
        """The speed of plain decoding during this reply in tokens per second, and its standard error as a share of it;
        zeros while nothing is known."""
        told = self._num_told
        if not told:
            return 0.0, 0.0
        spread = (self._plain if self._plain.number > 1 else self._drafted).variance
        unanchored = _UNSURE * (told - self._plain.number) / told
        return 1 / (math.exp(self._speed) + self._passes.own.plain_s), math.hypot(math.sqrt(spread / told), unanchored)

    @property
    def _num_told(self) -> float:
        """The number of plain passes, including those that the others are worth."""
        return self._plain.number + min(self._drafted.number, _DRAFTED_COUNT)

    @property
    def _speed(self) -> float:
        """The logarithm of the seconds of a plain pass in this reply."""
        plain, drafted, told = self._plain, self._drafted, self._num_told
        if not told:
            return math.log(self._passes.of(1))
        return (plain.sum + (told - plain.number) * (drafted.value if drafted.number else 0.0)) / told

    def _begin(self) -> None:
        self._plain, self._drafted = _Mean(), _Mean()
        self._by_rows: defaultdict[int, _Mean] = defaultdict(_Mean)
