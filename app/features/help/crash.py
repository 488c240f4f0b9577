"""Offers crash reports to the user: at the start those of the last run, later those of this one."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal, Slot

from app.crash.reports import settings_text
from app.crash.watch import CrashWatch
from app.features.controller import WindowPart, open_folder
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper

SUBJECT = "crash"


class CrashController(WindowPart):
    """Shows a notice for each report that the user does not know of."""

    reported = Signal(object)  # (Path) an error has just been reported. Emitted on any thread.

    def __init__(self, window: MainWindow, keeper: SettingsKeeper, watch: CrashWatch) -> None:
        super().__init__(window)
        self._watch = watch
        self._is_earlier = False  # what the notice is about
        self.reported.connect(self._on_reported, Qt.ConnectionType.QueuedConnection)
        watch.settings_text = lambda: settings_text(keeper.settings)
        watch.on_report = self.reported.emit
        window.closing.connect(self._close)
        QTimer.singleShot(0, self, self._look_for_earlier)

    @Slot()
    def _look_for_earlier(self) -> None:
        reports = self._watch.folder.take_new(self._watch.settings_text)
        for report in reports:
            self._watch.folder.mark_shown(report)
        if reports:
            self._offer(is_earlier=True)

    @Slot(object)
    def _on_reported(self, report: Path) -> None:
        self._watch.folder.mark_shown(report)
        self._offer(is_earlier=False)

    def kept(self) -> bool | None:
        return self._is_earlier if SUBJECT in self._window.notices.shown else None

    def resume(self, kept: bool | None) -> None:
        if kept is not None:
            self._offer(kept)

    def _offer(self, is_earlier: bool) -> None:
        """Offers a report of the last run, or of this one."""
        self._is_earlier = is_earlier
        what = self.tr("Something went wrong inside Slipstream.")
        if is_earlier:
            what = self.tr("Slipstream ended unexpectedly last time.")
        calm = self.tr("A report was saved on this computer; nothing was sent.")
        self._window.notices.show_notice(SUBJECT, f"{what} {calm}", ((self.tr("Show folder"), self._show_folder),))

    @Slot()
    def _show_folder(self) -> None:
        open_folder(self._watch.folder.path)

    @Slot()
    def _close(self) -> None:
        self._watch.on_report = lambda _report: None
