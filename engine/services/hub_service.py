"""Carries out what is asked of the hub for the library: look for models, and bring one here."""

from __future__ import annotations

from pathlib import Path

from engine.hub.download import download_target
from engine.hub.kept import KeptDownloads
from engine.hub.search import list_files, search_models
from engine.messages.commands import DownloadCommand, ListHubFiles, SearchCommand, SearchHub
from engine.messages.events import HubFilesListed, HubSearched, Listener, TargetDownloaded
from engine.services.library_service import LibraryService
from engine.stop_signal import StopSignal


class SearchService:
    """Asks the hub; nothing is asked that nobody wanted to know."""

    def __init__(self, emit: Listener) -> None:
        self._emit = emit

    def handle(self, command: SearchCommand, stop: StopSignal) -> None:
        """One that is stopped before it begins has no answer: another one has been asked for."""
        if stop.is_set():
            return
        match command:
            case SearchHub(words):
                self._emit(HubSearched(words, search_models(words)))
            case ListHubFiles(repository):
                self._emit(HubFilesListed(repository, list_files(repository)))


class DownloadService:
    def __init__(self, kept: KeptDownloads, library: LibraryService, emit: Listener) -> None:
        self._kept = kept
        self._library = library
        self._emit = emit

    def handle(self, command: DownloadCommand, stop: StopSignal) -> Path:
        """Where the model is. Whoever shows downloads that wait hears of this one, however it ends."""
        try:
            path = download_target(command.file, self._kept, stop, self._emit)
        except BaseException:
            self._library.tell_downloads()
            raise
        self._library.take_in(path)
        self._emit(TargetDownloaded(command.file, path))
        self._library.tell_downloads()
        return path
