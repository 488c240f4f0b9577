"""The state of the draft policy for a target on this machine, kept from one start of the app to the next. It holds no
word of any chat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

_MOST = 1000  # numbers in a row, spans, or proposers
_MOST_SECONDS = 10_000.0
Seconds = Annotated[float, Field(ge=0, le=_MOST_SECONDS, allow_inf_nan=False)]
PassSeconds = Annotated[float, Field(ge=1e-7, le=_MOST_SECONDS, allow_inf_nan=False)]
Multiple = Annotated[float, Field(ge=1e-3, le=1e3, allow_inf_nan=False)]
Count = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class SpanCosts:
    """The costs of passes while the target holds about the same number of tokens."""

    single_s: PassSeconds  # V(1)
    multiples: Annotated[tuple[Multiple, ...], Field(max_length=_MOST)]  # V(n) / V(1) for n from 1 on
    weights: Annotated[tuple[Count, ...], Field(max_length=_MOST)]  # passes that each of them stands for


@dataclass(frozen=True, slots=True)
class KnownCosts:
    """The costs of passes, by the number of the span, and of a change of their number of rows."""

    spans: Annotated[Mapping[int, SpanCosts], Field(max_length=_MOST)]
    change_s: Seconds = 0.0


@dataclass(frozen=True, slots=True)
class KnownChances:
    """The guesses of a proposer, by their kind: how many there were lately, and how many of them were accepted."""

    accepted: Annotated[tuple[Count, ...], Field(max_length=_MOST)]
    tried: Annotated[tuple[Count, ...], Field(max_length=_MOST)]


Weight = Annotated[float, Field(ge=-1e3, le=1e3, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class KnownHead:
    """The acceptance head of a drafter, and how it did."""

    weights: Annotated[tuple[Weight, ...], Field(max_length=_MOST)]
    squares: Annotated[tuple[Count, ...], Field(max_length=_MOST)]
    losses: Annotated[tuple[Count, ...], Field(max_length=_MOST)]
    num_seen: Annotated[int, Field(ge=0, le=10**12)]


@dataclass(frozen=True, slots=True)
class KnownStanding:
    """The standing of a costly proposer."""

    num_askings: Annotated[int, Field(ge=0, le=10**12)]
    tokens: Count  # of an asking
    seconds: Seconds
    next_chances: Annotated[tuple[Share, ...], Field(max_length=_MOST)]


@dataclass(frozen=True, slots=True)
class LearnedPolicy:
    """All that the draft policy has learned. Proposers go by their labels."""

    costs: KnownCosts
    chances: Annotated[Mapping[str, KnownChances], Field(max_length=_MOST)] = field(default_factory=dict)
    standings: Annotated[Mapping[str, KnownStanding], Field(max_length=_MOST)] = field(default_factory=dict)
    heads: Annotated[Mapping[str, KnownHead], Field(max_length=_MOST)] = field(default_factory=dict)
