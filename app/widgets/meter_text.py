"""The words of the meter: one thing in sight, all else in rows beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from app.text.amounts import percent_words
from app.text.numbers import decimal, whole
from app.text.origin_marks import label_of, proposers, shares_of
from app.text.translation import Words
from engine.messages.replies import OriginRun, ReplyStatistics
from engine.messages.speed import FASTER, FEWEST_TOKENS, SLOWER, LiveFigures, Speedup

_LATELY = 240  # characters
_REUSED = 0.5  # of the text: then it is told
_LEAST_SHARE = 0.005  # that is named
_MUCH_SLOWER = 0.9
_PREDICTED = 0.05  # of the tokens: with no more right guesses there was nothing to predict
_RECALL = "recall"  # the key of the origin that quotes earlier text

UNKNOWN = "—"
Meter = Words("Meter")


class Readiness(Enum):
    """Whether replies to come can be sped up."""

    UNKNOWN = "unknown"  # no model is loaded
    READY = "ready"
    AWAITED = "awaited"  # a drafter is being loaded
    IMPOSSIBLE = "impossible"  # with this model
    OFF = "off"  # the user has switched it off
    ELSEWHERE = "elsewhere"  # the model runs on a server, which guesses by itself or not


@dataclass(frozen=True, slots=True)
class MeterFigures:
    """What is known of one reply, under way or finished. 0 means not known."""

    tokens_per_s: float = 0.0  # of the reply, so far
    num_tokens: int = 0
    speedup: Speedup | None = None
    plain_tokens_per_s: float = 0.0
    plain_error: float = 0.0
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
            live.mean_tokens_per_s or live.tokens_per_s,
            live.num_tokens,
            live.speedup,
            live.plain_tokens_per_s if live.is_compared else 0.0,
            live.plain_error,
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
            reply.tokens_per_s,
            reply.reply_tokens,
            reply.shown_speedup,
            reply.plain_tokens_per_s,
            reply.plain_error,
            reply.num_drafted,
            reply.num_accepted,
            reply.context_used,
            reply.context_size,
            shares,
            shares.get(_RECALL, 0.0),
            host=host,
        )

    @property
    def is_plain(self) -> bool:
        """Whether so little was guessed that its speed is the plain one; then a measured ratio, unlike one by counts,
        which has no error, tells of what else the machine did."""
        is_measured = self.speedup is None or self.speedup.error > 0
        return self.num_drafted <= (_PREDICTED * self.num_tokens if is_measured else 0)

    @property
    def found_nothing(self) -> bool:
        """Whether hardly any guess was right."""
        return self.num_accepted <= _PREDICTED * self.num_tokens


def _last(origins: Sequence[OriginRun]) -> Iterator[OriginRun]:
    left = _LATELY
    for run in reversed(origins):
        if left <= 0:
            return
        yield OriginRun(min(left, run.num_characters), run.origin)
        left -= run.num_characters


def told_why(told: str, why: str) -> str:
    return Meter.tr("{told}: {why}", told=told, why=why)


def headline(figures: MeterFigures | None, readiness: Readiness) -> tuple[str, str]:
    """The one thing to say, and why, which may be empty. Without figures, whether the next reply can be sped up.

    Of a reply that a server writes, its speed: how it compares with that of another way, nobody here has measured.
    """
    if figures is not None and figures.host:
        where = Meter.tr("written on {host}", host=figures.host)
        return (
            (_written(figures), where)
            if figures.tokens_per_s
            else (Meter.tr("Written on {host}", host=figures.host), "")
        )
    is_begun_with_it = figures is not None and figures.is_live and figures.num_drafted > 0
    if readiness is Readiness.OFF and not is_begun_with_it:
        return Meter.tr("Speed-up off"), ""
    if figures is None or (figures.is_live and not figures.plain_tokens_per_s):
        return _ready(readiness), ""
    if not figures.num_tokens:
        return Meter.tr("Speed not known"), ""
    if figures.num_tokens <= FEWEST_TOKENS:
        return (Meter.tr("Measuring…") if figures.is_live else Meter.tr("Too short to compare")), ""
    if figures.is_plain:
        return Meter.tr("Normal speed"), _why_normal(figures, readiness)
    if figures.speedup is not None:
        return _compared(figures, figures.speedup)
    if figures.is_live and figures.reused > _REUSED:
        return Meter.tr("Reusing earlier text"), ""
    return (Meter.tr("Measuring…") if figures.is_live else _written(figures)), ""


def _ready(readiness: Readiness) -> str:
    return {
        Readiness.UNKNOWN: "",
        Readiness.READY: Meter.tr("Speed-up ready"),
        Readiness.AWAITED: Meter.tr("Getting ready…"),
        Readiness.IMPOSSIBLE: Meter.tr("No speed-up with this model"),
        Readiness.OFF: Meter.tr("Speed-up off"),
        Readiness.ELSEWHERE: Meter.tr("Runs on a server"),
    }[readiness]


def _compared(figures: MeterFigures, speedup: Speedup) -> tuple[str, str]:
    if speedup.is_gain:
        return faster(speedup), Meter.tr("reusing earlier text") if figures.reused > _REUSED else ""
    if speedup.is_loss:
        return Meter.tr("No speed-up here"), ""
    if figures.found_nothing:
        return Meter.tr("Normal speed"), Meter.tr("nothing to predict here")
    if SLOWER <= speedup.value <= FASTER:
        return Meter.tr("Normal speed"), ""
    return (Meter.tr("Measuring…") if figures.is_live else Meter.tr("About normal speed")), ""


def _why_normal(figures: MeterFigures, readiness: Readiness) -> str:
    """Of a reply in which hardly anything was guessed."""
    if not figures.plain_tokens_per_s:  # so nobody was there to guess
        return ""
    if figures.is_live and readiness is Readiness.AWAITED:
        return Meter.tr("getting ready")
    return Meter.tr("nothing to predict here")


def _written(figures: MeterFigures) -> str:
    return Meter.tr("{number} tokens a second", number=speed_number(figures.tokens_per_s))


def faster(speedup: Speedup) -> str:
    return Meter.tr(
        "{ratio}× faster", ratio=decimal(speedup.value, 1) if speedup.value < 99.5 else whole(speedup.value)
    )


def rows(figures: MeterFigures) -> Iterator[tuple[str, str]]:
    """All else that is known of the reply: names, and what they stand for."""
    if figures.host:
        yield from _rows_elsewhere(figures)
        return
    if figures.speedup is not None and not figures.is_plain:
        ratio = Meter.tr("{ratio} as fast", ratio=ratio_number(figures.speedup))
        if figures.speedup.value < _MUCH_SLOWER:
            ratio += "\n" + Meter.tr("Slower than plain: guesses cost more than they brought")
        elif figures.speedup.value < SLOWER:
            ratio += "\n" + Meter.tr("Slightly slower than plain: guesses cost more than they brought")
        yield Meter.tr("Against plain"), ratio
    if figures.tokens_per_s:
        yield Meter.tr("Speed"), _written(figures)
    if figures.plain_tokens_per_s:
        plain = Meter.tr(
            "{number} tokens a second, ± {error}",
            number=speed_number(figures.plain_tokens_per_s),
            error=error_words(figures.plain_error),
        )
        yield Meter.tr("Plain speed here"), plain
    if figures.num_drafted:
        accepted = Meter.tr(
            "{accepted} of {number} token(s) ({share})",
            "",
            figures.num_drafted,
            accepted=figures.num_accepted,
            share=percent_words(figures.num_accepted / figures.num_drafted),
        )
        yield Meter.tr("Guesses accepted"), accepted
    elif figures.plain_tokens_per_s:
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
    """Of a reply that a server writes: what it tells."""
    yield Meter.tr("Written on"), figures.host
    if figures.tokens_per_s:
        yield Meter.tr("Speed"), _written(figures)
    told = Meter.tr("not told by the server")
    if figures.num_drafted:
        told = Meter.tr(
            "{accepted} of {number} token(s) ({share}), as the server counts",
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
    """What the headline means, where rows do not say; `sentence` is the engine's own of who drafts, or why nobody."""
    if (figures is not None and figures.host) or (figures is None and readiness is Readiness.ELSEWHERE):
        return Meter.tr("The model runs on a server. Guesses, if any, are made there; Slipstream makes none for it.")
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
    if figures is not None and not figures.num_tokens:
        return Meter.tr("How fast this reply was written is not known.")
    return ""


def speed_number(tokens_per_s: float) -> str:
    """About three figures: `0.45`, `31.4`, `128`, `10,000`."""
    if tokens_per_s <= 0:
        return UNKNOWN
    if tokens_per_s < 1:
        return decimal(max(tokens_per_s, 0.01), 2)
    return decimal(tokens_per_s, 1) if tokens_per_s < 99.95 else whole(tokens_per_s)


def speed_words(tokens_per_s: float) -> str:
    return Meter.tr("{number} tok/s", number=speed_number(tokens_per_s))


def ratio_number(speedup: Speedup) -> str:
    """`1.6× ± 0.1`, and near 1, where a tenth says little, `0.96× ± 0.04`: no more decimals than are known."""
    if speedup.value >= 99.5:
        return f"{whole(speedup.value)}×"
    digits = 1 if speedup.value >= 1.1 else 2
    return f"{decimal(speedup.value, digits)}× ± {decimal(max(10**-digits, speedup.error), digits)}"


def error_words(error: float) -> str:
    """Of a speed, as a share of it; it is never known better than to a hundredth."""
    return percent_words(max(0.01, error))
