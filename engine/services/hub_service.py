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
from engine.drafter.choice import downloaded_file, fetched_folder, hub_file, is_fetched
from engine.errors import Cancelled, FetchFailed
from engine.library.suggestions import read_suggestions
from engine.messages.commands import CheckForUpdate, DownloadTarget, FetchDrafter, HubCommand
from engine.messages.events import (
    DrafterFetched,
    DrafterFetching,
    Listener,
    TargetDownloaded,
    TargetDownloading,
    UpdateChecked,
)
from engine.messages.targets import HubFile, HubFiles, HubModel
from engine.requests import NEVER
from engine.stop_signal import StopSignal
from engine.target.downloads import models_folder

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
            case DownloadTarget(file):
                self.download(file, stop)
            case FetchDrafter(name):
                self._fetch(name, stop)
            case CheckForUpdate():
                from engine.hub.releases import newer_release

                self._emit(UpdateChecked(command, newer_release(update_url(), version("slipstream"), stop)))

    def search(self, words: str, stop: StopSignal = NEVER) -> tuple[HubModel, ...]:
        """The models that match, most downloaded first; without words the most downloaded of all. Raises FetchFailed,
        and Cancelled if a newer search has replaced it."""
        from engine.hub.search import search_models

        if stop.is_set():
            raise Cancelled("The search was replaced by another one.")
        return search_models(words)

    def files(self, repository: str) -> HubFiles:
        """Raises FetchFailed."""
        from engine.hub.search import list_files

        listed = list_files(repository)
        return HubFiles(listed, self._library().form_speeds(listed))

    def check_suggestions(self, stop: StopSignal = NEVER) -> tuple[tuple[HubFile, HubFile | None], ...]:
        """Each suggested file, and what the hub has in its place now. Raises FetchFailed."""
        from engine.hub.search import find_file

        suggested = [each.file for each in read_suggestions()]
        return tuple((file, find_file(file)) for file in suggested if not stop.is_set())

    def download(self, file: HubFile, stop: StopSignal) -> Path:
        """The path of the model, which comes with its projector. The list of unfinished downloads is emitted, however
        this one ends."""
        from engine.hub.download import download_target

        library, problems = self._library(), list[str]()
        try:
            path = download_target(file, self._downloads, stop, self._emit, problems.append)
        except BaseException:
            library.report_downloads()
            raise
        library.take_in(path)
        self._emit(TargetDownloaded(file, path, " ".join(problems)))
        library.report_downloads()
        return path

    def _fetch(self, name: str, stop: StopSignal) -> None:
        try:
            fetch_drafter(self._config, name, self._emit, stop, lambda path: self._library().take_in(path))
        finally:
            if hub_file(name) is not None:  # a file in the folder of models, which may be unfinished
                self._library().report_downloads()
        self._emit(DrafterFetched(name))


def fetch_drafter(
    config: EngineConfig,
    name: str,
    on_progress: Callable[[DrafterFetching], None],
    stop: StopSignal,
    take_in: Callable[[Path], None] = lambda _path: None,
) -> Path:
    """The folder of a drafter from the hub, or the file that `OWNER/NAME:FILE` names, which `take_in` puts into the
    library; uses no network if the drafter is already there.

    Raises FetchFailed, DrafterUnusable and Cancelled.
    """
    named = hub_file(name)
    if named is not None:
        path = downloaded_file(name, config.data_dir) or _fetch_file(config, name, *named, on_progress, stop)
        take_in(path)
        return path
    folder = fetched_folder(name, config.data_dir)
    if not is_fetched(folder):
        from engine.hub.drafters import fetch_drafter as fetch

        fetch(name, config.data_dir, stop, on_progress)
    return folder


def _fetch_file(
    config: EngineConfig,
    name: str,
    repository: str,
    file_name: str,
    on_progress: Callable[[DrafterFetching], None],
    stop: StopSignal,
) -> Path:
    from engine.hub.download import download_target
    from engine.hub.saved import SavedDownloads
    from engine.hub.search import list_files

    file = next((each for each in list_files(repository) if each.name == file_name), None)
    if file is None:
        raise FetchFailed(
            "{repository} has no model {file_name}; look at its files under “Find models”.",
            repository=repository,
            file_name=file_name,
        )

    def report(progress: TargetDownloading) -> None:
        on_progress(DrafterFetching(name, file_name, progress.num_bytes, file.size_bytes))

    return download_target(file, SavedDownloads(models_folder(config.data_dir)), stop, report)
