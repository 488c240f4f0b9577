"""The speed of a reply while it is being written, and its ratio to plain decoding."""

from __future__ import annotations

import math
from dataclasses import dataclass

FEWEST_TOKENS = 24  # a reply must be longer, before its ratio is shown
LARGEST_ERROR = 0.25  # as a share of a ratio that is shown
SLOWER = 0.97  # below it, a ratio is that of a reply which drafting slowed down
FASTER = 1.05  # above it, of one which it sped up; between the two, the speed is the plain one


@dataclass(frozen=True, slots=True)
class Speedup:
    """A ratio to the speed of plain decoding."""

    value: float
    error: float  # its standard error

    @property
    def is_gain(self) -> bool:
        """Whether drafting has sped it up, by more than the error."""
        return self.value > max(FASTER, 1 + self.error)

    @property
    def is_loss(self) -> bool:
        """Whether drafting has slowed it down, by more than the error."""
        return self.value < min(SLOWER, 1 - self.error)


def speedup_of(
    tokens_per_s: float,
    error: float,
    plain_tokens_per_s: float,
    plain_error: float,
    num_tokens: int,
) -> Speedup | None:
    """Errors are standard errors, as shares of the speeds. None while too little is known."""
    if num_tokens <= FEWEST_TOKENS or tokens_per_s <= 0 or plain_tokens_per_s <= 0:
        return None
    share = math.hypot(error, plain_error)
    if not share <= LARGEST_ERROR:
        return None
    value = tokens_per_s / plain_tokens_per_s
    return Speedup(value, share * value)


@dataclass(frozen=True, slots=True)
class LiveFigures:
    """Figures of a reply in progress, as in `ReplyStatistics`. The mean leaves out the tokens written while the drafter
    was being loaded, which slows down the machine."""

    num_tokens: int = 0  # 0 also where a server does not tell it yet
    tokens_per_s: float = 0.0  # in the last second or so; 0 = not known yet
    mean_tokens_per_s: float = 0.0  # of the reply so far; 0 = not known yet
    mean_error: float = 0.0  # standard error of that, as a share of it
    num_measured: int = 0  # tokens in the mean
    plain_tokens_per_s: float = 0.0  # of plain decoding on this machine; 0 = not known
    plain_error: float = 0.0  # standard error of that, as a share of it
    num_rounds: int = 0
    num_drafted: int = 0
    num_accepted: int = 0
    context_used: int = 0
    is_compared: bool = False  # whether plain decoding is measured: not if nobody may draft
    ratio: float = 0.0  # to plain decoding, by counts; 0 = not known

    @property
    def speedup(self) -> Speedup | None:
        """None while too little is known. By counts it has no error."""
        if self.ratio and self.plain_tokens_per_s:
            return speedup_of(self.ratio, 0.0, 1.0, 0.0, self.num_measured)
        return speedup_of(
            self.mean_tokens_per_s, self.mean_error, self.plain_tokens_per_s, self.plain_error, self.num_measured
        )

    @property
    def tokens_per_round(self) -> float:
        return (self.num_rounds + self.num_accepted) / self.num_rounds if self.num_rounds else 0.0

    @property
    def accepted_share(self) -> float | None:
        """Of the drafted tokens; None if there are none."""
        return self.num_accepted / self.num_drafted if self.num_drafted else None
