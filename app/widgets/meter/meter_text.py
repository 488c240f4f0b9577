"""The words of the meter: one headline, and all else in rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from app.text.amounts import percent_words
from app.text.origin_marks import label_of, proposers, shares_of
from app.text.speed import REUSED, about_why, plain_words, ratio_words, said, written_words
from app.text.translation import Words
from engine.values.replies import OriginRun, ReplyStatistics
from engine.values.speed import Hindrance, LiveFigures, SpeedOutcome, SpeedVerdict

_LATELY = 240  # characters
_LEAST_SHARE = 0.005  # that is named
_RECALL = "recall"  # the key of the origin that quotes earlier text
_NOTHING_KNOWN = SpeedVerdict(SpeedOutcome.UNKNOWN)

Meter = Words("Meter")


class Readiness(Enum):
    """What stands in the way of speeding up the next replies."""

    UNKNOWN = "unknown"  # no model is loaded
    READY = "ready"
    AWAITED = "awaited"  # a drafter is being loaded
    IMPOSSIBLE = "impossible"  # with this model
    OFF = "off"  # the user has switched it off
    ELSEWHERE = "elsewhere"  # the model runs on a server, which guesses by itself or not


@dataclass(frozen=True, slots=True)
class MeterFigures:
    """What is known of one reply, under way or finished. 0 means not known."""

    verdict: SpeedVerdict = _NOTHING_KNOWN
    num_drafted: int = 0
    num_accepted: int = 0
    context_used: int = 0
    context_size: int = 0
    shares: dict[str, float] = field(default_factory=dict)  # of its text, by the keys of origins
    reused: float = 0.0  # share of earlier text; lately, while it is written
    is_live: bool = False
    host: str = ""  # of the server that writes it; empty: it is written here

    @classmethod
    def of_live(
        cls, live: LiveFigures, context_size: int, origins: Sequence[OriginRun], host: str = ""
    ) -> MeterFigures:
        """`origins`: of all text so far."""
        return cls(
            live.verdict,
            live.num_drafted,
            live.num_accepted,
            live.context_used,
            context_size,
            shares_of(origins),
            shares_of(_last(origins)).get(_RECALL, 0.0),
            is_live=True,
            host=host,
        )

    @classmethod
    def of_reply(cls, reply: ReplyStatistics, host: str = "") -> MeterFigures:
        shares = shares_of(reply.origins)
        return cls(
            reply.verdict,
            reply.num_drafted,
            reply.num_accepted,
            reply.context_used,
            reply.context_size,
            shares,
            shares.get(_RECALL, 0.0),
            host=host,
        )


def _last(origins: Sequence[OriginRun]) -> Iterator[OriginRun]:
    left = _LATELY
    for run in reversed(origins):
        if left <= 0:
            return
        yield OriginRun(min(left, run.num_characters), run.origin)
        left -= run.num_characters


def headline(figures: MeterFigures | None, readiness: Readiness) -> tuple[str, str]:
    """The headline and its reason, which may be empty. Without figures, it says whether the next reply can be sped up.
    For a reply from a server it is the speed: how it compares was not measured here."""
    if figures is not None and figures.host:
        where = Meter.tr("written on {host}", host=figures.host)
        speed = figures.verdict.tokens_per_s
        return (written_words(speed), where) if speed else (Meter.tr("Written on {host}", host=figures.host), "")
    is_begun_with_it = figures is not None and figures.is_live and figures.num_drafted > 0
    if readiness is Readiness.OFF and not is_begun_with_it:
        return Meter.tr("Speed-up off"), ""
    if figures is None:
        return _ready(readiness), ""
    if figures.verdict.outcome is SpeedOutcome.MEASURING and figures.reused > REUSED:
        return Meter.tr("Reusing earlier text"), ""
    return said(figures.verdict, figures.reused)


def _ready(readiness: Readiness) -> str:
    return {
        Readiness.UNKNOWN: "",
        Readiness.READY: Meter.tr("Speed-up ready"),
        Readiness.AWAITED: Meter.tr("Getting ready…"),
        Readiness.IMPOSSIBLE: Meter.tr("No speed-up with this model"),
        Readiness.OFF: Meter.tr("Speed-up off"),
        Readiness.ELSEWHERE: Meter.tr("Runs on a server"),
    }[readiness]


def rows(figures: MeterFigures) -> Iterator[tuple[str, str]]:
    """All other facts about the reply, as names and values."""
    if figures.host:
        yield from _rows_elsewhere(figures)
        return
    verdict = figures.verdict
    if verdict.tokens_per_s:
        yield Meter.tr("Speed"), written_words(verdict.tokens_per_s)
    if verdict.ratio is not None:
        yield Meter.tr("Without guesses"), plain_words(verdict)
        yield Meter.tr("Ratio"), ratio_words(verdict)
    if figures.num_drafted:
        accepted = Meter.tr(
            "{accepted} of {number} token(s) ({share})",
            "",
            figures.num_drafted,
            accepted=figures.num_accepted,
            share=percent_words(figures.num_accepted / figures.num_drafted),
        )
        yield Meter.tr("Guesses accepted"), accepted
    elif verdict.outcome is not SpeedOutcome.UNKNOWN and verdict.hindrance is not Hindrance.UNKNOWN:
        yield Meter.tr("Guesses accepted"), Meter.tr("none: nothing was guessed")
    known = {origin.key: label_of(origin) for origin in proposers(figures.shares)}
    guessed = [
        Meter.tr("{share} by {proposer}", share=percent_words(figures.shares[key]), proposer=label)
        for key, label in known.items()
        if figures.shares.get(key, 0.0) >= _LEAST_SHARE
    ]
    if guessed:
        yield Meter.tr("Text guessed"), ", ".join(guessed)
    if figures.context_size:
        yield Meter.tr("Context in use"), context_words(figures.context_used, figures.context_size)


def _rows_elsewhere(figures: MeterFigures) -> Iterator[tuple[str, str]]:
    """Rows for a reply from a server."""
    yield Meter.tr("Written on"), figures.host
    if figures.verdict.tokens_per_s:
        yield Meter.tr("Speed"), written_words(figures.verdict.tokens_per_s)
    told = Meter.tr("not told by the server")
    if figures.num_drafted:
        told = Meter.tr(
            "{accepted} of {number} token(s) ({share}), by the server's count",
            "",
            figures.num_drafted,
            accepted=figures.num_accepted,
            share=percent_words(figures.num_accepted / figures.num_drafted),
        )
    yield Meter.tr("Guesses accepted"), told
    if figures.context_size:
        yield Meter.tr("Context in use"), context_words(figures.context_used, figures.context_size)


def context_words(used: int, size: int) -> str:
    share = percent_words(used / size if size else 0.0)
    return Meter.tr("{used} of {size} tokens ({share})", used=used, size=size, share=share)


def note(figures: MeterFigures | None, readiness: Readiness, sentence: str) -> str:
    """Explains the headline, if no row does; `sentence` is the engine's own on who drafts, or why nothing does."""
    if (figures is not None and figures.host) or (figures is None and readiness is Readiness.ELSEWHERE):
        return Meter.tr(
            "The model runs on a server. If anything is guessed, it is there; Slipstream guesses nothing for it."
        )
    match readiness:
        case Readiness.OFF if figures is not None and figures.num_drafted:
            return Meter.tr("Speed-up is off from the next reply on. The switch turns it on again.")
        case Readiness.OFF:
            return Meter.tr("Replies are written at the model's normal speed. The switch turns speed-up on again.")
        case Readiness.AWAITED | Readiness.IMPOSSIBLE if figures is None or figures.is_live:
            return sentence
        case Readiness.READY if figures is None:
            return Meter.tr(
                "Parts of the next reply are guessed ahead, and the model checks every guess: its own words, sooner."
            )
    if figures is not None and figures.verdict.outcome is SpeedOutcome.UNKNOWN:
        return Meter.tr("The speed of this reply is not known.")
    return "" if figures is None else about_why(figures.verdict)
