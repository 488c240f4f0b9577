"""The languages that the window speaks: their names, their plurals, and which of them the system wants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QLocale

SYSTEM = "system"  # the default choice


@dataclass(frozen=True, slots=True)
class Language:
    """`forms` are the names of its plural forms, as the Unicode rules have them, in the order in which translations of
    words that depend on a number are listed; `keys` what is printed on keys, by Qt's names, wherever we name them, and
    Qt does."""

    code: str
    own_name: str
    forms: tuple[str, ...] = ("one", "other")
    keys: tuple[tuple[str, str], ...] = ()

    def form_of(self, number: int) -> int:
        """The index of the plural form for a number."""
        if len(self.forms) == 1:
            return 0
        is_one = number in (0, 1) if self.code == "fr" else number == 1
        return 0 if is_one else len(self.forms) - 1

    @property
    def locale(self) -> QLocale:
        """Formats numbers: the system's own locale, if it is in this language."""
        system = QLocale.system()
        if system.name() not in ("C", "") and language_of(system.name()) is self:
            return system
        return QLocale("en_US" if self is ENGLISH else self.code)


_SPANISH_KEYS = (  # Qt has words for them that are on no keyboard: Control, Mayúsculas, Suprimir, Retorno
    ("Ctrl", "Ctrl"), ("Shift", "Mayús"), ("Esc", "Esc"), ("Del", "Supr"), ("Return", "Enter"), ("Enter", "Enter"),
    ("PgUp", "Re Pág"), ("PgDown", "Av Pág"), ("Tab", "Tab"),
)  # fmt: skip
ENGLISH = Language("en", "English")
TRANSLATED = (
    Language("de", "Deutsch", keys=(("Ctrl", "Strg"), ("Shift", "Umschalt"))),
    Language("es", "Español", keys=_SPANISH_KEYS),
    Language("fr", "Français", keys=(("Shift", "Maj"),)),
    Language("ja", "日本語", ("other",)),
    Language("zh_CN", "简体中文", ("other",), (("Return", "Enter"), ("Enter", "Enter"))),
)
LANGUAGES = (ENGLISH, *TRANSLATED)
_SIMPLIFIED = ("zh", "zh-cn", "zh-sg", "zh-my")  # without a script


def language_named(code: str) -> Language | None:
    return next((each for each in LANGUAGES if each.code == code), None)


def language_of(name: str) -> Language | None:
    """The language of a locale such as `de_AT` or `zh-Hans-SG`; None if the window does not speak it."""
    tag = name.split(".")[0].replace("_", "-").lower()
    if tag.startswith("zh"):
        return language_named("zh_CN") if tag in _SIMPLIFIED or "hans" in tag.split("-") else None
    return language_named(tag.split("-")[0])


def chosen_language(choice: str, wanted: Sequence[str] | None = None) -> Language:
    """The language for a choice in the settings; the system's is the first of the `wanted` locales that the window
    speaks."""
    found = language_named(choice)
    if found is not None:
        return found
    wanted = QLocale.system().uiLanguages() if wanted is None else wanted
    return next((language for name in wanted if (language := language_of(name)) is not None), ENGLISH)
