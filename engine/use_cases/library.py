"""The library of targets from the command line. Functions that ask the hub import it themselves: huggingface_hub takes
half a second, for which listing the library need not wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from engine.config import EngineConfig
from engine.factory import kept_downloads, make_library, open_repository
from engine.messages.events import Listener
from engine.messages.targets import HubFile
from engine.services.hub_service import HubService
from engine.services.library_service import LibraryService
from engine.stop_signal import StopSignal


@contextmanager
def open_library(config: EngineConfig, emit: Listener = lambda _event: None) -> Iterator[LibraryService]:
    """Raises StoreUnusable."""
    with closing(open_repository(config)) as repository:
        yield make_library(config, repository, emit)


def list_hub_files(repository: str) -> tuple[HubFile, ...]:
    """The models in a repository of the hub, smallest first. Raises FetchFailed."""
    from engine.hub.search import list_files

    return list_files(repository)


def download_target(config: EngineConfig, file: HubFile, emit: Listener, stop: StopSignal) -> Path:
    """Downloads a model and adds it to the library. Raises FetchFailed, Cancelled and StoreUnusable."""
    with open_library(config, emit) as library:
        return HubService(config, kept_downloads(config), lambda: library, emit).download(file, stop)
