"""Words in the user's language, where somebody has translated them.

Words are marked where they are written: `self.tr("…")` in a QObject, `translate("Context", "…")` elsewhere, and
`QT_TRANSLATE_NOOP("Context", "…")` for words that are held as data and translated where they are shown. Words that
depend on a number have `%n`, as in `self.tr("%n file(s)", "", number)`; English plurals are written as `file(s)`,
`box(es)` or `repl(y|ies)`. With `{number}` in place of `%n`, thousands are set apart. Outside of a QObject such words
take a `Words`. `make translations` collects them all.
"""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

TRANSLATIONS = Path(str(files("resources"))) / "translations"

_FORMS = re.compile(r"\((?:([^()|]*)\|([^()|]*)|(e?s))\)")  # "y|ies", or what the plural has more

translate = QCoreApplication.translate


def QT_TRANSLATE_NOOP(_context: str, text: str) -> str:
    """The text as it is. `make translations` knows this name; Qt's own function has no type."""
    return text


class Words:
    """`self.tr` for a module without a QObject. `make translations` looks for numbers in `tr` only, not in `translate`,
    and takes the name before the dot for the context; so an object is named after its context."""

    def __init__(self, context: str) -> None:
        self._context = context

    def tr(self, text: str, disambiguation: str = "", num: int = -1, /, **values: object) -> str:
        """`values` are written where their names are in braces, as is `num` for `{number}`; thousands are set apart."""
        words = translate(self._context, text, disambiguation, num)
        if num >= 0:
            values = {"number": num, **values}
        shown = {name: f"{value:,}" if isinstance(value, int) else value for name, value in values.items()}
        return words.format(**shown) if shown else words


class EnglishPlurals(QTranslator):
    """Makes "1 file" and "2 files" of "%n file(s)", "1 reply" and "2 replies" of "%n repl(y|ies)"."""

    def translate(
        self,
        context: str,  # noqa: ARG002
        source: str,
        disambiguation: str | None = None,  # noqa: ARG002
        number: int = -1,
    ) -> str | None:
        if number < 0:  # then the next translator is asked
            return None
        return _FORMS.sub(r"\1" if number == 1 else r"\2\3", source)


def install_translations(
    application: QCoreApplication, locale: QLocale | None = None, folder: Path = TRANSLATIONS
) -> tuple[QTranslator, ...]:
    """Has everything that is made from now on speak the user's language; Qt's own dialogs, too.

    Returns what was installed: English forms of plurals, and the language of `locale` where it is translated.
    """
    installed: list[QTranslator | None] = [EnglishPlurals()]
    wanted = locale or QLocale.system()
    if wanted.language() != QLocale.Language.English:
        own = _load(wanted, "slipstream", folder)
        if own is not None:  # else Qt's words would be the only ones in another language
            place = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath))
            installed += [_load(wanted, "qtbase", place), own]
    translators = tuple(translator for translator in installed if translator is not None)
    for translator in translators:  # the last one is asked first
        translator.setParent(application)
        application.installTranslator(translator)
    return translators


def _load(locale: QLocale, name: str, folder: Path) -> QTranslator | None:
    translator = QTranslator()
    return translator if translator.load(locale, name, "_", str(folder)) else None
