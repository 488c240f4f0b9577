"""Words in the user's language, where somebody has translated them.

Words are marked where they stand: `self.tr("…")` in a QObject, `translate("Context", "…")` elsewhere, and
`QT_TRANSLATE_NOOP("Context", "…")` for words that are kept as data and translated where they are shown. What depends on
a number has `%n` and is `self.tr("%n file(s)", "", number)`; English has forms of its own for that. `make translations`
collects them all.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

TRANSLATIONS = Path(str(files("resources"))) / "translations"

translate = QCoreApplication.translate


def install_translations(
    application: QCoreApplication, locale: QLocale | None = None, folder: Path = TRANSLATIONS
) -> tuple[QTranslator, ...]:
    """Has everything that is made from now on speak the user's language; Qt's own dialogs, too.

    Returns what was installed: English forms of plurals always, and the language of `locale` where there is one.
    """
    wanted = locale or QLocale.system()
    english = QLocale(QLocale.Language.English)
    installed = []
    for language, name, place in (
        (english, "slipstream", folder),
        (wanted, "qtbase", Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath))),
        (wanted, "slipstream", folder),  # the last one is asked first
    ):
        translator = QTranslator(application)
        if translator.load(language, name, "_", str(place)):
            application.installTranslator(translator)
            installed.append(translator)
        else:
            translator.deleteLater()
    return tuple(installed)
