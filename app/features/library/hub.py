"""Finds models on the hub, and downloads them; points users to it who have only the starter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from PySide6.QtCore import QObject, Signal, Slot

from app.engine_bridge import EngineBridge, Request
from app.features.controller import Controller, free_disk
from app.features.library.library_dialog import LibraryDialog
from app.features.library.questions import ask_discard
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from app.text.drafters import sibling_words
from app.text.hub_files import Download, DownloadState, advise
from app.text.suggestions import rank
from engine import sibling_beside
from engine.values.events import ReplyFinished, ServersListed, TargetReady, TargetsListed
from engine.values.requests import Failure
from engine.values.targets import Downloaded, Downloading, HubFile, HubFiles, Suggestion

SUBJECT = "models"  # of the notice
_UNDER_WAY = (DownloadState.WAITING, DownloadState.RUNNING, DownloadState.PAUSING)
_BUSY = (*_UNDER_WAY, DownloadState.FINISHED)


class HubController(Controller):
    """Decides what the page of the hub shows, and knows all downloads. Uses the network only if the user asks."""

    use_requested = Signal(str)  # the model with this reference is to be used

    def __init__(self, window: MainWindow, dialog: LibraryDialog, bridge: EngineBridge, folder: Path) -> None:
        """`folder` is on the disk where models are stored."""
        super().__init__(window, bridge)
        self._dialog = dialog
        self._page = dialog.hub
        self._folder = folder
        self._engine = bridge.engine
        self._for_page: Request[Any] | None = None  # whose answer is shown, or awaited
        self._downloads: dict[HubFile, Download] = {}
        self._under_way: dict[HubFile, Request[Downloaded]] = {}  # of the downloads
        self._suggestions: tuple[Suggestion, ...] = ()
        self._found: dict[HubFile, HubFile | None] = {}  # what the hub has in place of suggested files
        self._page.search_requested.connect(self._search)
        self._page.files_requested.connect(self._list_files)
        self._page.download_requested.connect(self._download)
        self._page.check_requested.connect(self._check)
        panel = self._page.downloads
        panel.pause_requested.connect(self._pause)
        panel.resume_requested.connect(lambda download: self._download(download.file))
        panel.discard_requested.connect(self._ask_discard)
        panel.use_requested.connect(self._use)
        panel.dismissed.connect(self._forget)
        dialog.opened.connect(self._list)
        bridge.listen(TargetReady, self._on_ready)

    # What the user wants

    @Slot(str)
    def _search(self, words: str) -> None:
        request = self._bridge.ask(self._engine.hub.search, words)
        request.answered.connect(partial(self._page.show_models, sought=words))
        request.failed.connect(lambda failure: self._page.show_search_failed(failure.sentence))
        self._replace(request)
        self._page.show_searching()

    @Slot(str)
    def _list_files(self, repository: str) -> None:
        request = self._bridge.ask(self._engine.hub.files, repository)
        request.answered.connect(self._show_files)
        request.failed.connect(lambda failure: self._page.show_files_failed(failure.sentence))
        self._replace(request)
        self._page.show_asking(repository)

    def _replace(self, request: Request[Any]) -> None:
        """Drops the previous request: the page shows one answer at a time."""
        if self._for_page is not None:
            self._for_page.drop()
        self._for_page = request

    @Slot(HubFile)
    def _download(self, file: HubFile) -> None:
        before = self._downloads.get(file, Download(file, DownloadState.PAUSED, 0))
        if before.state in _UNDER_WAY:
            return
        request = self._under_way[file] = self._bridge.ask(self._engine.models.fetch, file)
        request.outlasts_window = True
        self._follow(request)
        self._set(Download(file, DownloadState.WAITING, before.num_bytes))

    def _follow(self, request: Request[Downloaded]) -> None:
        """Connects methods of this object, so that nothing is called when another window has taken its place."""
        request.progressed.connect(self._on_progress)
        request.answered.connect(self._on_downloaded)
        request.failed.connect(self._on_download_failed)

    @Slot(Download)
    def _pause(self, download: Download) -> None:
        request = self._under_way.get(download.file)
        if request is None:
            return
        state = DownloadState.PAUSING
        if self._downloads[download.file].state is DownloadState.WAITING:  # the request ends only when its turn comes
            del self._under_way[download.file]
            request.drop()
            state = DownloadState.PAUSED
        request.stop()
        self._set(replace(self._downloads[download.file], state=state))

    @Slot(Download)
    def _ask_discard(self, download: Download) -> None:
        if download.num_bytes:
            ask_discard(download, self._dialog, partial(self._discard, download))
        else:
            self._discard(download)

    def _discard(self, download: Download) -> None:
        request = self._bridge.ask(self._engine.downloads.discard, download.file)
        request.failed.connect(self._show_failure)
        self._forget(download)

    @Slot(Download)
    def _use(self, download: Download) -> None:
        if download.path is not None:
            self._forget(download)
            self.use_requested.emit(str(download.path))

    @Slot(Download)
    def _forget(self, download: Download) -> None:
        self._downloads.pop(download.file, None)
        if (request := self._under_way.pop(download.file, None)) is not None:
            request.drop()
        self._show()

    @Slot()
    def _check(self) -> None:
        self._page.suggestions.show_state(self.tr("Asking…"), can_check=False)
        request = self._bridge.ask(self._engine.hub.check_suggestions)
        request.answered.connect(self._on_checked)
        request.failed.connect(lambda failure: self._page.suggestions.show_state(failure.sentence, can_retry=True))

    @Slot()
    def _list(self) -> None:
        self._list_suggestions()
        downloads = self._bridge.ask(self._engine.downloads.list)
        downloads.answered.connect(self._on_listed)
        downloads.failed.connect(self._show_failure)

    def _list_suggestions(self) -> None:
        request = self._bridge.ask(self._engine.library.suggestions)
        request.answered.connect(self._on_suggested)
        request.failed.connect(lambda failure: self._page.suggestions.show_state(failure.sentence))

    # What the engine says

    def _on_ready(self, _event: TargetReady) -> None:
        if self._dialog.isVisible():  # it was measured: more is known of speeds
            self._list_suggestions()

    def _on_suggested(self, suggestions: tuple[Suggestion, ...]) -> None:
        self._suggestions = suggestions
        self._show_suggestions()

    def kept(self) -> tuple[dict[HubFile, Download], dict[HubFile, Request[Downloaded]]]:
        """Failed downloads wait to be resumed, as after a start: the reason is in words."""
        paused = DownloadState.PAUSED
        downloads = {
            file: replace(each, state=paused, problem="") if each.state is DownloadState.FAILED else each
            for file, each in self._downloads.items()
        }
        return downloads, self._under_way

    def resume(self, kept: tuple[dict[HubFile, Download], dict[HubFile, Request[Downloaded]]]) -> None:
        self._downloads, self._under_way = kept
        for request in self._under_way.values():
            self._follow(request)
        self._show()

    @Slot(object)
    def _on_progress(self, progress: Downloading) -> None:
        self._window.notices.dismiss(SUBJECT)
        file = self._file_of(self.sender())
        is_pausing = self._downloads[file].state is DownloadState.PAUSING
        state = DownloadState.PAUSING if is_pausing else DownloadState.RUNNING
        self._set(Download(file, state, progress.num_bytes, progress.bytes_per_s))

    @Slot(object)
    def _on_downloaded(self, downloaded: Downloaded) -> None:
        file = self._file_of(self.sender())
        del self._under_way[file]
        download = Download(file, DownloadState.FINISHED, file.download_bytes, path=downloaded.path)
        self._set(download)
        if downloaded.problem:
            self._dialog.show_words(downloaded.problem)
        if not self._dialog.isVisible():
            words = self.tr("{file} is downloaded and in the library.").format(file=file.name)
            if file.is_head:
                self._window.toasts.show_info(downloaded.problem)
            else:
                self._window.toasts.show_info(words, self.tr("Use it now"), partial(self._use, download))

    def _on_listed(self, downloads: tuple[tuple[HubFile, int], ...]) -> None:
        """Adds downloads that wait to be resumed. Those under way are left alone: more is known of them here."""
        waiting = dict(downloads)
        for file, known in list(self._downloads.items()):
            if known.state is DownloadState.PAUSED and known.num_bytes and file not in waiting:
                del self._downloads[file]  # it was discarded
        for file, num_bytes in waiting.items():
            self._downloads.setdefault(file, Download(file, DownloadState.PAUSED, num_bytes))
        self._show()

    def _show_files(self, found: HubFiles) -> None:
        self._page.show_files(advise(found.files, *self._room(), found.speeds))
        sibling = sibling_beside(found.files)
        self._page.show_hint("" if sibling is None else sibling_words(sibling.name, sibling.size_bytes))

    def _on_checked(self, found: Sequence[tuple[HubFile, HubFile | None]]) -> None:
        self._found = dict(found)
        self._page.suggestions.show_state(self.tr("The list was checked."))
        self._show_suggestions()

    @Slot(object)
    def _on_download_failed(self, failure: Failure) -> None:
        """Handles failed and paused downloads."""
        file = self._file_of(self.sender())
        del self._under_way[file]
        stopped = replace(self._downloads[file], state=DownloadState.PAUSED, bytes_per_s=0.0)
        if failure.is_stopped:
            self._set(stopped)
            return
        self._set(replace(stopped, state=DownloadState.FAILED, problem=failure.sentence))
        if not self._dialog.isVisible():
            self._window.toasts.show_error(failure.sentence)

    def _file_of(self, request: QObject) -> HubFile:
        return next(file for file, each in self._under_way.items() if each is request)

    @Slot(object)
    def _show_failure(self, failure: Failure) -> None:
        self._dialog.show_words(failure.sentence)

    # Helpers

    def _show_suggestions(self) -> None:
        if self._suggestions:
            self._page.suggestions.show_suggestions(rank(self._suggestions, *self._room(), self._found))

    def _room(self) -> tuple[int, int]:
        """All memory of this machine, and the free disk space, in bytes."""
        return psutil.virtual_memory().total, free_disk(self._folder)

    def _set(self, download: Download) -> None:
        self._downloads[download.file] = download
        self._show()

    def _show(self) -> None:
        downloads = tuple(self._downloads.values())
        self._page.downloads.show_downloads(downloads)
        self._page.set_busy_files(frozenset(download.file for download in downloads if download.state in _BUSY))


class Nudge(Controller):
    """Stays from the first reply on until there is another model, or the user has dismissed it: then for good. Before
    that, the welcome says the same."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, keeper: SettingsKeeper) -> None:
        super().__init__(window, bridge)
        self._keeper = keeper
        self._is_starter_alone = self._has_servers = False
        bridge.listen(TargetsListed, self._on_targets)
        bridge.listen(ServersListed, self._on_servers)
        bridge.listen(ReplyFinished, self._on_finished)

    def _on_targets(self, event: TargetsListed) -> None:
        self._is_starter_alone = bool(event.targets) and all(target.is_starter for target in event.targets)
        self._show()

    def _on_servers(self, event: ServersListed) -> None:
        self._has_servers = any(each.models for each in event.servers)
        self._show()

    def _on_finished(self, _event: ReplyFinished) -> None:
        self._show()

    def _show(self) -> None:
        settings, notices = self._keeper.settings, self._window.notices
        if not self._is_starter_alone or self._has_servers or settings.nudge_dismissed or not settings.has_chatted:
            notices.dismiss(SUBJECT)
        elif SUBJECT not in notices.shown:
            sentence = self.tr("Only the small starter model is installed. A bigger one answers far better.")
            find = self.tr("Find a model"), self._window.models_action.trigger
            notices.show_notice(SUBJECT, sentence, (find,)).closed.connect(self._on_dismissed)

    @Slot()
    def _on_dismissed(self) -> None:
        self._keeper.note(nudge_dismissed=True)
