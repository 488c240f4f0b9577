"""Holds the settings while the app runs, and saves them soon after every change."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pydantic import ValidationError
from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.settings.app_settings import AppSettings, SettingsFile, not_saved
from app.settings.declaration import SettingValue, shown_settings
from app.text.translation import translated
from engine.values.errors import MendableError

SAVE_AFTER_MS = 200  # changes that follow one another are written once
TRY_AGAIN_AFTER_MS = 1000  # what could not be saved, as on a full disk


class SettingsKeeper(QObject):
    """The only one to change settings."""

    changed = Signal()  # a setting that is shown has another value
    # the settings could not be saved, in a sentence, once for each change: they are tried again until they are. Emitted
    # on the thread that writes.
    failed = Signal(str)
    _refused = Signal()  # by the disk, the first time or again

    def __init__(self, file: SettingsFile, settings: AppSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.settings = settings
        self._file = file
        self._is_closed = False
        self._owes_forgetting = False  # of the thread that writes
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="settings")
        self._timer = QTimer(self, singleShot=True, interval=SAVE_AFTER_MS)
        self._timer.timeout.connect(self._save)
        self._again = QTimer(self, singleShot=True, interval=TRY_AGAIN_AFTER_MS)
        self._again.timeout.connect(lambda: self._writer.submit(self._write, self.settings, is_told=True))
        self._refused.connect(self._on_refused)

    def change(self, name: str, value: SettingValue | dict[str, str]) -> str:
        """Changes a setting. If the value is invalid, returns a sentence and keeps the old one."""
        try:
            settings = self.settings.changed(**{name: value})
        except ValidationError as error:
            detail = error.errors()[0]
            cause = detail.get("ctx", {}).get("error")
            return translated(cause.sentence) if isinstance(cause, MendableError) else str(detail["msg"])
        self._take(settings)
        return ""

    def reset(self) -> None:
        """Resets everything that is shown, but not what the app notes by itself."""
        usual = {setting.name: setting.default for setting in shown_settings(AppSettings)}
        self._take(self.settings.changed(**usual, shortcuts={}))

    def forget_words(self) -> None:
        """Erases what the user wrote from the settings and at once from the disk."""
        self._take(self.settings.without_words())
        self._timer.stop()
        if not self._is_closed:
            self._writer.submit(self._write, self.settings, forgets=True)

    def note(self, **values: Any) -> None:
        """Notes values of the app's own, without emitting `changed`."""
        self._take(self.settings.model_copy(update=values), is_silent=True)

    def close(self) -> None:
        """Saves pending changes. Raises OSError."""
        self._is_closed = True
        self._timer.stop()
        self._again.stop()
        self._writer.shutdown()
        self._put(self.settings)

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

    @Slot()
    def _on_refused(self) -> None:
        if not self._is_closed:
            self._again.start()

    def _write(self, settings: AppSettings, forgets: bool = False, is_told: bool = False) -> None:
        self._owes_forgetting |= forgets
        try:
            self._put(settings)
        except OSError as error:
            if not is_told:
                self.failed.emit(not_saved(error))
            self._refused.emit()

    def _put(self, settings: AppSettings) -> None:
        if self._owes_forgetting:
            self._file.forget_words(settings)
        else:
            self._file.save(settings)
        self._owes_forgetting = False
