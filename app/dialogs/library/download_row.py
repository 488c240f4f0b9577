"""One download: how far it is, and what can be done about it."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QFrame, QProgressBar, QWidget

from app.text.hub_files import Download, DownloadState
from app.widgets.layouts import Placed, in_column, in_row
from app.widgets.parts import ElidedLabel, button

_STEPS = 1_000
_GOING = (DownloadState.WAITING, DownloadState.RUNNING)
_RESTING = (DownloadState.PAUSED, DownloadState.FAILED)


class DownloadRow(QFrame):
    """Signals:
    pause_requested(Download), resume_requested(Download), discard_requested(Download), use_requested(Download),
    dismissed(Download): as its buttons say.
    """

    pause_requested = Signal(Download)
    resume_requested = Signal(Download)
    discard_requested = Signal(Download)
    use_requested = Signal(Download)
    dismissed = Signal(Download)

    def __init__(self, download: Download, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._download = download
        self.setProperty("kind", "download")
        self.name = ElidedLabel(self)
        self.name.setProperty("kind", "title")
        self.words = ElidedLabel(self)
        self.words.setProperty("kind", "quiet")
        self.progress = QProgressBar(self)
        self.progress.setRange(0, _STEPS)
        self.progress.setTextVisible(False)
        self.progress.setFixedHeight(4)
        self.pause_button = button(self.tr("Pause"), "link", self)
        self.resume_button = button(self.tr("Resume"), "link", self)
        self.discard_button = button(self.tr("Discard"), "link", self)
        self.use_button = button(self.tr("Use it now"), "link", self)
        self.dismiss_button = button(self.tr("Dismiss"), "link", self)
        self.pause_button.clicked.connect(self._on_pause)
        self.resume_button.clicked.connect(self._on_resume)
        self.discard_button.clicked.connect(self._on_discard)
        self.use_button.clicked.connect(self._on_use)
        self.dismiss_button.clicked.connect(self._on_dismiss)
        told = in_column([self.name, self.words], spacing=2)
        upper = in_row([Placed(told, 1)], spacing=4)
        for each in (
            self.pause_button,
            self.resume_button,
            self.discard_button,
            self.use_button,
            self.dismiss_button,
        ):
            upper.addWidget(each)
        in_column([upper, self.progress], inside=self, margins=(12, 6, 6, 8), spacing=5)
        self.show_download(download)

    def show_download(self, download: Download) -> None:
        self._download = download
        state = download.state
        self.name.set_words(download.file.name)
        self.name.setToolTip(f"{download.file.repository}\n{download.file.name}")
        self.words.set_words(download.words)
        self.words.setToolTip(
            download.problem or self.tr("Speed as it was measured lately; the time left is what that speed would take")
        )
        self.progress.setValue(round(download.share * _STEPS))
        self.progress.setAccessibleName(self.tr("Downloading {file}").format(file=download.file.name))
        self.pause_button.setVisible(state in _GOING)
        self.resume_button.setVisible(state in _RESTING)
        self.discard_button.setVisible(state in _RESTING or state is DownloadState.PAUSING)
        self.discard_button.setEnabled(state is not DownloadState.PAUSING)
        self.use_button.setVisible(state is DownloadState.FINISHED)
        self.dismiss_button.setVisible(state is DownloadState.FINISHED)
        for each in (self.pause_button, self.resume_button, self.discard_button, self.use_button):
            each.setAccessibleName(self.tr("{action}: {file}").format(action=each.text(), file=download.file.name))

    @Slot()
    def _on_pause(self) -> None:
        self.pause_requested.emit(self._download)

    @Slot()
    def _on_resume(self) -> None:
        self.resume_requested.emit(self._download)

    @Slot()
    def _on_discard(self) -> None:
        self.discard_requested.emit(self._download)

    @Slot()
    def _on_use(self) -> None:
        self.use_requested.emit(self._download)

    @Slot()
    def _on_dismiss(self) -> None:
        self.dismissed.emit(self._download)
