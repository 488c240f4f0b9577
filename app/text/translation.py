"""Words in the user's language, where there is a translation.

Words are marked where they are written: `self.tr("…")` in a QObject, `translate("Context", "…")` elsewhere, and
`QT_TRANSLATE_NOOP("Context", "…")` for words that are held as data and translated where they are shown. Words that
depend on a number have `%n`, as in `self.tr("%n file(s)", "", number)`; English plurals are written as `file(s)`,
`box(es)` or `repl(y|ies)`. With `{number}` in place of `%n`, thousands are set apart. Outside of a QObject such words
take a `Words`. What the engine says is translated as its events come in (`told`), or by `translated`.

Translations are in `resources/translations`, a file for each language: English words and their translations, by
contexts. `python -m tests.translations` collects the words, and says what is not translated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from app.text.languages import ENGLISH, Language
from app.text.numbers import formatted, use_locale, whole
from engine.values.sentences import Sentence, Told, Value, filled, in_english

ENGINE = "engine"  # the context of what the engine says
TRANSLATIONS = Path(str(files("resources"))) / "translations"
Forms = str | list[str]  # of a translation: several where it depends on a number
_OF_QT = re.compile("Q[A-Z]")  # contexts of its own words
_OF_KEYS = "QShortcut"  # that of the names of keys
_MARK = get_args(Told)[1]
_T = TypeVar("_T")

translate = QCoreApplication.translate


def QT_TRANSLATE_NOOP(_context: str, text: str) -> str:
    """Marks a text to be collected; it is translated where it is shown. Qt's own function has no type."""
    return text


class Words:
    """`self.tr` for a module without a QObject. What collects words takes the name before the dot for the context; so
    an object is named after its context."""

    def __init__(self, context: str) -> None:
        self._context = context

    def tr(self, text: str, disambiguation: str = "", num: int = -1, /, **values: object) -> str:
        """`values` replace their names in braces, and `num` replaces `{number}`; thousands are grouped."""
        words = translate(self._context, text, disambiguation, num)
        if num >= 0:
            values = {"number": num, **values}
        shown = {name: whole(value) if isinstance(value, int) else value for name, value in values.items()}
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
        return in_english(source, number)


class Catalogue(QTranslator):
    """The words of the window in one language. Words that their context does not have are looked for in all others: a
    class may say those of another one, and a value of a sentence may be the title of a setting."""

    def __init__(self, language: Language, messages: Mapping[str, Mapping[str, Forms]]) -> None:
        super().__init__()
        self._language = language
        self._messages = messages
        self._anywhere = {source: forms for words in messages.values() for source, forms in words.items()}
        self._keys = dict(language.keys)

    def translate(
        self,
        context: str,
        source: str,
        disambiguation: str | None = None,  # noqa: ARG002
        number: int = -1,
    ) -> str | None:
        if context == _OF_KEYS:
            return self._keys.get(source)
        forms = self._messages.get(context, {}).get(source)
        if forms is None and not _OF_QT.match(context):
            forms = self._anywhere.get(source)
        if not forms:
            return None
        return forms if isinstance(forms, str) else forms[self._language.form_of(max(0, number))]


def read_messages(language: Language, folder: Path = TRANSLATIONS) -> dict[str, dict[str, Forms]]:
    """Translations by context and English words; empty without a file."""
    try:
        content = json.loads((folder / f"{language.code}.json").read_text("utf-8"))
    except FileNotFoundError:
        return {}
    messages: dict[str, dict[str, Forms]] = content["messages"]
    return messages


class Translators:
    """What has the window speak a language, and Qt's own dialogs, too."""

    def __init__(self, application: QCoreApplication, folder: Path = TRANSLATIONS) -> None:
        self._application = application
        self._folder = folder
        self._installed: list[QTranslator] = []
        self.language = ENGLISH

    def speak(self, language: Language) -> None:
        """Sets the language of everything made from now on."""
        self.remove()
        self.language = language
        use_locale(language.locale)
        QLocale.setDefault(language.locale)  # of fields for numbers that are made from now on, and of Qt's dialogs
        messages = {} if language is ENGLISH else read_messages(language, self._folder)
        self._install(EnglishPlurals())
        if messages:  # else Qt's words would be the only ones in another language
            of_qt, place = QTranslator(), QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
            if of_qt.load(f"qtbase_{language.code}", place):
                self._install(of_qt)
            self._install(Catalogue(language, messages))  # the last one is asked first

    def remove(self) -> None:
        for translator in self._installed:
            self._application.removeTranslator(translator)
            translator.deleteLater()
        self._installed.clear()

    def _install(self, translator: QTranslator) -> None:
        self._installed.append(translator)
        translator.setParent(self._application)
        self._application.installTranslator(translator)


def install_translations(
    application: QCoreApplication, language: Language = ENGLISH, folder: Path = TRANSLATIONS
) -> Translators:
    translators = Translators(application, folder)
    translators.speak(language)
    return translators


def translated(sentence: str) -> str:
    """The engine's sentence in the user's language; other text is unchanged."""
    if not isinstance(sentence, Sentence):
        return sentence
    number = sentence.values.get("number")
    words = translate(ENGINE, sentence.template, "", round(number) if isinstance(number, int | float) else -1)
    return filled(words, sentence.values, _shown)


def told(event: _T) -> _T:
    """A copy of an event or value with the engine's sentences in the user's language."""
    if not is_dataclass(event) or isinstance(event, type):
        return event
    said: dict[str, Any] = {}
    for name in _telling(type(event)):
        value = getattr(event, name)
        words = in_words(value)
        if words is not value:
            said[name] = words
    return replace(event, **said) if said else event


def in_words(value: Any) -> Any:
    """The engine's answer in the user's language: a value, a tuple of values, or a sentence."""
    if isinstance(value, str):
        return translated(value)
    if isinstance(value, tuple):
        each = tuple(map(in_words, value))
        return each if any(one is not other for one, other in zip(each, value, strict=True)) else value
    return told(value)


@cache
def _telling(kind: type) -> tuple[str, ...]:
    """The fields of a dataclass that may contain sentences."""
    hints = _hints(kind)
    return tuple(each.name for each in fields(kind) if _may_tell(hints.get(each.name), (kind,)))


def _hints(kind: Any) -> dict[str, Any]:
    try:
        return get_type_hints(kind, include_extras=True)
    except NameError:  # arrays, whose library is imported later, and which say nothing
        return {}


def _may_tell(hint: Any, within: tuple[type, ...]) -> bool:
    if get_origin(hint) is Annotated:
        return _MARK in get_args(hint)
    if isinstance(hint, type) and is_dataclass(hint):
        if hint in within:
            return False
        return any(_may_tell(inner, (*within, hint)) for inner in _hints(hint).values())
    return any(_may_tell(each, within) for each in get_args(hint))


def _shown(value: Value, form: str) -> str:
    return translated(value) if isinstance(value, str) else formatted(value, form)
