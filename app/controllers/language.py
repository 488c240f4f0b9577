"""The language of the window, as the settings have it: another one is spoken at once."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QFontDatabase

from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from app.text.languages import chosen_language
from app.text.retelling import Retelling
from app.text.translation import Translators
from app.widgets.retold import retell_all

_LETTERS = {
    "ja": QFontDatabase.WritingSystem.Japanese,
    "zh_CN": QFontDatabase.WritingSystem.SimplifiedChinese,
}
_NO_FONT = "No font here has the letters of {language}: install one, such as the package fonts-noto-cjk."


class LanguageController(QObject):
    """Has everything that is shown said again when another language is chosen. The engine goes on meanwhile; what it
    says next, and what is opened next, comes in the new language anyway."""

    def __init__(self, window: MainWindow, keeper: SettingsKeeper, translators: Translators) -> None:
        super().__init__(window)
        self._window = window
        self._keeper = keeper
        self._translators = translators
        keeper.changed.connect(self._follow)
        self._check_fonts()

    @Slot()
    def _follow(self) -> None:
        before, wanted = self._translators.language, chosen_language(self._keeper.settings.language)
        if wanted is before:
            return
        words = self._translators.messages
        self._translators.speak(wanted)
        retell_all(Retelling((before, words), (wanted, self._translators.messages)))
        self._check_fonts()

    def _check_fonts(self) -> None:
        """In English, as the letters of the language are what is missing."""
        language = self._translators.language
        letters = _LETTERS.get(language.code)
        if letters is not None and not QFontDatabase.families(letters):
            self._window.toasts.show_error(_NO_FONT.format(language=language.own_name))
