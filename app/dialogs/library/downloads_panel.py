"""All downloads, below each other; gone while there are none."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from app.dialogs.library.download_row import DownloadRow
from app.text.hub_files import Download
from app.widgets.layouts import Stretch, in_column
from engine.messages.targets import HubFile

_SHOWN_ROWS = 2  # without scrolling


class DownloadsPanel(QScrollArea):
    """Signals: those of `DownloadRow`."""

    pause_requested = Signal(Download)
    resume_requested = Signal(Download)
    discard_requested = Signal(Download)
    use_requested = Signal(Download)
    dismissed = Signal(Download)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: dict[HubFile, DownloadRow] = {}
        self.setProperty("kind", "plain")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        inside = QWidget(self)
        inside.setObjectName("inside")
        self._column = in_column([Stretch()], inside=inside, spacing=6)
        self.setWidget(inside)
        self.hide()

    @property
    def rows(self) -> tuple[DownloadRow, ...]:
        return tuple(self._rows.values())

    def show_downloads(self, downloads: Sequence[Download]) -> None:
        wanted = {download.file for download in downloads}
        for file in [file for file in self._rows if file not in wanted]:
            row = self._rows.pop(file)
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        for download in downloads:
            if download.file in self._rows:
                self._rows[download.file].show_download(download)
            else:
                self._add(download)
        self.setVisible(bool(self._rows))
        if self._rows:
            height = next(iter(self._rows.values())).sizeHint().height() + self._column.spacing()
            self.setFixedHeight(
                min(len(self._rows), _SHOWN_ROWS) * height + (height // 2 if len(self._rows) > 2 else 0)
            )

    def _add(self, download: Download) -> None:
        row = DownloadRow(download, self.widget())
        row.pause_requested.connect(self.pause_requested)
        row.resume_requested.connect(self.resume_requested)
        row.discard_requested.connect(self.discard_requested)
        row.use_requested.connect(self.use_requested)
        row.dismissed.connect(self.dismissed)
        self._column.insertWidget(len(self._rows), row)
        self._rows[download.file] = row
