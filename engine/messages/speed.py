"""How fast a reply is being written, and how that compares with writing it without drafts. Plain values."""

from __future__ import annotations

import math
from dataclasses import dataclass

FEWEST_TOKENS = 24  # of which a reply must have more, before anything is said of its speed
LARGEST_ERROR = 0.25  # as a share of a ratio; one that is known no better is not told


@dataclass(frozen=True, slots=True)
class Speedup:
    """How many times as fast as without drafts."""

    value: float
    error: float  # standard error, in the same unit


def speedup_of(
    tokens_per_s: float,
    error: float,
    plain_tokens_per_s: float,
    plain_error: float,
    num_tokens: int,
    largest_error: float = LARGEST_ERROR,
) -> Speedup | None:
    """Errors are standard errors, as shares of the speeds. None where too little is known to say anything."""
    if num_tokens <= FEWEST_TOKENS or tokens_per_s <= 0 or plain_tokens_per_s <= 0:
        return None
    share = math.hypot(error, plain_error)
    if not share <= largest_error:
        return None
    value = tokens_per_s / plain_tokens_per_s
    return Speedup(value, share * value)


@dataclass(frozen=True, slots=True)
class LiveFigures:
    """Of a reply that is being written. Counts are tokens of the target; those of rounds are as in `ReplyStatistics`.

    The mean leaves out what was written while the drafter was still being loaded, which holds the machine up.
    """

    num_tokens: int = 0
    tokens_per_s: float = 0.0  # of late, about a second; 0 = not known yet
    mean_tokens_per_s: float = 0.0  # of the reply so far; 0 = not known yet
    mean_error: float = 0.0  # standard error of that, as a share of it
    num_measured: int = 0  # tokens that the mean is made of
    plain_tokens_per_s: float = 0.0  # what this machine writes without drafts, measured meanwhile; 0 = not known
    plain_error: float = 0.0  # standard error of that, as a share of it
    num_rounds: int = 0
    num_drafted: int = 0
    num_accepted: int = 0
    context_used: int = 0
    is_compared: bool = False  # whether plain decoding is measured at all; not where nobody may draft

    @property
    def speedup(self) -> Speedup | None:
        """None until there is something to say."""
        return self.speedup_within(LARGEST_ERROR)

    def speedup_within(self, largest_error: float) -> Speedup | None:
        """None where it is known no better than that, as a share of it."""
        return speedup_of(
            self.mean_tokens_per_s,
            self.mean_error,
            self.plain_tokens_per_s,
            self.plain_error,
            self.num_measured,
            largest_error,
        )

    @property
    def tokens_per_round(self) -> float:
        return (self.num_rounds + self.num_accepted) / self.num_rounds if self.num_rounds else 0.0

    @property
    def accepted_share(self) -> float | None:
        """Of the drafted tokens; None where none was drafted."""
        return self.num_accepted / self.num_drafted if self.num_drafted else None
