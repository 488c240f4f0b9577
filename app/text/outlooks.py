"""What to expect of models on this computer, and what was measured of it, in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.text.amounts import size_words
from app.text.hub_files import ABOUT_FIT, Fit
from app.text.numbers import decimal, whole
from app.text.suggestions import READING, SuggestionAdvice, rank, speed_number
from app.text.translation import Words, translate
from engine.values.comparison import Comparison
from engine.values.outlook import MachineFigures, Outlook, Span

Outlooks = Words("Outlooks")
_WORTH_TELLING = 1.05  # times plain: less is shown as no gain
_MOST_ROWS = 16
Fact = tuple[str, str]  # a figure, and what it is


def machine_facts(machine: MachineFigures, step_s: float) -> tuple[Fact, ...]:
    """The measured facts. `step_s`: of one guess by the starter; 0: unknown."""
    speed = Outlooks.tr("{speed} tok/s")
    facts = [
        (
            speed.format(speed=speed_number(machine.tokens_per_s)),
            Outlooks.tr(
                "is what {model} writes without speed-up. A token is a word or a part of one; most people read about "
                "{reading} a second.",
                model=machine.name,
                reading=speed_number(READING),
            ),
        ),
        (speed.format(speed=speed_number(machine.reads_per_s)), Outlooks.tr("is how fast it reads what you send.")),
    ]
    num = max((each for each in machine.passes if each <= 4), default=1)
    if num > 1:
        times = f"{decimal(machine.passes[num] / machine.passes[1], 1)}×"
        most = most_allowed(machine)
        about = Outlooks.tr(
            "the time of one token: what checking {number} at once takes. Even if every guess were right, speed-up "
            "could bring no more than {most}×.",
            number=whole(num),
            most=decimal(most, 1),
        )
        facts.append((times, about))
    if step_s:
        about = Outlooks.tr("is what one guess of the starter model takes; it guesses ahead for larger models.")
        facts.append((f"{speed_number(1e3 * step_s)} ms", about))
    return tuple(facts)


def most_allowed(machine: MachineFigures) -> float:
    """The highest possible speed-up, if all guesses are right and free."""
    single_s = machine.passes[1]
    return max(num * single_s / seconds for num, seconds in machine.passes.items() if num <= _MOST_ROWS)


def outlook_words(outlook: Outlook) -> str:
    """One sentence; all of it is estimated except for the plain speed of a measured target."""
    if outlook.suggestion is None:
        plain = Outlooks.tr("{speed} tok/s without speed-up", speed=speed_number(outlook.plain.middle))
    else:
        plain = Outlooks.tr("About {speed} tok/s without speed-up", speed=speed_number(outlook.plain.middle))
    if outlook.copies.middle < _WORTH_TELLING:
        return Outlooks.tr(
            "{plain}, and no faster with it: checking several guesses at once takes too long here.", plain=plain
        )
    if outlook.new_text.middle < _WORTH_TELLING:
        return Outlooks.tr(
            "{plain}; with it about the same in new text, and {copies} where it quotes, corrects or changes text.",
            plain=plain,
            copies=_sped_up(outlook, outlook.copies),
        )
    return Outlooks.tr(
        "{plain}; with it {new} in new text, and {copies} where it quotes, corrects or changes text.",
        plain=plain,
        new=_sped_up(outlook, outlook.new_text),
        copies=_sped_up(outlook, outlook.copies),
    )


def advice_of(outlooks: Sequence[Outlook], memory: int, disk: int) -> tuple[SuggestionAdvice, ...]:
    """Suggested models among the outlooks, ranked like the list of suggestions. `memory` and `disk` are in bytes: all
    memory, and free disk space."""
    suggested = [
        replace(each.suggestion, tokens_per_s=each.plain.middle) for each in outlooks if each.suggestion is not None
    ]
    order = sorted(suggested, key=lambda each: -each.file.size_bytes)
    return rank(order, memory, disk, {}) if order else ()


def in_use_words(outlook: Outlook) -> str:
    return Outlooks.tr("{model} (in use)", model=outlook.name)


def fit_words(advice: SuggestionAdvice) -> str:
    """Says whether a suggested model fits, and whether it is slow."""
    if advice.fit is not Fit.FITS:
        return translate("Hub", ABOUT_FIT[advice.fit])
    size = Outlooks.tr("{size} to download.", size=size_words((advice.file or advice.suggestion.file).download_bytes))
    slow = Outlooks.tr("Slower than most people read, without speed-up.")
    return f"{size} {slow}" if advice.is_slow else size


def compared_words(comparison: Comparison) -> str:
    """The result of a measurement just made; empty without one."""
    ratio = comparison.ratio
    return "" if ratio is None else Outlooks.tr("Measured just now: {ratio}×.", ratio=decimal(ratio, 2))


def best_words(advice: SuggestionAdvice) -> str:
    """Introduces the model that suits this computer best."""
    if advice.is_slow:
        return Outlooks.tr(
            "Of these, {model} suits this computer best; it is slow here, but answers far better than the starter.",
            model=advice.suggestion.name,
        )
    return Outlooks.tr(
        "Of these, {model} suits this computer best: the most capable one that writes faster than you read.",
        model=advice.suggestion.name,
    )


def _sped_up(outlook: Outlook, times: Span) -> str:
    """`17 (1.1 to 1.6 times as fast)`."""
    return Outlooks.tr(
        "{speed} ({low} to {high} times as fast)",
        speed=speed_number(outlook.plain.middle * times.middle),
        low=decimal(times.low, 1),
        high=decimal(times.high, 1),
    )
