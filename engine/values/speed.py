"""The speed of a reply, its ratio to writing without guesses, and what kept that from being more: one verdict, from the
same figures wherever it is shown."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum, StrEnum

FEWEST_TOKENS = 24  # a reply must be longer, before its ratio is shown
LARGEST_ERROR = 0.25  # as a share of a ratio that is shown
SLOWER = 0.97  # below it, a ratio is that of a reply which drafting slowed down
FASTER = 1.05  # above it, of one which it sped up; between the two, the speed is the plain one
FEW = 0.05  # of the rounds: guesses in no more of them are hardly any
_TIMED_ONCE = 0.05  # standard error of a plain speed that no reply has shown yet, as a share of it
_NUM_FIGURES = 3  # of a speed that is shown
_MOST_DECIMALS = 3


class Hindrance(StrEnum):
    """What kept a reply from being sped up, where it was not."""

    UNKNOWN = ""  # also of replies that are older than this
    OFF = "off"  # switched off: by the user, or by what was asked with the reply
    IMPOSSIBLE = "impossible"  # the target cannot take back what it has read
    LOADING = "loading"  # who could have guessed was still being loaded
    COSTS = "costs"  # on this machine, checking guesses takes as long as right ones save
    NOTHING = "nothing"  # there was nothing to guess from: nothing came up again
    LITTLE = "little"  # guesses paid, but there were few
    WRONG = "wrong"  # most guesses were not right, or so unlikely to be that few were checked


@dataclass(frozen=True, slots=True)
class Guessing:
    """What was guessed in a reply."""

    num_rounds: int
    num_plain: int  # of the rounds, without a guess
    num_drafted: int
    num_accepted: int
    ratio: float  # to plain decoding, by counts; 0 = not known
    idle: Hindrance  # why there are no guesses while there are none


def hindrance_of(guessing: Guessing) -> Hindrance:
    """Whatever the ratio came to: of a reply that was sped up, why it was not more."""
    num_guessed = guessing.num_rounds - guessing.num_plain
    if max(num_guessed, guessing.num_accepted) <= FEW * guessing.num_rounds:
        return guessing.idle
    if guessing.ratio > 1 and num_guessed < guessing.num_plain:
        return Hindrance.LITTLE
    return Hindrance.WRONG if 2 * guessing.num_accepted < guessing.num_drafted else Hindrance.COSTS


class SpeedOutcome(Enum):
    """What can be said about the speed of a reply."""

    UNKNOWN = "unknown"  # nothing
    MEASURING = "measuring"  # it is being written, and too little is known yet
    SHORT = "short"  # too short to compare
    ALONE = "alone"  # its speed, and not how that compares
    FASTER = "faster"
    NORMAL = "normal"
    ABOUT_NORMAL = "about-normal"  # as far as one can tell
    SLOWER = "slower"


_CERTAIN = (SpeedOutcome.FASTER, SpeedOutcome.NORMAL, SpeedOutcome.SLOWER)


@dataclass(frozen=True, slots=True)
class SpeedVerdict:
    """All that is shown about the speed of a reply. The speeds are rounded as they are shown, and the ratio is their
    quotient: dividing the shown speeds gives the shown ratio."""

    outcome: SpeedOutcome
    hindrance: Hindrance = Hindrance.UNKNOWN  # where it was not faster
    tokens_per_s: float = 0.0  # 0 = not known
    plain_tokens_per_s: float = 0.0  # of the same reply without guesses; 0 = not known
    error: float = 0.0  # standard error of that, and so of the ratio, as a share of it

    @property
    def ratio(self) -> float | None:
        """None where it is not known."""
        if not self.tokens_per_s or not self.plain_tokens_per_s:
            return None
        return self.tokens_per_s / self.plain_tokens_per_s

    def of_part(self, num_tokens: int, tokens_per_s: float) -> SpeedVerdict:
        """The verdict on this many tokens of the reply, written at this speed."""
        if self.ratio is None or num_tokens <= FEWEST_TOKENS:
            return SpeedVerdict(SpeedOutcome.ALONE, self.hindrance, as_shown(tokens_per_s))
        speed = as_shown(tokens_per_s)
        outcome = _outcome(speed / self.plain_tokens_per_s, self.error)
        return replace(self, outcome=outcome, tokens_per_s=speed)


def as_shown(tokens_per_s: float) -> float:
    """The speed to three figures; 0, which means unknown, if it is not finite."""
    return round(tokens_per_s, decimals_of(tokens_per_s)) if math.isfinite(tokens_per_s) else 0.0


def decimals_of(tokens_per_s: float) -> int:
    """The number of decimals with which a speed is shown."""
    if not 0 < tokens_per_s < math.inf:
        return 0
    decimals = _NUM_FIGURES - 1 - math.floor(math.log10(tokens_per_s))
    decimals = min(max(0, decimals), _MOST_DECIMALS)
    return decimals - 1 if decimals and round(tokens_per_s, decimals) >= 10 ** (_NUM_FIGURES - decimals) else decimals


def verdict_of(
    tokens_per_s: float,
    num_tokens: int,
    num_drafted: int,
    ratio: float,
    plain_tokens_per_s: float,
    plain_error: float,
    hindrance: Hindrance,
    is_live: bool = False,
) -> SpeedVerdict:
    """The plain speed is that of this very reply: what its words would have taken without guesses, where that is known
    by counts (`ratio`), in the same minutes on the same machine. Else it is `plain_tokens_per_s`, as measured. The
    error is that of plain decoding in either case."""
    error = plain_error if plain_tokens_per_s else _TIMED_ONCE
    speed = as_shown(tokens_per_s)

    def found(outcome: SpeedOutcome, plain: float = 0.0) -> SpeedVerdict:
        is_open = is_live and outcome not in _CERTAIN
        return SpeedVerdict(
            SpeedOutcome.MEASURING if is_open else outcome, hindrance, speed, plain, error if plain else 0.0
        )

    if not num_tokens:
        return found(SpeedOutcome.UNKNOWN)
    if hindrance in (Hindrance.OFF, Hindrance.IMPOSSIBLE):
        return found(SpeedOutcome.NORMAL)
    if num_tokens <= FEWEST_TOKENS:
        return found(SpeedOutcome.SHORT)
    if ratio == 1 or not (ratio or num_drafted):  # it was written without guesses: there is one speed
        return found(SpeedOutcome.NORMAL)
    plain = as_shown(tokens_per_s / ratio if ratio else plain_tokens_per_s)
    if not speed or not plain or not error <= LARGEST_ERROR:
        return found(SpeedOutcome.ALONE if speed else SpeedOutcome.UNKNOWN)
    return found(_outcome(speed / plain, error), plain)


def _outcome(ratio: float, error: float) -> SpeedOutcome:
    """`error`: as a share of the ratio."""
    if ratio > max(FASTER, 1 + error * ratio):
        return SpeedOutcome.FASTER
    if ratio < min(SLOWER, 1 - error * ratio):
        return SpeedOutcome.SLOWER
    return SpeedOutcome.NORMAL if SLOWER <= ratio <= FASTER else SpeedOutcome.ABOUT_NORMAL


@dataclass(frozen=True, slots=True)
class LiveFigures:
    """Figures of a reply in progress, as in `ReplyStatistics`. The mean leaves out the tokens written while the drafter
    was being loaded, which slows down the machine."""

    num_tokens: int = 0  # 0 also where a server does not tell it yet
    tokens_per_s: float = 0.0  # in the last second or so; 0 = not known yet
    mean_tokens_per_s: float = 0.0  # of the reply so far; 0 = not known yet
    plain_tokens_per_s: float = 0.0  # of plain decoding on this machine; 0 = not known
    plain_error: float = 0.0  # standard error of that, as a share of it
    num_rounds: int = 0
    num_drafted: int = 0
    num_accepted: int = 0
    context_used: int = 0
    ratio: float = 0.0  # to plain decoding, by counts; 0 = not known
    hindrance: Hindrance = Hindrance.UNKNOWN

    @property
    def verdict(self) -> SpeedVerdict:
        return verdict_of(
            self.mean_tokens_per_s or self.tokens_per_s,
            self.num_tokens,
            self.num_drafted,
            self.ratio,
            self.plain_tokens_per_s,
            self.plain_error,
            self.hindrance,
            is_live=True,
        )

    @property
    def tokens_per_round(self) -> float:
        return (self.num_rounds + self.num_accepted) / self.num_rounds if self.num_rounds else 0.0

    @property
    def accepted_share(self) -> float | None:
        """The share of drafted tokens; None if there are none."""
        return self.num_accepted / self.num_drafted if self.num_drafted else None
