"""Another language is chosen: the window is made again in it, around the same engine."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, QTimer, Slot
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import delete

from app.main_window import MainWindow
from app.startup.first_paint import wait_for_first_paint
from app.text.languages import chosen_language
from app.text.translation import Translators
from app.widgets.toast import Toast
from app.wiring import WiredWindow

SETTING = "language"
AGAIN_MS = 150  # until it is tried again
_LETTERS = {
    "ja": QFontDatabase.WritingSystem.Japanese,
    "zh_CN": QFontDatabase.WritingSystem.SimplifiedChinese,
}
_NO_FONT = "No font here has the letters of {language}: install one, such as the package fonts-noto-cjk."


class LanguageChange(QObject):
    """Every text is made of its source and its values, so a window in another language is another window. It takes the
    place of the first with all that is shown and typed there. While something is under way that it could not go on
    with, it waits, and the settings say why."""

    def __init__(self, wired: WiredWindow, translators: Translators) -> None:
        super().__init__(wired)
        self._wired = wired
        self._translators = translators
        self._no_font: Toast | None = None  # keeps nobody from leaving a language that cannot be read
        # Not at once: the field that the language was chosen in is at work, and will be gone.
        self._soon = QTimer(self, singleShot=True)
        self._soon.timeout.connect(self._change)
        wired.keeper.changed.connect(self._follow)
        self._check_fonts()

    @Slot()
    def _follow(self) -> None:
        if self._is_wanted or self._soon.isActive():
            self._soon.start(0)

    @property
    def _is_wanted(self) -> bool:
        return chosen_language(self._wired.keeper.settings.language) is not self._translators.language

    @Slot()
    def _change(self) -> None:
        obstacle = self._obstacle() if self._is_wanted else ""
        self._wired.settings.show_note(SETTING, obstacle)
        if obstacle:
            self._soon.start(AGAIN_MS)
        elif self._is_wanted:
            self._translators.speak(chosen_language(self._wired.keeper.settings.language))
            self._move()
            self._check_fonts()

    def _obstacle(self) -> str:
        """Says why the change must wait; empty: it need not."""
        wired = self._wired
        if wired.window.is_busy or wired.bridge.is_at_work or any(each.is_at_work for each in wired.parts):
            return self.tr("The language will change when the current task is finished.")
        if any(toast.awaits_user and toast is not self._no_font for toast in wired.window.toasts.shown):
            return self.tr("The language will change when the note above the message box is closed.")
        if QApplication.activeModalWidget() is not None or any(map(self._is_in_the_way, self._windows())):
            return self.tr("The language will change when Slipstream's other windows are closed.")
        return ""

    def _windows(self) -> list[QWidget]:
        return [each for each in self._wired.window.findChildren(QWidget) if each.isWindow() and each.isVisible()]

    def _is_in_the_way(self, window: QWidget) -> bool:
        return window.windowType() is not Qt.WindowType.ToolTip and not self._wired.settings.is_dialog(window)

    def _move(self) -> None:
        """Shows the new window before the old one goes."""
        old, wired = self._wired.window, self._wired
        new = MainWindow(wired.theme)
        new.restore(old.state())
        new.setWindowState(old.windowState())
        new.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating, QApplication.activeWindow() is None)
        try:
            wired.move_to(new)
        finally:  # the user is never left with a dead window
            new.show()
            wait_for_first_paint(new)
            delete(old)

    def _check_fonts(self) -> None:
        """Warns in English, as the letters of the language are what is missing."""
        language = self._translators.language
        letters = _LETTERS.get(language.code)
        if letters is not None and not QFontDatabase.families(letters):
            self._no_font = self._wired.window.toasts.show_error(_NO_FONT.format(language=language.own_name))
