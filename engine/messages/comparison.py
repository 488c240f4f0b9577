"""What came of answering one prompt without guesses and with them; plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Side(StrEnum):
    PLAIN = "plain"  # nobody guesses
    SPED_UP = "sped_up"


@dataclass(frozen=True, slots=True)
class RunFigures:
    """One reply, or what there is of it. Tokens are the target's; reading the prompt is not counted."""

    num_tokens: int
    seconds: float
    tokens_per_s: float
    num_rounds: int = 0  # passes of the target
    num_drafted: int = 0
    num_accepted: int = 0


@dataclass(frozen=True, slots=True)
class TextFork:
    """Where two greedy replies part. Chances are the target's, by its plain passes; None where it held the word for
    very unlikely, or they are not known."""

    num_tokens: int  # that are the same
    plain: str  # the word that followed without guesses; empty: the reply ended
    sped_up: str  # and with them
    plain_chance: float | None
    sped_up_chance: float | None

    @property
    def logit_gap(self) -> float | None:
        """How much likelier the one was than the other; None where that is not known."""
        if not self.plain_chance or not self.sped_up_chance:
            return None
        return abs(math.log(self.plain_chance / self.sped_up_chance))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Replies that were broken off are left out."""

    plain: tuple[RunFigures, ...]
    sped_up: tuple[RunFigures, ...]
    is_greedy: bool
    is_stopped: bool  # before all replies were written
    fork: TextFork | None  # of greedy replies; None where all are the same

    @property
    def ratio(self) -> float | None:
        """How many times as fast; None where one side has not been measured."""
        plain, sped_up = speed(self.plain), speed(self.sped_up)
        return sped_up / plain if plain and sped_up else None

    @property
    def range(self) -> tuple[float, float] | None:
        """The least and the largest ratio of a reply on either side; None with less than two on each."""
        if min(len(self.plain), len(self.sped_up)) < 2 or self.ratio is None:
            return None
        plain = [run.tokens_per_s for run in self.plain]
        sped_up = [run.tokens_per_s for run in self.sped_up]
        return min(sped_up) / max(plain), max(sped_up) / min(plain)


def speed(runs: Sequence[RunFigures]) -> float:
    """Tokens per second over all of them; 0 where there are none."""
    seconds = sum(run.seconds for run in runs)
    return sum(run.tokens_per_s * run.seconds for run in runs) / seconds if seconds > 0 else 0.0
