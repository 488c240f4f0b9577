"""Says in another language what is on the screen already: finds of which words it was made, by the translations.

A text is looked for as a whole, then among the texts with placeholders, whose values are told again in turn, then in
its parts: lines, what a dot or two blanks separate, what stands between tags. What is not found stays: names, and what
somebody wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from PySide6.QtCore import QLocale

from app.text.languages import ENGLISH, Language
from app.text.translation import Forms
from app.text.unseen import wrapped
from engine.sentences import capitalized, in_english

Messages = Mapping[str, Mapping[str, Forms]]  # by context and English words
_PLACEHOLDER = re.compile(r"\{([A-Za-z_]+)(?::[^{}]*)?\}|%L?n")
_NUMBER = re.compile(r"[+\-−]?\d[\d.,’'\u00a0\u202f ]*")
_COUNT = "number"  # the name of `%n`
_PARTS = re.compile(r"(<[^<>]*>|\n|\s·\s|\s{2,}\(|, |: )")
_DOTS = re.compile("…$")
_KEYS = re.compile(r" {2}\([^()]+\)$")
_DEEPEST = 3  # values within values
_FEWEST = 2  # letters of a text with placeholders by which it is known again
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class _Known:
    """One wording of before, and what it is now: as many as there are forms."""

    forms: tuple[str, ...]
    pattern: re.Pattern[str] | None = None  # where it has placeholders
    clue: str = ""  # its longest part without any
    names: tuple[str, ...] = field(default=())


class Retelling:
    """From one language to another."""

    def __init__(self, before: tuple[Language, Messages], after: tuple[Language, Messages]) -> None:
        self._before, self._after = before[0], after[0]
        self._old_locale, self._new_locale = before[0].locale, after[0].locale
        self._whole: dict[str, _Known] = {}
        self._nearly: dict[str, str] = {}  # as Qt and we show it in places
        self._open: list[_Known] = []
        for source, old, new in _pairs(before, after):
            for wording in old:
                known = _known(wording, new)
                if known.pattern is None:
                    self._whole.setdefault(wording, known)
                    for shown, now in _variants(wording, new[0]):
                        self._nearly.setdefault(shown, now)
                elif len(_LETTER.findall(_PLACEHOLDER.sub("", source))) >= _FEWEST:
                    self._open.append(known)
        self._open.sort(key=lambda known: -len(known.clue))

    def __call__(self, text: str, depth: int = 0) -> str:
        """The text in the other language, as far as it is known."""
        if not _LETTER.search(text):
            return self._number(text) or text
        found = self._as_whole(text, depth)
        if found is None:
            found = self._in_parts(text, depth)
        return text if found is None else found

    def _as_whole(self, text: str, depth: int) -> str | None:
        known = self._whole.get(text)
        if known is not None:
            return known.forms[0]
        flat = _flat(text)
        now = self._nearly.get(flat)
        if now is not None:  # a tooltip's lines are wrapped
            return wrapped(now) if "\n" in text.strip() else text.replace(text.strip(), now)
        return None if depth >= _DEEPEST else self._filled(text, depth)

    def _filled(self, text: str, depth: int) -> str | None:
        for known in self._open:
            if known.clue not in text or known.pattern is None:
                continue
            match = known.pattern.fullmatch(text)
            if match is not None:
                values = dict(zip(known.names, match.groups(), strict=True))
                form = known.forms[self._form(known, values.get(_COUNT))]
                return _with(form, {name: self(value, depth + 1) for name, value in values.items()})
        return None

    def _in_parts(self, text: str, depth: int) -> str | None:
        parts = _PARTS.split(text)
        if len(parts) == 1 or depth >= _DEEPEST:
            return None
        told = [each if place % 2 else self._padded(each, depth + 1) for place, each in enumerate(parts)]
        return "".join(told)

    def _padded(self, text: str, depth: int) -> str:
        inner = text.strip()
        return text.replace(inner, self(inner, depth), 1) if inner else text

    def _form(self, known: _Known, count: str | None) -> int:
        if len(known.forms) == 1:
            return 0
        number = 1.0 if count is None else self._old_locale.toDouble(count.strip())[0]
        return self._after.form_of(round(number))

    def _number(self, text: str) -> str:
        """As the other language writes it; empty if it is none."""
        inner = text.strip()
        if not _NUMBER.fullmatch(inner):
            return ""
        number, is_sound = self._old_locale.toDouble(inner.replace("−", "-"))
        if not is_sound:
            return ""
        _, _, decimals = inner.partition(self._old_locale.decimalPoint())
        locale = QLocale(self._new_locale)
        if self._old_locale.groupSeparator() not in inner:
            locale.setNumberOptions(QLocale.NumberOption.OmitGroupSeparator)
        return text.replace(inner, locale.toString(number, "f", len(decimals)))


def _pairs(
    before: tuple[Language, Messages], after: tuple[Language, Messages]
) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """English words, what they were, and what they are."""
    contexts = {*before[1], *after[1]}
    for context in sorted(contexts):
        old, new = before[1].get(context, {}), after[1].get(context, {})
        for source in dict.fromkeys((*old, *new)):
            is_plural = isinstance(old.get(source), list) or isinstance(new.get(source), list)
            yield source, _forms(source, old, before[0], is_plural), _forms(source, new, after[0], is_plural)


def _forms(source: str, words: Mapping[str, Forms], language: Language, is_plural: bool) -> tuple[str, ...]:
    forms = words.get(source)
    if forms:
        return (forms,) if isinstance(forms, str) else tuple(forms)
    if not is_plural:
        return (source,)
    numbers = (1, 2) if language is ENGLISH or len(language.forms) > 1 else (2,)
    return tuple(in_english(source, number) for number in numbers)


def _known(wording: str, forms: tuple[str, ...]) -> _Known:
    names = [_name(found) for found in _PLACEHOLDER.finditer(wording)]
    if not names:
        return _Known(forms)
    literals = [*_literals(wording)]
    pattern, seen = "", list[str]()
    for literal, name in zip(literals, [*names, ""], strict=True):
        pattern += re.escape(literal)
        if name in seen:
            pattern += rf"\{seen.index(name) + 1}"
        elif name:
            seen.append(name)
            pattern += "(.*?)"
    return _Known(forms, re.compile(pattern, re.DOTALL), max(literals, key=len), tuple(seen))


def _literals(wording: str) -> Iterable[str]:
    end = 0
    for found in _PLACEHOLDER.finditer(wording):
        yield wording[end : found.start()]
        end = found.end()
    yield wording[end:]


def _variants(wording: str, now: str) -> Iterator[tuple[str, str]]:
    """How else it is shown: without the dots of a menu or the keys of a button, in one line, with a capital."""
    for cut in (_DOTS, _KEYS):
        yield cut.sub("", wording), cut.sub("", now)
    yield _flat(wording), now
    yield capitalized(wording), capitalized(now)


def _with(form: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: values.get(_name(found), found[0]), form)


def _name(found: re.Match[str]) -> str:
    return (found[1] or _COUNT).lower()


def _flat(text: str) -> str:
    return " ".join(text.split())
