"""Carries out what needs a network: searching the hub, downloading from it, and looking for a new version.

Functions import what connects to it: huggingface_hub takes half a second, for which neither a drafter that is already
downloaded nor the check for updates need wait.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from engine.config import EngineConfig, update_url
from engine.drafter.choice import fetched_folder, is_fetched
from engine.messages.commands import CheckForUpdate, DownloadTarget, FetchDrafter, HubCommand, ListHubFiles, SearchHub
from engine.messages.events import (
    DrafterFetched,
    DrafterFetching,
    HubFilesListed,
    HubSearched,
    Listener,
    TargetDownloaded,
    UpdateChecked,
)
from engine.messages.targets import HubFile
from engine.stop_signal import StopSignal

if TYPE_CHECKING:
    from engine.hub.saved import SavedDownloads
    from engine.services.library_service import LibraryService


@dataclass(frozen=True)
class HubService:
    """Three threads call it: one searches, one downloads targets, one downloads drafters."""

    _config: EngineConfig
    _downloads: SavedDownloads
    _library: Callable[[], LibraryService]
    _emit: Listener

    def handle(self, command: HubCommand, stop: StopSignal) -> None:
        match command:
            case SearchHub() | ListHubFiles():
                if not stop.is_set():  # otherwise a newer search replaces it
                    self._search(command)
            case DownloadTarget(file):
                self.download(file, stop)
            case FetchDrafter(name):
                fetch_drafter(self._config, name, self._emit, stop)
                self._emit(DrafterFetched(name))
            case CheckForUpdate():
                from engine.hub.releases import newer_release

                self._emit(UpdateChecked(command, newer_release(update_url(), version("slipstream"), stop)))

    def download(self, file: HubFile, stop: StopSignal) -> Path:
        """The path of the model. The list of unfinished downloads is emitted, however this one ends."""
        from engine.hub.download import download_target

        library = self._library()
        try:
            path = download_target(file, self._downloads, stop, self._emit)
        except BaseException:
            library.report_downloads()
            raise
        library.take_in(path)
        self._emit(TargetDownloaded(file, path))
        library.report_downloads()
        return path

    def _search(self, command: SearchHub | ListHubFiles) -> None:
        from engine.hub.search import list_files, search_models

        if isinstance(command, SearchHub):
            self._emit(HubSearched(command.words, search_models(command.words)))
        else:
            self._emit(HubFilesListed(command.repository, list_files(command.repository)))


def fetch_drafter(
    config: EngineConfig, name: str, on_progress: Callable[[DrafterFetching], None], stop: StopSignal
) -> Path:
    """The folder of a drafter from the hub; uses no network if the drafter is already there.

    Raises FetchFailed, DrafterUnusable and Cancelled.
    """
    folder = fetched_folder(name, config.data_dir)
    if not is_fetched(folder):
        from engine.hub.drafters import fetch_drafter as fetch

        fetch(name, config.data_dir, stop, on_progress)
    return folder
