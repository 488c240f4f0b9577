"""Downloads models and drafters from the hub.

Functions import what connects to it: huggingface_hub takes half a second, for which a drafter that is already
downloaded need not wait.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.speculation.drafter.choice import downloaded_file, fetched_folder, hub_file, is_fetched
from engine.values.errors import FetchFailed
from engine.values.requests import NEVER, ignore
from engine.values.sentences import together
from engine.values.stop_signal import StopSignal
from engine.values.targets import Downloaded, Downloading, HubFile

if TYPE_CHECKING:
    from engine.backend.library.library_service import LibraryService
    from engine.backend.library.saved_downloads import SavedDownloads


@dataclass(frozen=True)
class ModelFetcher:
    """Downloads models into their folder, and adds them to the library."""

    _saved: SavedDownloads
    _library: Callable[[], LibraryService]

    def fetch(
        self, file: HubFile, stop: StopSignal = NEVER, progress: Callable[[Downloading], object] = ignore
    ) -> Downloaded:
        """Downloads a model with its projector and the drafter made for it. What is there when it is stopped stays, and
        the next call resumes. Raises FetchFailed and Cancelled."""
        from engine.backend.hub.download import download_target

        library, problems = self._library(), list[str]()
        path = download_target(file, self._saved, stop, progress, problems.append)
        library.take_in(path)
        if file.is_head:
            problems.append(library.problem_of(path))
        return Downloaded(path, together(*problems))


@dataclass(frozen=True)
class DrafterFetcher:
    """Downloads drafters."""

    _data_dir: Path
    _saved: SavedDownloads
    _library: Callable[[], LibraryService]

    def fetch(self, name: str, stop: StopSignal = NEVER, progress: Callable[[Downloading], object] = ignore) -> Path:
        """The folder of a drafter, or the file that `OWNER/NAME:FILE` names, which is in the library then. Uses no
        network if the drafter is there already; an interrupted download is resumed. Raises FetchFailed,
        DrafterUnusable and Cancelled."""
        named = hub_file(name)
        if named is not None:
            path = downloaded_file(name, self._data_dir) or self._fetch_file(*named, stop, progress)
            self._library().take_in(path)
            return path
        folder = fetched_folder(name, self._data_dir)
        if not is_fetched(folder):
            from engine.backend.hub.drafters import fetch_drafter

            fetch_drafter(name, self._data_dir, stop, progress)
        return folder

    def _fetch_file(
        self, repository: str, file_name: str, stop: StopSignal, progress: Callable[[Downloading], object]
    ) -> Path:
        from engine.backend.hub.download import download_target
        from engine.backend.hub.search import list_files

        file = next((each for each in list_files(repository) if each.name == file_name), None)
        if file is None:
            raise FetchFailed(
                "{repository} has no model {file_name}; look at its files under “Find models”.",
                repository=repository,
                file_name=file_name,
            )
        return download_target(file, self._saved, stop, progress)
