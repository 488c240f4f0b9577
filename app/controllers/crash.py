"""Offers crash reports to the user: at the start those of the last run, later those of this one."""

from __future__ import annotations

import shutil
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QStandardPaths, Qt, QTimer, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog

from app.crash.text import settings_text
from app.crash.watch import CrashWatch
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper

SUBJECT = "crash"


class CrashController(QObject):
    """Shows a notice with ways to save a report. Reads and writes files on its own thread, as the engine may be what
    is broken.

    Signals:
        reported(Path): something has just gone wrong. Emitted on any thread.
        found(tuple): reports of earlier runs, newest last. Emitted on the file thread.
        saved(str): why a report could not be copied, in a sentence; empty if it was. Emitted on the file thread.
    """

    reported = Signal(object)
    found = Signal(object)
    saved = Signal(str)

    def __init__(self, window: MainWindow, keeper: SettingsKeeper, watch: CrashWatch) -> None:
        super().__init__(window)
        self._window = window
        self._keeper = keeper
        self._watch = watch
        self._files = ThreadPoolExecutor(max_workers=1, thread_name_prefix="crash-reports")
        queued = Qt.ConnectionType.QueuedConnection
        self.reported.connect(self._on_reported, queued)
        self.found.connect(self._on_found, queued)
        self.saved.connect(self._on_saved, queued)
        watch.settings_text = self._settings_text
        watch.on_report = self._report
        window.closing.connect(self._close)
        QTimer.singleShot(0, self, self._look_for_earlier)

    def _report(self, report: Path) -> None:
        self.reported.emit(report)

    def _settings_text(self) -> str:
        return settings_text(self._keeper.settings)

    @Slot()
    def _look_for_earlier(self) -> None:
        future = self._files.submit(self._watch.folder.take_up, self._settings_text())
        future.add_done_callback(self._emit_found)

    def _emit_found(self, future: Future[tuple[Path, ...]]) -> None:
        if not future.cancelled() and future.exception() is None and future.result():
            self.found.emit(future.result())

    @Slot(object)
    def _on_found(self, reports: tuple[Path, ...]) -> None:
        if SUBJECT in self._window.notices.shown:
            return  # about a newer report; these wait for the next start
        for report in reports:
            latest = self._watch.folder.mark_told(report)
        self._offer(self.tr("Slipstream ended unexpectedly last time."), latest)

    @Slot(object)
    def _on_reported(self, report: Path) -> None:
        self._offer(self.tr("Something went wrong inside Slipstream."), self._watch.folder.mark_told(report))

    def _offer(self, what: str, report: Path) -> None:
        calm = self.tr("A report was saved on this machine; nothing was sent.")
        self._window.notices.show_notice(
            SUBJECT,
            f"{what} {calm}",
            (
                (self.tr("Save report…"), partial(self._choose, report)),
                (self.tr("Show folder"), self._show_folder),
            ),
        )

    def _choose(self, report: Path) -> None:
        dialog = QFileDialog(self._window, self.tr("Save the crash report"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setDirectory(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters([self.tr("Text (*.txt)")])
        dialog.setDefaultSuffix("txt")
        dialog.selectFile(report.name)
        dialog.fileSelected.connect(partial(self._save, report))
        dialog.open()

    def _save(self, report: Path, chosen: str) -> None:
        self._files.submit(self._copy, report, Path(chosen))

    def _copy(self, report: Path, chosen: Path) -> None:
        try:
            shutil.copyfile(report, chosen)
        except OSError as error:
            words = self.tr("{name} could not be written: {reason}. Choose another place.")
            self.saved.emit(words.format(name=chosen.name, reason=error.strerror))
        else:
            self.saved.emit("")

    @Slot(str)
    def _on_saved(self, problem: str) -> None:
        if problem:
            self._window.toasts.show_error(problem)
        else:
            self._window.toasts.show_info(self.tr("The report was saved. Look through it before you give it away."))

    @Slot()
    def _show_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._watch.folder.path)))

    @Slot()
    def _close(self) -> None:
        self._watch.on_report = lambda _report: None
        self._files.shutdown()
