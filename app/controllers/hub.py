"""Decides what the page of the hub shows, and keeps the list of downloads."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import psutil
from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.dialogs.library.library_dialog import LibraryDialog
from app.dialogs.library.questions import ask_discard
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.text.downloads import Download, DownloadState
from app.text.hub_advice import advise
from engine import (
    DiscardDownload,
    DownloadTarget,
    ListDownloads,
    ListHubFiles,
    SearchHub,
    StopSignal,
)
from engine.messages.events import (
    DownloadsListed,
    Event,
    Failed,
    HubFilesListed,
    HubSearched,
    TargetDownloaded,
    TargetDownloading,
)
from engine.messages.targets import HubFile

_UNDER_WAY = (DownloadState.WAITING, DownloadState.RUNNING, DownloadState.PAUSING)


class HubController(QObject):
    """Connects the page with one engine. Nothing is asked of the network unless the user presses something.

    Signals:
        use_requested(object): the model with this path is to be used.
    """

    use_requested = Signal(object)

    def __init__(self, window: MainWindow, dialog: LibraryDialog, bridge: EngineBridge, folder: Path) -> None:
        """`folder` is on the disk that models are kept on."""
        super().__init__(window)
        self._window = window
        self._dialog = dialog
        self._page = dialog.hub
        self._bridge = bridge
        self._folder = folder
        self._sought: SearchHub | None = None  # what is shown, or awaited
        self._asking: StopSignal | None = None
        self._repository = ""
        self._downloads: dict[HubFile, Download] = {}
        self._under_way: dict[HubFile, tuple[DownloadTarget, StopSignal]] = {}
        self._has_listed = False
        self._page.search_requested.connect(self._search)
        self._page.files_requested.connect(self._list_files)
        self._page.download_requested.connect(self._download)
        panel = self._page.downloads
        panel.pause_requested.connect(self._pause)
        panel.resume_requested.connect(self._resume)
        panel.discard_requested.connect(self._ask_discard)
        panel.use_requested.connect(self._use)
        panel.dismissed.connect(self._forget)
        dialog.opened.connect(self._list_downloads)
        bridge.happened.connect(self._on_event, Qt.ConnectionType.QueuedConnection)

    # What the user wants

    @Slot(str)
    def _search(self, words: str) -> None:
        if self._asking is not None:
            self._asking.set()
        self._repository = ""
        self._sought = SearchHub(words)
        self._page.show_searching()
        self._asking = self._bridge.post(self._sought)

    @Slot(str)
    def _list_files(self, repository: str) -> None:
        self._repository = repository
        self._page.show_asking(repository)
        self._bridge.post(ListHubFiles(repository))

    @Slot(HubFile)
    def _download(self, file: HubFile) -> None:
        before = self._downloads.get(file)
        if before is not None and before.state in _UNDER_WAY:
            return
        command = DownloadTarget(file)
        self._under_way[file] = command, self._bridge.post(command)
        self._set(Download(file, DownloadState.WAITING, before.num_bytes if before else 0))

    @Slot(Download)
    def _pause(self, download: Download) -> None:
        if download.file not in self._under_way:
            return
        _, stop = self._under_way[download.file]
        stop.set()
        now = self._downloads[download.file]
        if now.state is DownloadState.WAITING:  # its end would be told of only when its turn comes
            del self._under_way[download.file]
            self._set(replace(now, state=DownloadState.PAUSED))
        else:
            self._set(replace(now, state=DownloadState.PAUSING))

    @Slot(Download)
    def _resume(self, download: Download) -> None:
        self._download(download.file)

    @Slot(Download)
    def _ask_discard(self, download: Download) -> None:
        if download.num_bytes:
            ask_discard(download, self._dialog, partial(self._discard, download))
        else:
            self._discard(download)

    def _discard(self, download: Download) -> None:
        self._bridge.post(DiscardDownload(download.file))
        self._forget(download)

    @Slot(Download)
    def _use(self, download: Download) -> None:
        if download.path is not None:
            self._forget(download)
            self.use_requested.emit(download.path)

    @Slot(Download)
    def _forget(self, download: Download) -> None:
        self._downloads.pop(download.file, None)
        self._under_way.pop(download.file, None)
        self._show()

    @Slot()
    def _list_downloads(self) -> None:
        if not self._has_listed:
            self._has_listed = True
            self._bridge.post(ListDownloads())

    # What the engine tells

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        match event:
            case HubSearched(words, models):
                if self._sought is not None and self._sought.words == words:
                    self._page.show_models(models, words)
            case HubFilesListed(repository, files):
                if repository == self._repository:
                    memory = psutil.virtual_memory().total
                    self._page.show_files(advise(files, memory, _free_disk(self._folder)))
            case TargetDownloading(file, num_bytes, bytes_per_s):
                self._on_progress(file, num_bytes, bytes_per_s)
            case TargetDownloaded(file, path):
                self._on_downloaded(file, path)
            case DownloadsListed(downloads):
                self._on_listed(downloads)
            case Failed(sentence, SearchHub() as command):
                if command is self._sought:
                    self._page.show_search_failed(sentence)
            case Failed(sentence, ListHubFiles(repository)):
                if repository == self._repository:
                    self._page.show_files_failed(sentence)
            case Failed(sentence, DownloadTarget() as command):
                self._on_download_failed(command, sentence)
            case Failed(sentence, DiscardDownload() | ListDownloads() as command):
                self._has_listed = self._has_listed and not isinstance(command, ListDownloads)
                self._dialog.show_words(sentence)

    def _on_progress(self, file: HubFile, num_bytes: int, bytes_per_s: float) -> None:
        before = self._downloads.get(file)
        if before is None:  # it was discarded
            return
        state = before.state if before.state is DownloadState.PAUSING else DownloadState.RUNNING
        self._set(Download(file, state, num_bytes, bytes_per_s))

    def _on_downloaded(self, file: HubFile, path: Path) -> None:
        self._under_way.pop(file, None)
        download = Download(file, DownloadState.FINISHED, file.size_bytes, path=path)
        self._set(download)
        if not self._dialog.isVisible():
            words = self.tr("{file} is downloaded and in the library.").format(file=file.name)
            self._window.toasts.show_info(words, self.tr("Use it now"), partial(self._use, download))

    def _on_listed(self, downloads: tuple[tuple[HubFile, int], ...]) -> None:
        """Those that wait to go on; what is under way here is known better."""
        waiting = dict(downloads)
        for file, known in list(self._downloads.items()):
            if known.state is DownloadState.PAUSED and known.num_bytes and file not in waiting:
                del self._downloads[file]  # it was discarded
        for file, num_bytes in waiting.items():
            self._downloads.setdefault(file, Download(file, DownloadState.PAUSED, num_bytes))
        self._show()

    def _on_download_failed(self, command: DownloadTarget, sentence: str) -> None:
        """Also where it was paused."""
        posted, stop = self._under_way.get(command.file, (None, None))
        if posted is not command or stop is None:  # an earlier try, which is told of already
            return
        del self._under_way[command.file]
        before = replace(self._downloads[command.file], bytes_per_s=0.0)
        if stop.is_set():
            self._set(replace(before, state=DownloadState.PAUSED))
            return
        self._set(replace(before, state=DownloadState.FAILED, problem=sentence))
        if not self._dialog.isVisible():
            self._window.toasts.show_error(sentence)

    # Helpers

    def _set(self, download: Download) -> None:
        self._downloads[download.file] = download
        self._show()

    def _show(self) -> None:
        self._page.downloads.show_downloads(tuple(self._downloads.values()))
        self._page.set_busy_files(
            frozenset(
                file
                for file, download in self._downloads.items()
                if download.state in _UNDER_WAY or download.state is DownloadState.FINISHED
            )
        )


def _free_disk(folder: Path) -> int:
    """Bytes, where the folder is or is going to be."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free
