"""The library and everything that was learned, from the command line. What opens the store raises StoreUnusable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from engine.backend.hub.fetcher import DrafterFetcher, ModelFetcher
from engine.backend.library.library_service import LibraryService
from engine.backend.library.tuning.tuning_service import TuningService
from engine.backend.profile import transfer
from engine.backend.quiet import Quiet
from engine.opening import make_library, make_tuning, open_repository, saved_downloads
from engine.values.config import EngineConfig
from engine.values.errors import AdapterUnusable
from engine.values.events import Listener
from engine.values.learned import ImportOutcome, LearnedSummary
from engine.values.stop_signal import StopSignal
from engine.values.targets import Downloaded, Downloading, HubFile

summarize_profile = transfer.summarize_profile


@contextmanager
def open_library(config: EngineConfig, emit: Listener = lambda _event: None) -> Iterator[LibraryService]:
    with closing(open_repository(config)) as repository:
        yield make_library(config, repository, emit)


@contextmanager
def open_tuning(config: EngineConfig) -> Iterator[TuningService]:
    """Opens it where no replies are written."""
    with open_library(config) as library, closing(open_repository(config)) as repository:
        yield make_tuning(config, repository, lambda: library, Quiet())


def fetch_model(
    config: EngineConfig, file: HubFile, stop: StopSignal, progress: Callable[[Downloading], object]
) -> Downloaded:
    """Fetches as `ModelFetcher.fetch` does."""
    with open_library(config) as library:
        return ModelFetcher(saved_downloads(config), lambda: library).fetch(file, stop, progress)


def fetch_drafter(config: EngineConfig, name: str, stop: StopSignal, progress: Callable[[Downloading], object]) -> None:
    """Fetches as `DrafterFetcher.fetch` does; opens the library only if the drafter belongs there."""
    with ExitStack() as opened:
        fetcher = DrafterFetcher(
            config.data_dir, saved_downloads(config), lambda: opened.enter_context(open_library(config))
        )
        fetcher.fetch(name, stop, progress)


def summarize_learned(config: EngineConfig) -> LearnedSummary:
    """How much was learned from chats."""
    with closing(open_repository(config)) as repository:
        return repository.summarize_learned()


def export_profile(config: EngineConfig, path: Path, with_recall: bool = False, overwrite: bool = False) -> None:
    """Writes everything that was learned into one file, all or nothing; texts to recall, which contain what the user
    typed, only `with_recall`. Raises FileUnusable if the file cannot be written."""
    with closing(open_repository(config)) as repository:
        transfer.export_profile(repository, path, with_recall, overwrite)


def import_profile(config: EngineConfig, path: Path, replace: bool = False) -> ImportOutcome:
    """Merges a profile with what was learned here, or replaces that; all or nothing. Raises FileUnusable unless the
    whole file is valid."""
    with closing(open_repository(config)) as repository:
        outcome = transfer.import_profile(repository, path, replace)
        repository.finish_erasure()
        return outcome


def use_adapter(config: EngineConfig, number: int | None) -> None:
    """Publishes an earlier adapter again; None: all drafters do without one. Raises AdapterUnusable."""
    with closing(open_repository(config)) as repository:
        found = False
        for pair, adapters in repository.summarize_learned().adapters.items():
            if number is None or any(adapter.number == number for adapter in adapters):
                repository.publish_adapter(*pair, number)
                found = True
        if number is not None and not found:
            raise AdapterUnusable(
                f"There is no snapshot {number}; `slipstream profile show` lists those that are kept."
            )


def forget_learned(config: EngineConfig) -> tuple[str, ...]:
    """Removes everything that was learned, for good; chats stay. Returns sentences about what is not erased from the
    files yet; the app does that when it is open."""
    with closing(open_repository(config)) as repository:
        repository.forget_learned()
        return repository.finish_erasure() or ()
