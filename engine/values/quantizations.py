"""Quantizations of a target's weights: what passes cost in each on this machine, how far each is from the original, and
advice.

A quantization is the weights in one quantization. Another quantization is made from a file by llama.cpp, and what is
given up in one step is not regained in the next: the distance is always to the file that it was made from, the
original."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from engine.values.sentences import Told

MOST_KL = 0.01  # nats a token: beyond that distance nothing is swapped by itself
CLEARLY_FASTER = 1.03  # times the original's speed: what a quantization must reach to be advised or adopted
_USUAL_CHANCE = 0.6  # that a draft token is accepted, for the speed with drafts
_LARGEST_ERROR = 0.05  # of a ratio of speeds, for them to mean something
_SPARED = 0.99  # of the other speed, that a quantization must keep: measurements are no better than that


@dataclass(frozen=True, slots=True)
class Distance:
    """How far the distributions of a quantization are from the original's, at the tokens of replies that the original
    wrote."""

    mean_kl: float  # nats a token: of the original's distribution to the quantization's
    kl_error: float  # standard error of that
    equal_greedy: float  # share of the tokens at which both find the same one likeliest
    num_tokens: int  # that this rests on
    num_likeliest: int = 0  # of the original's tokens that were compared, all others as one; 0: its whole vocabulary
    num_own: int = 0  # of the replies: those to prompts of the user's; the others are to built-in ones

    @property
    def is_free(self) -> bool:
        """True if the quantization may replace the original without asking."""
        return self.mean_kl + self.kl_error <= MOST_KL


@dataclass(frozen=True, slots=True)
class QuantizationFigures:
    """What was measured of one quantization on this machine."""

    quantization: str  # a quantization, such as `Q8_0`
    identity: str  # of its file, as in `TargetSource`; a quantization that is made again has the same
    size_bytes: int
    passes: tuple[tuple[int, float], ...]  # numbers of tokens, from 1 upwards, and V of them in seconds
    pass_error: float = 0.0  # standard error of their ratio to the original's, as a share of it
    distance: Distance | None = None  # None: the original

    @property
    def plain_tokens_per_s(self) -> float:
        """The speed without drafts."""
        return 1 / self.passes[0][1]

    @property
    def drafting_tokens_per_s(self) -> float:
        """The speed with drafts of the best length that cost nothing and are right with a usual chance."""
        speeds = []
        for num_tokens, seconds in self.passes:
            written = sum(_USUAL_CHANCE**place for place in range(num_tokens))
            speeds.append(written / seconds)
        return max(speeds)

    def speeds_over(self, original: QuantizationFigures) -> tuple[float, float]:
        """The ratios without drafts and with them."""
        return (
            self.plain_tokens_per_s / original.plain_tokens_per_s,
            self.drafting_tokens_per_s / original.drafting_tokens_per_s,
        )


@dataclass(frozen=True, slots=True)
class QuantizationAdvice:
    """Which quantization of the weights to use on this machine."""

    quantization: str  # empty: the original
    speed: float  # of plain writing in that quantization, over the original's
    drafting_speed: float  # of writing with drafts, over the original's
    is_free: bool  # whether its distributions are near enough to swap it without asking

    @property
    def gain(self) -> float:
        return max(self.speed, self.drafting_speed)


@dataclass(frozen=True, slots=True)
class TuneReport:
    """What was measured of a target and its other quantizations, with one build of llama.cpp and this many threads."""

    build: str  # of llama.cpp, with the processor's features that it uses
    threads: int
    measured_at: datetime
    original: QuantizationFigures
    quantizations: tuple[
        QuantizationFigures, ...
    ] = ()  # others of the same weights, in the order in which they were measured

    @property
    def is_sure(self) -> bool:
        """True if the machine was idle enough for these speeds to mean something."""
        return all(quantization.pass_error <= _LARGEST_ERROR for quantization in self.quantizations)

    @property
    def advice(self) -> QuantizationAdvice:
        """The fastest quantization that is near enough to be swapped without asking, or else the fastest; the original
        where none is clearly faster."""
        stay = QuantizationAdvice("", 1.0, 1.0, is_free=True)
        return max(self.faster, key=lambda advice: (advice.is_free, advice.gain), default=stay)

    @property
    def faster(self) -> tuple[QuantizationAdvice, ...]:
        """All quantizations that are clearly faster than the original, fastest first."""
        found = [advice for quantization in self.quantizations if (advice := self._weigh(quantization)) is not None]
        return tuple(sorted(found, key=lambda advice: -advice.gain))

    def _weigh(self, quantization: QuantizationFigures) -> QuantizationAdvice | None:
        """None where it is not clearly faster: in plain writing or with drafts, and not slower in the other."""
        speed, drafting_speed = quantization.speeds_over(self.original)
        gain, other = max(speed, drafting_speed), min(speed, drafting_speed)
        if gain < CLEARLY_FASTER or gain - 2 * quantization.pass_error < 1 or other < _SPARED:
            return None
        return QuantizationAdvice(
            quantization.quantization,
            speed,
            drafting_speed,
            quantization.distance is not None and quantization.distance.is_free,
        )


class TuneStep(StrEnum):
    """What is being done while a target is tuned."""

    MAKING = "making"  # another quantization of the weights
    WRITING = "writing"  # the original writes the replies to compare with
    TIMING = "timing"  # passes of both in turns
    COMPARING = "comparing"  # their distributions


@dataclass(frozen=True, slots=True)
class QuantizationOffer:
    """A quantization that could be made of a target."""

    quantization: str
    size_bytes: int  # that it will take; 0: not known
    path: Path  # where it would be kept
    problem: Told = ""  # why it cannot be made, in a sentence; empty if it can
    is_usual: bool = False  # whether it is measured unless others are named


@dataclass(frozen=True, slots=True)
class QuantizationSpeed:
    """How fast a quantization is expected to write on this machine, from what was measured here."""

    quantization: str
    speed: float  # over the fastest one's: 1 is the fastest


@dataclass(frozen=True, slots=True)
class TuneProgress:
    """How far measuring or making quantizations has come."""

    quantization: str  # that is being made or measured; empty: the target as it is
    step: TuneStep
    progress: float  # of this step, 0 … 1
