"""The result of answering one prompt without and with drafts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from engine.values.config import OwnSampling, ReplySettings
from engine.values.speed import Hindrance


class Side(StrEnum):
    PLAIN = "plain"  # without drafts
    SPED_UP = "sped_up"


@dataclass(frozen=True, slots=True)
class ChatSampling:
    """Where a chat's own sampling comes from."""

    conversation_id: int | None = None
    own: OwnSampling = OwnSampling()  # of a chat that does not exist yet


@dataclass(frozen=True, slots=True)
class ComparisonOrder:
    """What is to be compared, and how."""

    prompt: str
    conversation_id: int | None  # whose turns before its last prompt come first; None: the prompt alone
    settings: ReplySettings  # for their sampling; the comparison decides about length, drafting and learning
    num_tokens: int  # of each reply, at most
    system_prompt: str = ""  # without a conversation
    # Sample as in this chat: its own settings and those of the target override `settings`. None: `settings` alone
    sampled_as: ChatSampling | None = None


@dataclass(frozen=True, slots=True)
class RunFigures:
    """Figures of one reply, or of its beginning. Tokens are the target's; the time of the prompt is not included."""

    num_tokens: int
    seconds: float
    tokens_per_s: float
    num_rounds: int = 0  # passes of the target
    num_drafted: int = 0
    num_accepted: int = 0
    hindrance: Hindrance = Hindrance.UNKNOWN


@dataclass(frozen=True, slots=True)
class ComparisonStep:
    """The next piece of one of the compared replies."""

    side: Side
    turn: int  # number of earlier replies of this side
    text: str
    figures: RunFigures  # of this reply so far, without rounds until it has ended
    is_finished: bool = False


@dataclass(frozen=True, slots=True)
class TextFork:
    """Where two greedy replies diverge. Chances are those of the plain passes; None if unknown or very low."""

    num_tokens: int  # before the fork
    plain: str  # the next word without drafts; empty: the reply ended
    sped_up: str  # and with them
    plain_chance: float | None
    sped_up_chance: float | None

    @property
    def logit_gap(self) -> float | None:
        """The gap between the two words; None if unknown."""
        if not self.plain_chance or not self.sped_up_chance:
            return None
        return abs(math.log(self.plain_chance / self.sped_up_chance))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Only of replies that were finished."""

    plain: tuple[RunFigures, ...]
    sped_up: tuple[RunFigures, ...]
    is_greedy: bool
    is_stopped: bool  # before all replies were finished
    fork: TextFork | None  # of greedy replies; None if all are the same

    @property
    def ratio(self) -> float | None:
        """The speed with drafts over that without; None until both are measured."""
        plain, sped_up = speed(self.plain), speed(self.sped_up)
        return sped_up / plain if plain and sped_up else None

    @property
    def range(self) -> tuple[float, float] | None:
        """The smallest and the largest ratio of two replies; None with fewer than two on each side."""
        if min(len(self.plain), len(self.sped_up)) < 2 or self.ratio is None:
            return None
        plain = [run.tokens_per_s for run in self.plain]
        sped_up = [run.tokens_per_s for run in self.sped_up]
        return min(sped_up) / max(plain), max(sped_up) / min(plain)


def speed(runs: Sequence[RunFigures]) -> float:
    """Tokens per second over all of them; 0 if there are none."""
    seconds = sum(run.seconds for run in runs)
    return sum(run.tokens_per_s * run.seconds for run in runs) / seconds if seconds > 0 else 0.0
