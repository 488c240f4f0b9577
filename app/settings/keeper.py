"""Holds the settings while the app runs, and saves them soon after every change."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pydantic import ValidationError
from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.settings.app_settings import AppSettings, SettingsFile, not_saved
from app.settings.declaration import SettingValue, shown_settings

SAVE_AFTER_MS = 200  # changes that follow one another are written once


class SettingsKeeper(QObject):
    """The only one to change settings.

    Signals:
        changed(): a setting that is shown has another value.
        failed(str): the settings could not be saved, in a sentence. Emitted on the thread that writes.
    """

    changed = Signal()
    failed = Signal(str)

    def __init__(self, file: SettingsFile, settings: AppSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.settings = settings
        self._file = file
        self._is_closed = False
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="settings")
        self._timer = QTimer(self, singleShot=True, interval=SAVE_AFTER_MS)
        self._timer.timeout.connect(self._save)

    def change(self, name: str, value: SettingValue | dict[str, str]) -> str:
        """Takes another value of a setting. Returns a sentence if it makes no sense; then the old one stays."""
        try:
            settings = self.settings.changed(**{name: value})
        except ValidationError as error:
            return str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        self._take(settings)
        return ""

    def reset(self) -> None:
        """Everything that is shown is as usual again; what the app notes by itself stays."""
        usual = {setting.name: setting.default for setting in shown_settings(AppSettings)}
        self._take(self.settings.changed(**usual, shortcuts={}))

    def forget_words(self) -> None:
        """What the user wrote leaves the settings, and the disk at once."""
        self._take(self.settings.without_words())
        self._timer.stop()
        if not self._is_closed:
            self._writer.submit(self._write, self.settings, forgets=True)

    def note(self, **values: Any) -> None:
        """What the app notes by itself; `changed` is not emitted."""
        self._take(self.settings.model_copy(update=values), is_silent=True)

    def close(self) -> None:
        """Saves what is not saved yet. Raises OSError."""
        self._is_closed = True
        self._timer.stop()
        self._writer.shutdown()
        self._file.save(self.settings)

    def _take(self, settings: AppSettings, is_silent: bool = False) -> None:
        if settings == self.settings:
            return
        self.settings = settings
        if not self._is_closed:
            self._timer.start()
        if not is_silent:
            self.changed.emit()

    @Slot()
    def _save(self) -> None:
        self._writer.submit(self._write, self.settings)  # a change makes other ones, never changes these

    def _write(self, settings: AppSettings, forgets: bool = False) -> None:
        try:
            if forgets:
                self._file.forget_words(settings)
            else:
                self._file.save(settings)
        except OSError as error:
            self.failed.emit(not_saved(error))
