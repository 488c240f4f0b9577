"""The words of the meter: short where they are always in sight, whole sentences in its tooltips."""

from __future__ import annotations

from dataclasses import dataclass

from app.text.amounts import percent_words
from app.text.translation import Words
from engine.messages.replies import ReplyStatistics
from engine.messages.speed import LiveFigures, Speedup

_SHOWN_ERROR = 0.5  # the largest error of a ratio that was shown before, and so stays

UNKNOWN = "—"
Meter = Words("Meter")


@dataclass(frozen=True, slots=True)
class MeterFigures:
    """What the meter shows of one reply, under way or finished. 0 means not known."""

    tokens_per_s: float  # now, or of the whole reply once it is finished
    mean_tokens_per_s: float
    num_tokens: int
    speedup: Speedup | None
    plain_tokens_per_s: float
    plain_error: float
    num_rounds: int
    num_drafted: int
    num_accepted: int
    tokens_per_round: float
    is_compared: bool  # whether a ratio may still come

    @classmethod
    def of_live(cls, live: LiveFigures, had_ratio: bool = False) -> MeterFigures:
        """`had_ratio`: a ratio of this reply was shown before. It then stays, with its error, also when it is known
        less well for a while: words that come and go are worse."""
        speedup = live.speedup_within(_SHOWN_ERROR) if had_ratio else live.speedup
        return cls._of(live, live.mean_tokens_per_s, live.num_tokens, speedup, live.is_compared)

    @classmethod
    def of_reply(cls, reply: ReplyStatistics) -> MeterFigures:
        return cls._of(reply, reply.tokens_per_s, reply.reply_tokens, reply.shown_speedup, is_compared=False)

    @classmethod
    def _of(
        cls,
        source: LiveFigures | ReplyStatistics,
        mean_tokens_per_s: float,
        num_tokens: int,
        speedup: Speedup | None,
        is_compared: bool,
    ) -> MeterFigures:
        return cls(
            source.tokens_per_s,
            mean_tokens_per_s,
            num_tokens,
            speedup,
            source.plain_tokens_per_s,
            source.plain_error,
            source.num_rounds,
            source.num_drafted,
            source.num_accepted,
            source.tokens_per_round,
            is_compared,
        )


def speed_number(tokens_per_s: float) -> str:
    """About three figures: `0.45`, `31.4`, `128`, `10,000`."""
    if tokens_per_s <= 0:
        return UNKNOWN
    if tokens_per_s < 1:
        return f"{max(tokens_per_s, 0.01):.2f}"
    return f"{tokens_per_s:.1f}" if tokens_per_s < 99.95 else f"{tokens_per_s:,.0f}"


def speed(figures: MeterFigures) -> str:
    return speed_words(figures.tokens_per_s)


def speed_words(tokens_per_s: float) -> str:
    return Meter.tr("{number} tok/s", number=speed_number(tokens_per_s))


def ratio(figures: MeterFigures) -> str:
    if _is_plain(figures):
        return _of_plain("1.0×")
    if figures.speedup is not None:
        return _of_plain(ratio_number(figures.speedup))
    return Meter.tr("measuring…") if figures.is_compared else UNKNOWN


def ratio_number(speedup: Speedup) -> str:
    """`1.6× ± 0.1`; one decimal promises no more than a tenth."""
    if speedup.value >= 99.5:
        return f"{speedup.value:,.0f}×"
    return f"{speedup.value:.1f}× ± {max(0.1, speedup.error):.1f}"


def rounds(figures: MeterFigures) -> str:
    return _a_round(f"{figures.tokens_per_round:.1f}" if figures.num_rounds else UNKNOWN)


def accepted(figures: MeterFigures) -> str:
    if not figures.num_drafted:
        return Meter.tr("none guessed")
    return _accepted(figures.num_accepted / figures.num_drafted)


def widest() -> tuple[str, str, str, str]:
    """The widest words of speed, ratio, rounds and acceptance: their parts are made for these, so that nothing moves
    while figures change."""
    return speed_words(10_000), _of_plain("88.8× ± 8.8"), _a_round("88.8"), _accepted(1.0)


def about_speed(figures: MeterFigures) -> str:
    return Meter.tr(
        "Tokens written per second, over about the last second.\nThe whole reply so far: {number} token(s) at {speed} "
        "per second. Reading the prompt does not count.",
        "",
        figures.num_tokens,
        speed=speed_number(figures.mean_tokens_per_s),
    )


def about_stored_speed(figures: MeterFigures) -> str:
    return Meter.tr(
        "Tokens written per second in the last reply of this chat, over all its {number} token(s).\n"
        "Reading the prompt does not count.",
        "",
        figures.num_tokens,
    )


def about_ratio(figures: MeterFigures) -> str:
    if _is_plain(figures):
        return Meter.tr("Nothing was guessed ahead in this reply, so it is written at the model's plain speed.")
    if figures.speedup is not None:
        return Meter.tr(
            "This reply is written {ratio} as fast as the model would write it here without guesses:\n"
            "about {speed} tokens per second (± {error}), measured now and then in rounds without a guess.\n"
            "The ± says how far off this may well be: two times in three the true value lies within it.",
            ratio=ratio_number(figures.speedup),
            speed=speed_number(figures.plain_tokens_per_s),
            error=error_words(figures.plain_error),
        )
    if figures.is_compared:
        return Meter.tr(
            "How this compares with writing without guesses is still being measured.\nIt is shown once enough tokens "
            "are written, and the time in which the drafter is being loaded does not count."
        )
    return Meter.tr(
        "No comparison with writing without guesses: nobody guesses ahead, the reply is too short, or the plain speed "
        "was not measured well enough."
    )


def error_words(error: float) -> str:
    """Of a speed, as a share of it; it is never known better than to a hundredth."""
    return percent_words(max(0.01, error))


def about_rounds(figures: MeterFigures) -> str:
    return Meter.tr(
        "Tokens written in a round. In each round the model checks a guess of several tokens in one pass,\nkeeps what "
        "it would have written itself, and adds one token. Without guesses this is 1.0. {number} round(s).",
        "",
        figures.num_rounds,
    )


def about_accepted(figures: MeterFigures) -> str:
    if not figures.num_drafted:
        return Meter.tr("No token was guessed ahead in this reply.")
    return Meter.tr(
        "Of {number} token(s) that (was|were) guessed ahead, {accepted} were what the model would have written.\n"
        "The others cost a little time and are never shown.",
        "",
        figures.num_drafted,
        accepted=figures.num_accepted,
    )


def spoken(figures: MeterFigures) -> str:
    """All of it in one sentence, for a screen reader."""
    return ", ".join((speed(figures), ratio(figures), rounds(figures), accepted(figures)))


def _is_plain(figures: MeterFigures) -> bool:
    """Whether the speed of this reply is the plain one."""
    return not figures.num_drafted and figures.plain_tokens_per_s > 0


def _of_plain(ratio: str) -> str:
    return Meter.tr("{ratio} of plain", ratio=ratio)


def _a_round(tokens: str) -> str:
    return Meter.tr("{tokens} / round", tokens=tokens)


def _accepted(share: float) -> str:
    return Meter.tr("{share} accepted", share=percent_words(share))
