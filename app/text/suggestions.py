"""Suggested models: which suits this computer best, and what is said of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.text.amounts import day_words, size_words
from app.text.hub_files import Fit, fit_of
from app.text.numbers import decimal, whole
from app.text.translation import QT_TRANSLATE_NOOP, Words, translate
from engine.values.targets import HubFile, Purpose, Suggestion

# Tokens per second: 238 words a minute, the mean of silent reading of English (Brysbaert 2019); 3 words take 4 tokens.
READING = 238 / 60 / 0.75
PURPOSES = {
    Purpose.CHAT: QT_TRANSLATE_NOOP("Suggestions", "Chat"),
    Purpose.LANGUAGES: QT_TRANSLATE_NOOP("Suggestions", "Many languages"),
    Purpose.SMALL: QT_TRANSLATE_NOOP("Suggestions", "Small and quick"),
    Purpose.REASONING: QT_TRANSLATE_NOOP("Suggestions", "Reasoning"),
    Purpose.CODE: QT_TRANSLATE_NOOP("Suggestions", "Code"),
}
_ABOUT = {
    Purpose.CHAT: QT_TRANSLATE_NOOP("Suggestions", "For questions, writing and conversation of all kinds."),
    Purpose.LANGUAGES: QT_TRANSLATE_NOOP("Suggestions", "For chat in many languages."),
    Purpose.SMALL: QT_TRANSLATE_NOOP("Suggestions", "Small and quick; it knows less than the larger ones."),
    Purpose.REASONING: QT_TRANSLATE_NOOP("Suggestions", "Thinks in writing before it answers, which takes longer."),
    Purpose.CODE: QT_TRANSLATE_NOOP("Suggestions", "For writing and explaining code."),
}
Suggestions = Words("Suggestions")


@dataclass(frozen=True, slots=True)
class SuggestionAdvice:
    suggestion: Suggestion
    fit: Fit
    file: HubFile | None  # as the hub has it, or as listed if the hub was not asked; None: it is offered no more
    is_checked: bool = False  # the hub was asked
    is_best: bool = False  # for this computer

    @property
    def is_slow(self) -> bool:
        """Slower than most people read."""
        return 0 < self.suggestion.tokens_per_s < READING

    @property
    def has_changed(self) -> bool:
        return self.file is not None and self.file != self.suggestion.file


def rank(
    suggestions: Sequence[Suggestion], memory: int, disk: int, found: Mapping[HubFile, HubFile | None]
) -> tuple[SuggestionAdvice, ...]:
    """Best first: those that fit and write faster than people read, in their suggested order; then slow ones by speed.
    `found`: the hub's replacement of a suggested file."""
    advice = [_advise(each, memory, disk, found) for each in suggestions]
    first, *others = sorted(advice, key=_place)
    is_best = first.file is not None and first.fit in (Fit.FITS, Fit.TIGHT)
    return (SuggestionAdvice(first.suggestion, first.fit, first.file, first.is_checked, is_best), *others)


def speed_words(tokens_per_s: float) -> str:
    """`about 12 tok/s`; empty if unknown."""
    return Suggestions.tr("about {speed} tok/s", speed=speed_number(tokens_per_s)) if tokens_per_s else ""


def speed_number(tokens_per_s: float) -> str:
    """The speed with no more digits than an estimate deserves."""
    return whole(tokens_per_s) if tokens_per_s >= 5 else decimal(tokens_per_s, 1)


def details(advice: SuggestionAdvice, host: str, about_fit: str) -> tuple[str, ...]:
    """Paragraphs to read before a download."""
    suggestion = advice.suggestion
    file = suggestion.file
    facts = (
        Suggestions.tr("Licence: {licence}", licence=suggestion.licence),
        Suggestions.tr("From: {repository}", repository=file.repository),
        Suggestions.tr("File: {file}", file=file.name),
    )
    return (
        translate("Suggestions", _ABOUT[suggestion.purpose]),
        " ".join((about_fit, _speed(advice))),
        "\n".join(facts),
        _seen(advice, host),
    )


def _advise(
    suggestion: Suggestion, memory: int, disk: int, found: Mapping[HubFile, HubFile | None]
) -> SuggestionAdvice:
    listed = suggestion.file
    file = found.get(listed, listed)
    fit = fit_of((file or listed).download_bytes, memory, disk)
    return SuggestionAdvice(suggestion, fit, file, listed in found)


def _place(advice: SuggestionAdvice) -> tuple[bool, int, float]:
    slowness = -advice.suggestion.tokens_per_s if advice.is_slow else -READING
    return advice.file is None, list(Fit).index(advice.fit), slowness


def _speed(advice: SuggestionAdvice) -> str:
    speed = speed_words(advice.suggestion.tokens_per_s)
    if not speed:
        return Suggestions.tr("Its speed here can be estimated once a model has been loaded.")
    if advice.is_slow:
        words = Suggestions.tr("Would write {speed} here, slower than most people read.", speed=speed)
    else:
        words = Suggestions.tr("Would write {speed} here, faster than most people read.", speed=speed)
    how = Suggestions.tr("An estimate, from the size of the file and what other models reached on this computer.")
    return f"{words} {how}"


def _seen(advice: SuggestionAdvice, host: str) -> str:
    if not advice.is_checked:
        day = day_words(advice.suggestion.seen_on)
        return Suggestions.tr(
            "Listed in public catalogues on {day}; {host} has not been asked since.", day=day, host=host
        )
    if advice.file is None:
        return Suggestions.tr("{host} no longer offers this file. Search for another one above.", host=host)
    if advice.has_changed:
        size = size_words(advice.file.size_bytes)
        return Suggestions.tr("{host} now has a different file of this name ({size}).", host=host, size=size)
    return Suggestions.tr("{host} offers it as listed here.", host=host)
