"""Times the rounds of a reply."""

from __future__ import annotations

import math
from collections import deque

_WINDOW_S = 1.0  # what is meant by now
_FEWEST_ROUNDS = 4  # of which that is said, however long they take


class ReplyPace:
    """Adds up rounds, each in a handful of operations; what follows from them is worked out when it is asked for."""

    def __init__(self, now: float, num_tokens: int = 0) -> None:
        """It begins `now`, in seconds of the clock that `note` is told, with so many tokens written already."""
        self._latest = deque([(now, num_tokens)])  # ends of rounds, and tokens written until then
        self._begin(now, num_tokens)

    def note(self, now: float, num_tokens: int) -> None:
        """A round has ended, with so many tokens of the reply written in all."""
        then, before = self._latest[-1]
        seconds, tokens = now - then, num_tokens - before
        self._num_rounds += 1
        self._sum_ss += seconds * seconds
        self._sum_st += seconds * tokens
        self._sum_tt += tokens * tokens
        latest = self._latest
        latest.append((now, num_tokens))
        while len(latest) > _FEWEST_ROUNDS + 1 and latest[1][0] <= now - _WINDOW_S:
            latest.popleft()

    def begin_anew(self) -> None:
        """What was written until now says nothing about what follows."""
        self._begin(*self._latest[-1])

    @property
    def num_measured(self) -> int:
        """Tokens that the mean is made of."""
        return self._latest[-1][1] - self._first_token

    @property
    def now(self) -> float:
        """Tokens per second of late; 0: not known yet."""
        (begin, first), (end, last) = self._latest[0], self._latest[-1]
        return (last - first) / (end - begin) if end > begin else 0.0

    @property
    def mean(self) -> float:
        """Tokens per second since it began; 0: not known yet."""
        seconds = self._latest[-1][0] - self._began_at
        return self.num_measured / seconds if seconds > 0 else 0.0

    @property
    def error(self) -> float:
        """Standard error of the mean, as a share of it, from how much the rounds differ; infinite for less than two."""
        n, seconds, mean = self._num_rounds, self._latest[-1][0] - self._began_at, self.mean
        if n < 2 or mean <= 0:
            return math.inf
        # A ratio of sums: its error is that of the sum of (tokens - mean x seconds), which is 0 on the whole.
        squares = self._sum_tt - 2 * mean * self._sum_st + mean * mean * self._sum_ss
        return math.sqrt(max(0.0, squares) * n / (n - 1)) / (mean * seconds)

    def _begin(self, now: float, num_tokens: int) -> None:
        self._began_at = now
        self._first_token = num_tokens
        self._num_rounds = 0
        self._sum_ss = self._sum_st = self._sum_tt = 0.0
