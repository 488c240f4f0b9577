"""The speed of a reply in words: one sentence, and the numbers with it, all of one `SpeedVerdict`."""

from __future__ import annotations

from app.text.amounts import percent_words
from app.text.numbers import decimal
from app.text.translation import QT_TRANSLATE_NOOP, Words, translate
from engine.values.speed import Hindrance, SpeedOutcome, SpeedVerdict, as_shown, decimals_of

UNKNOWN = "—"
REUSED = 0.5  # of the text: then it is mentioned
_TOLD = {
    SpeedOutcome.UNKNOWN: QT_TRANSLATE_NOOP("Meter", "Speed not known"),
    SpeedOutcome.MEASURING: QT_TRANSLATE_NOOP("Meter", "Measuring…"),
    SpeedOutcome.SHORT: QT_TRANSLATE_NOOP("Meter", "Too short to compare"),
    SpeedOutcome.NORMAL: QT_TRANSLATE_NOOP("Meter", "Normal speed"),
    SpeedOutcome.ABOUT_NORMAL: QT_TRANSLATE_NOOP("Meter", "About normal speed"),
    SpeedOutcome.SLOWER: QT_TRANSLATE_NOOP("Meter", "No speed-up here"),
}
_WHY = {
    Hindrance.OFF: QT_TRANSLATE_NOOP("Meter", "speed-up was off"),
    Hindrance.IMPOSSIBLE: QT_TRANSLATE_NOOP("Meter", "this model cannot be sped up"),
    Hindrance.LOADING: QT_TRANSLATE_NOOP("Meter", "getting ready"),
    Hindrance.COSTS: QT_TRANSLATE_NOOP("Meter", "guesses do not pay on this computer"),
    Hindrance.NOTHING: QT_TRANSLATE_NOOP("Meter", "nothing repeats here"),
    Hindrance.LITTLE: QT_TRANSLATE_NOOP("Meter", "little repeats here"),
    Hindrance.WRONG: QT_TRANSLATE_NOOP("Meter", "too few guesses are right"),
}
_ABOUT = {
    Hindrance.COSTS: QT_TRANSLATE_NOOP(
        "Meter",
        "On this computer, checking several words at once costs this model as much time as correct guesses save.",
    ),
    Hindrance.NOTHING: QT_TRANSLATE_NOOP(
        "Meter", "Guesses come from text that has come up before, in this chat or an earlier one. Here there was none."
    ),
    Hindrance.LITTLE: QT_TRANSLATE_NOOP("Meter", "Where there was something to guess from, guesses saved time."),
    Hindrance.WRONG: QT_TRANSLATE_NOOP("Meter", "Most guesses in this text were not what the model wrote."),
}
_WITH_REASON = (SpeedOutcome.NORMAL, SpeedOutcome.SLOWER)
Meter = Words("Meter")


def said(verdict: SpeedVerdict, reused: float = 0.0) -> tuple[str, str]:
    """The headline and its reason, which may be empty. `reused`: the share of earlier text in the reply."""
    if verdict.outcome is SpeedOutcome.FASTER:
        return faster(verdict), Meter.tr("reusing earlier text") if reused > REUSED else ""
    if verdict.outcome is SpeedOutcome.ALONE:
        return written_words(verdict.tokens_per_s), ""
    return outcome_words(verdict.outcome), why_words(verdict)


def outcome_words(outcome: SpeedOutcome) -> str:
    """The headline of an outcome without figures."""
    return translate("Meter", _TOLD[outcome])


def sentence(verdict: SpeedVerdict, reused: float = 0.0) -> str:
    return told_why(*said(verdict, reused))


def told_why(told: str, why: str) -> str:
    return Meter.tr("{told}: {why}", told=told, why=why) if why else told


def why_words(verdict: SpeedVerdict) -> str:
    """The hindrance; empty if unknown or none."""
    return hindrance_words(verdict.hindrance) if verdict.outcome in _WITH_REASON else ""


def hindrance_words(hindrance: Hindrance) -> str:
    """The end of a sentence."""
    return translate("Meter", _WHY[hindrance]) if hindrance in _WHY else ""


def about_why(verdict: SpeedVerdict) -> str:
    """The hindrance as a sentence of its own."""
    about = _ABOUT.get(verdict.hindrance, "") if verdict.outcome in _WITH_REASON else ""
    return translate("Meter", about) if about else ""


def faster(verdict: SpeedVerdict) -> str:
    return Meter.tr("{ratio}× faster", ratio=multiple(verdict))


def multiple(verdict: SpeedVerdict) -> str:
    """The bare ratio: `1.6`."""
    return UNKNOWN if verdict.ratio is None else decimal(verdict.ratio, _ratio_decimals(verdict.ratio))


def ratio_words(verdict: SpeedVerdict) -> str:
    """`1.6× ± 0.1`, and near 1, where a tenth says little, `0.96× ± 0.04`: no more decimals than are known."""
    ratio = verdict.ratio
    if ratio is None:
        return UNKNOWN
    decimals = _ratio_decimals(ratio)
    error = max(10**-decimals, verdict.error * ratio)
    return f"{multiple(verdict)}× ± {decimal(error, decimals)}"


def plain_words(verdict: SpeedVerdict) -> str:
    """The estimated speed without guesses."""
    return Meter.tr(
        "{number} tokens a second, ± {error}",
        number=speed_number(verdict.plain_tokens_per_s),
        error=percent_words(max(0.01, verdict.error)),  # it is never known better
    )


def written_words(tokens_per_s: float) -> str:
    return Meter.tr("{number} tokens a second", number=speed_number(tokens_per_s))


def speed_words(tokens_per_s: float) -> str:
    return Meter.tr("{number} tok/s", number=speed_number(tokens_per_s))


def speed_number(tokens_per_s: float) -> str:
    """Three figures: `0.446`, `31.4`, `128`, `10,000`."""
    decimals = decimals_of(tokens_per_s)
    return decimal(as_shown(tokens_per_s), decimals) if tokens_per_s > 0 else UNKNOWN


def _ratio_decimals(ratio: float) -> int:
    return 0 if ratio >= 99.5 else 1 if ratio >= 1.1 else 2
