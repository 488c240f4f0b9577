"""Quantizations of a model's weights in words: what passes cost in each here, how far each is from the model, and
advice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.text.amounts import day_words, duration_words, percent_words, size_words
from app.text.numbers import decimal
from app.text.speed import speed_number, speed_words
from app.text.translation import QT_TRANSLATE_NOOP, Words, translate
from engine.values.quantizations import (
    CLEARLY_FASTER,
    QuantizationAdvice,
    QuantizationFigures,
    QuantizationOffer,
    TuneProgress,
    TuneReport,
    TuneStep,
)

COLUMNS = (
    (QT_TRANSLATE_NOOP("Quantizations", "Quantization"), QT_TRANSLATE_NOOP("Quantizations", "Tick to measure")),
    (QT_TRANSLATE_NOOP("Quantizations", "Size"), QT_TRANSLATE_NOOP("Quantizations", "Of its file, or expected")),
    (
        QT_TRANSLATE_NOOP("Quantizations", "Tok/s"),
        QT_TRANSLATE_NOOP("Quantizations", "Tokens per second on this computer, without speed-up"),
    ),
    (
        QT_TRANSLATE_NOOP("Quantizations", "Speed"),
        QT_TRANSLATE_NOOP("Quantizations", "Times as fast as the model, without speed-up"),
    ),
    (
        QT_TRANSLATE_NOOP("Quantizations", "With speed-up"),
        QT_TRANSLATE_NOOP("Quantizations", "Times as fast as the model, both with guesses that are often right"),
    ),
    (
        QT_TRANSLATE_NOOP("Quantizations", "4 at once"),
        QT_TRANSLATE_NOOP("Quantizations", "How much longer checking 4 tokens at once takes than one"),
    ),
    (
        QT_TRANSLATE_NOOP("Quantizations", "8 at once"),
        QT_TRANSLATE_NOOP("Quantizations", "How much longer checking 8 tokens at once takes than one"),
    ),
    (
        QT_TRANSLATE_NOOP("Quantizations", "Same word"),
        QT_TRANSLATE_NOOP("Quantizations", "How often both choose the same next word, in replies of the model"),
    ),
    (
        QT_TRANSLATE_NOOP("Quantizations", "Distance"),
        QT_TRANSLATE_NOOP(
            "Quantizations",
            "Between the probabilities of both: mean KL, in nats per token; up to 0.01 counts as the same",
        ),
    ),
)
CHECKING_TIP = QT_TRANSLATE_NOOP(
    "Quantizations",
    "Guesses are checked several at once. The less extra time that takes, the more speed-up brings.",
)
_STEPS = {
    TuneStep.MAKING: QT_TRANSLATE_NOOP("Quantizations", "{model}: making {form}."),
    TuneStep.WRITING: QT_TRANSLATE_NOOP("Quantizations", "{model} writes the replies to compare with."),
    TuneStep.TIMING: QT_TRANSLATE_NOOP("Quantizations", "{model}: timing {form}."),
    TuneStep.COMPARING: QT_TRANSLATE_NOOP("Quantizations", "{model}: comparing the words of {form}."),
}
_ENDS = {
    TuneStep.MAKING: 0.3,
    TuneStep.TIMING: 0.8,
    TuneStep.WRITING: 0.9,
    TuneStep.COMPARING: 1.0,
}  # of one quantization
_NONE = "–"
_ALIKE = 0.9  # of all words are the same where they differ a little
_PASSES = 600  # over one token, whose time measuring a quantization takes, about
_BYTES_PER_S = 15e9  # of weights that a pass reads, where it was not measured
_BESIDES_S = 10.0  # loading, and comparing
_MAKING_BYTES_PER_S = 50e6
_SLOWER_TO_MAKE = 20  # times: those whose name begins with `IQ`
Quantizations = Words("Quantizations")


@dataclass(frozen=True, slots=True)
class QuantizationRow:
    """What is known of one quantization of a model's weights."""

    quantization: str
    size_bytes: int  # of its file; 0: not known
    figures: QuantizationFigures | None = None  # None: not measured here
    problem: str = ""  # why it cannot be made, in a sentence
    here: Path | None = None  # its file, if that is in the library
    is_original: bool = False
    is_used: bool = False  # in the original's place
    is_usual: bool = False  # measured unless others are chosen

    @property
    def can_be_ticked(self) -> bool:
        return not self.is_original and (not self.problem or self.here is not None)


def quantization_rows(
    own: QuantizationRow,
    offers: Sequence[QuantizationOffer],
    report: TuneReport | None,
    here: Iterable[Path],
    used: str = "",
) -> tuple[QuantizationRow, ...]:
    """The original first, then all quantizations that are offered, in their order. `here`: files of the library;
    `used`: the quantization that is used in the original's place."""
    measured = {} if report is None else {each.quantization: each for each in report.quantizations}
    known = frozenset(here)
    rows = []
    for offer in offers:
        figures = measured.get(offer.quantization)
        size = offer.size_bytes if figures is None else figures.size_bytes
        place = offer.path if offer.path in known else None
        is_used = offer.quantization == used
        rows.append(
            QuantizationRow(
                offer.quantization, size, figures, offer.problem, place, is_used=is_used, is_usual=offer.is_usual
            )
        )
    return (own, *rows)


def cells(row: QuantizationRow, report: TuneReport | None) -> tuple[str, ...]:
    """Texts of a row, one for each of `COLUMNS`."""
    name = row.quantization
    if row.is_original:
        name = (
            Quantizations.tr("{form} (as it is)", form=row.quantization)
            if row.quantization
            else Quantizations.tr("As it is")
        )
    elif row.is_used:
        name = Quantizations.tr("{form} (in use)", form=row.quantization)
    size = size_words(row.size_bytes) if row.size_bytes else _NONE
    figures = row.figures
    if figures is None or report is None:
        return (name, size, *[_NONE] * (len(COLUMNS) - 2))
    speeds = (_NONE, _NONE)
    if not row.is_original:
        plain, drafting = figures.speeds_over(report.original)
        speeds = (f"{decimal(plain, 2)}\u00a0×", f"{decimal(drafting, 2)}\u00a0×")
    distance = figures.distance
    return (
        name,
        size,
        speed_number(figures.plain_tokens_per_s),
        *speeds,
        *(_times(figures, number) for number in (4, 8)),
        _NONE if distance is None else percent_words(distance.equal_greedy),
        _NONE if distance is None else decimal(distance.mean_kl, 3),
    )


def figures_of(quantization: str, report: TuneReport | None) -> QuantizationFigures | None:
    """`quantization` empty: the original; None where it was not measured."""
    if report is None or not quantization:
        return None if report is None else report.original
    return next((each for each in report.quantizations if each.quantization == quantization), None)


def speed_here(figures: QuantizationFigures) -> str:
    return Quantizations.tr("{speed} without speed-up", speed=speed_words(figures.plain_tokens_per_s))


def when_measured(report: TuneReport) -> str:
    threads = Quantizations.tr("%n thread(s)", "", report.threads)
    return Quantizations.tr("Measured on {day}, with {threads}.", day=day_words(report.measured_at), threads=threads)


def checking(figures: QuantizationFigures) -> str:
    """What V(4) and V(8) are; empty where neither was measured."""
    four, eight = _ratio(figures, 4), _ratio(figures, 8)
    if four is None:
        return ""
    if eight is None:
        return Quantizations.tr("4 tokens at once take {four} times as long as one", four=decimal(four, 1))
    return Quantizations.tr(
        "4 tokens at once take {four} times as long as one, 8 take {eight} times",
        four=decimal(four, 1),
        eight=decimal(eight, 1),
    )


def advice_words(report: TuneReport, used: str = "") -> str:
    """Which quantization would be faster, in a sentence or two; empty where no other one was measured, or the best is
    `used` in the original's place already."""
    if not report.quantizations:
        return ""
    told = dict.fromkeys((report.advice, *report.faster[:1]))
    sentences = [_one_advice(each, report) for each in told if each.quantization not in ("", used)]
    if not report.faster:
        sentences.append(
            Quantizations.tr("No other quantization that was measured is clearly faster on this computer.")
        )
    if not report.is_sure:
        sentences.append(
            Quantizations.tr("The computer was busy, so these speeds are uncertain; measure again when it is idle.")
        )
    return " ".join(sentences)


def used_words(quantization: str, original: str, report: TuneReport | None) -> str:
    """Says in which quantization the starter is used, and why; `quantization` empty: as it was installed."""
    if not quantization:
        return Quantizations.tr("The starter model uses its original quantization, {original}.", original=original)
    figures = figures_of(quantization, report)
    if figures is None or report is None:
        return Quantizations.tr("The starter model uses {form}.", form=quantization)
    plain, drafting = figures.speeds_over(report.original)
    speed = decimal(plain, 2) if plain >= CLEARLY_FASTER or drafting < CLEARLY_FASTER else decimal(drafting, 2)
    return Quantizations.tr(
        "The starter model uses {form}: {speed} times as fast as its original quantization, {original}, with "
        "practically the same words.",
        form=quantization,
        speed=speed,
        original=original,
    )


def progress_words(model: str, now: TuneProgress) -> str:
    return translate("Quantizations", _STEPS[now.step]).format(model=model, form=now.quantization or model)


def done_share(now: TuneProgress, quantizations: Sequence[str]) -> float:
    """Progress of measuring these quantizations one after the other, 0 … 1."""
    steps = list(_ENDS)
    place = steps.index(now.step)
    begin = _ENDS[steps[place - 1]] if place else 0.0
    of_quantization = begin + now.progress * (_ENDS[now.step] - begin)
    before = quantizations.index(now.quantization) if now.quantization in quantizations else 0
    return (before + of_quantization) / max(1, len(quantizations))


def needs_words(quantizations: Sequence[QuantizationRow], original: QuantizationRow, report: TuneReport | None) -> str:
    """What measuring these needs."""
    if not quantizations:
        return Quantizations.tr("Tick the quantizations to measure.")
    return Quantizations.tr(
        "Measuring %n quantization(s) takes {time} if the computer is idle, and up to {size} of disk space meanwhile.",
        "",
        len(quantizations),
        time=duration_words(_expected_s(quantizations, original.size_bytes, report)),
        size=size_words(max(row.size_bytes for row in quantizations)),
    )


def _expected_s(quantizations: Sequence[QuantizationRow], size_bytes: int, report: TuneReport | None) -> float:
    """Roughly how long measuring these takes, on a quiet machine."""
    one_pass = size_bytes / _BYTES_PER_S if report is None else report.original.passes[0][1]
    making = sum(
        row.size_bytes * (_SLOWER_TO_MAKE if row.quantization.startswith("IQ") else 1) for row in quantizations
    )
    return _BESIDES_S + len(quantizations) * (_BESIDES_S + _PASSES * one_pass) + making / _MAKING_BYTES_PER_S


def _one_advice(advice: QuantizationAdvice, report: TuneReport) -> str:
    figures = next(each for each in report.quantizations if each.quantization == advice.quantization)
    return Quantizations.tr(
        "{form} would {write}; {nearness}.", form=advice.quantization, write=_write(advice), nearness=_nearness(figures)
    )


def _write(advice: QuantizationAdvice) -> str:
    plain, drafting = decimal(advice.speed, 2), decimal(advice.drafting_speed, 2)
    if advice.speed < CLEARLY_FASTER:
        return Quantizations.tr("write {drafting} times as fast with speed-up", drafting=drafting)
    if advice.drafting_speed < CLEARLY_FASTER:
        return Quantizations.tr("write {plain} times as fast without speed-up", plain=plain)
    return Quantizations.tr(
        "write {plain} times as fast, with speed-up {drafting} times", plain=plain, drafting=drafting
    )


def _nearness(figures: QuantizationFigures) -> str:
    distance = figures.distance
    assert distance is not None, "only the original has none"
    same = percent_words(distance.equal_greedy)
    if distance.is_free:
        return Quantizations.tr("its words are practically the same ({same})", same=same)
    if distance.equal_greedy >= _ALIKE:
        return Quantizations.tr("its words differ a little: {same} are the same", same=same)
    return Quantizations.tr("its words differ clearly: {same} are the same", same=same)


def _ratio(figures: QuantizationFigures, number: int) -> float | None:
    seconds = dict(figures.passes)
    return seconds[number] / seconds[1] if number in seconds else None


def _times(figures: QuantizationFigures, number: int) -> str:
    ratio = _ratio(figures, number)
    return _NONE if ratio is None else f"{decimal(ratio, 2)}\u00a0×"
