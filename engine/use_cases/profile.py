"""What is learned from chats, from the command line. What opens the store raises StoreUnusable."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from engine.config import EngineConfig
from engine.errors import AdapterUnusable
from engine.factory import open_repository
from engine.messages.learned import ImportOutcome, LearnedSummary
from engine.profile import transfer

summarize_profile = transfer.summarize_profile


def summarize_learned(config: EngineConfig) -> LearnedSummary:
    """How much is learned from chats."""
    with closing(open_repository(config)) as repository:
        return repository.summarize_learned()


def export_profile(config: EngineConfig, path: Path, with_recall: bool = False, overwrite: bool = False) -> None:
    """Writes what is learned into one file, whole or not at all. Texts to recall hold what the user typed, and are left
    out without `with_recall`. Raises FileUnusable where the file cannot be written."""
    with closing(open_repository(config)) as repository:
        transfer.export_profile(repository, path, with_recall, overwrite)


def import_profile(config: EngineConfig, path: Path, replace: bool = False) -> ImportOutcome:
    """Joins the contents of a profile with what is learned here, or replaces it; all or nothing. Raises FileUnusable
    unless the whole file is in order."""
    with closing(open_repository(config)) as repository:
        return transfer.import_profile(repository, path, replace)


def use_adapter(config: EngineConfig, number: int | None) -> None:
    """Puts an earlier adapter in use again; None: no drafter uses one. Raises AdapterUnusable."""
    with closing(open_repository(config)) as repository:
        found = False
        for pair, adapters in repository.summarize_learned().adapters.items():
            if number is None or any(adapter.number == number for adapter in adapters):
                repository.publish_adapter(*pair, number)
                found = True
        if number is not None and not found:
            raise AdapterUnusable(f"There is no adapter {number}; `slipstream profile show` lists those that are kept.")


def forget_learned(config: EngineConfig) -> None:
    """Removes what is learned for good; chats stay."""
    with closing(open_repository(config)) as repository:
        repository.forget_learned()
