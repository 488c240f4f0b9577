"""Asks the network: searches the hub, and looks for a new version.

Functions import what connects to it: huggingface_hub takes half a second, for which the check for updates need not
wait.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from engine.backend.library.suggestions import read_suggestions
from engine.values.places import update_url
from engine.values.requests import NEVER
from engine.values.stop_signal import StopSignal
from engine.values.targets import HubFile, HubFiles, HubModel, Release

if TYPE_CHECKING:
    from engine.backend.library.library_service import LibraryService


@dataclass(frozen=True)
class HubService:
    """Asks the hub, and the site of this build. Downloads nothing."""

    _library: Callable[[], LibraryService]

    def search(self, words: str) -> tuple[HubModel, ...]:
        """The models that match, most downloaded first; without words the most downloaded of all. Raises
        FetchFailed."""
        from engine.backend.hub.search import search_models

        return search_models(words)

    def files(self, repository: str) -> HubFiles:
        """Raises FetchFailed."""
        from engine.backend.hub.search import list_files

        listed = list_files(repository)
        return HubFiles(listed, self._library().quantization_speeds(listed))

    def check_suggestions(self, stop: StopSignal = NEVER) -> tuple[tuple[HubFile, HubFile | None], ...]:
        """Each suggested file, and what the hub has in its place now. Raises FetchFailed."""
        from engine.backend.hub.search import find_file

        suggested = [each.file for each in read_suggestions()]
        return tuple((file, find_file(file)) for file in suggested if not stop.is_set())

    def newer_release(self, stop: StopSignal = NEVER) -> Release | None:
        """The newest version on the site of this build; None if this is it. Raises FetchFailed."""
        from engine.backend.hub.releases import newer_release

        return newer_release(update_url(), version("slipstream"), stop)
