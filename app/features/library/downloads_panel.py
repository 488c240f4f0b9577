"""All downloads, each with its progress and buttons; hidden while there are none."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal, SignalInstance
from PySide6.QtWidgets import QFrame, QPushButton, QWidget

from app.text.hub_files import Download, DownloadState
from app.text.unseen import one_line
from app.widgets.layouts import Placed, ScrollArea, Stretch, in_column, in_row
from app.widgets.parts import ElidedLabel, ProgressLine, button, discard, set_up
from engine.values.targets import HubFile

_SHOWN_ROWS = 2  # without scrolling
_ACTIVE = (DownloadState.WAITING, DownloadState.RUNNING)
_RESTING = (DownloadState.PAUSED, DownloadState.FAILED)


class DownloadsPanel(ScrollArea):
    pause_requested = Signal(Download)  # this and the next four: the buttons of a row were pressed
    resume_requested = Signal(Download)
    discard_requested = Signal(Download)
    use_requested = Signal(Download)
    dismissed = Signal(Download)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("plain", parent)
        self._rows: dict[HubFile, DownloadRow] = {}
        self._inside = QWidget(self)
        self._inside.setObjectName("inside")
        self._column = in_column([Stretch()], inside=self._inside, spacing=6)
        self.setWidget(self._inside)
        self.hide()

    @property
    def rows(self) -> tuple[DownloadRow, ...]:
        return tuple(self._rows.values())

    def show_downloads(self, downloads: Sequence[Download]) -> None:
        wanted = {download.file for download in downloads}
        for file in [file for file in self._rows if file not in wanted]:
            row = self._rows.pop(file)
            self._column.removeWidget(row)
            discard(row)
        for download in downloads:
            if download.file in self._rows:
                self._rows[download.file].show_download(download)
            else:
                row = DownloadRow(download, self, self._inside)
                self._column.insertWidget(len(self._rows), row)
                self._rows[download.file] = row
        self.setVisible(bool(self._rows))
        if self._rows:
            height = next(iter(self._rows.values())).sizeHint().height() + self._column.spacing()
            self.setFixedHeight(
                min(len(self._rows), _SHOWN_ROWS) * height + (height // 2 if len(self._rows) > 2 else 0)
            )


class DownloadRow(QFrame):
    """One download; its buttons emit the signals of the panel."""

    def __init__(self, download: Download, panel: DownloadsPanel, parent: QWidget) -> None:
        super().__init__(parent)
        self._download = download
        self.setProperty("kind", "download")
        self.name = set_up(ElidedLabel(self), kind="title")
        self.words = set_up(ElidedLabel(self), kind="quiet")
        self.progress = ProgressLine("", self)
        self.pause_button = self._button(self.tr("Pause"), panel.pause_requested)
        self.resume_button = self._button(self.tr("Resume"), panel.resume_requested)
        self.discard_button = self._button(self.tr("Discard"), panel.discard_requested)
        self.use_button = self._button(self.tr("Use it now"), panel.use_requested)
        self.dismiss_button = self._button(self.tr("Dismiss"), panel.dismissed)
        buttons = (self.pause_button, self.resume_button, self.discard_button, self.use_button, self.dismiss_button)
        upper = in_row([Placed(in_column([self.name, self.words], spacing=2), 1), *buttons], spacing=4)
        in_column([upper, self.progress], inside=self, margins=(12, 6, 6, 8), spacing=5)
        self.show_download(download)

    def show_download(self, download: Download) -> None:
        self._download = download
        state, name = download.state, one_line(download.file.name)
        self.name.set_words(name)
        self.name.setToolTip(f"{download.file.repository}\n{download.file.name}")
        self.words.set_words(download.words)
        self.words.setToolTip(download.problem or self.tr("The recent speed; the time left assumes the same speed"))
        self.progress.show_share(download.share)
        self.progress.setAccessibleName(self.tr("Downloading {file}").format(file=name))
        self.pause_button.setVisible(state in _ACTIVE)
        self.resume_button.setVisible(state in _RESTING)
        self.resume_button.setText(self.tr("Retry") if state is DownloadState.FAILED else self.tr("Resume"))
        self.discard_button.setVisible(state in _RESTING or state is DownloadState.PAUSING)
        self.discard_button.setEnabled(state is not DownloadState.PAUSING)
        self.use_button.setVisible(state is DownloadState.FINISHED and not download.file.is_head)
        self.dismiss_button.setVisible(state is DownloadState.FINISHED)
        for each in (self.pause_button, self.resume_button, self.discard_button, self.use_button):
            each.setAccessibleName(self.tr("{action}: {file}").format(action=each.text(), file=name))

    def _button(self, words: str, signal: SignalInstance) -> QPushButton:
        return button(words, "link", self, lambda: signal.emit(self._download))
