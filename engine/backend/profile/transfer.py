"""Exports what a store has learned into a profile, shows what one holds, and imports it."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from engine.backend.profile.archive import read_archive, write_archive
from engine.backend.profile.contents import Contents, from_members, to_members
from engine.backend.storage import Repository
from engine.values.learned import (
    AdapterRecord,
    AdapterSummary,
    ImportOutcome,
    Learned,
    LearnedSummary,
    ProfileSummary,
    RecallSize,
)

_RECALL_TOKENS = 4_000_000  # of every vocabulary: more than recall holds at once


def export_profile(repository: Repository, path: Path, with_recall: bool = False, overwrite: bool = False) -> None:
    """Texts to recall hold what was typed, and are left out unless requested. Raises FileUnusable, and
    StoreUnusable."""
    learned = repository.load_learned(_RECALL_TOKENS if with_recall else 0)
    contents = Contents(datetime.now(UTC), version("slipstream"), learned)
    write_archive(path, to_members(contents), overwrite)


def read_profile(path: Path) -> Contents:
    """Raises FileUnusable unless all of it is in order."""
    return from_members(path, read_archive(path))


def summarize_profile(path: Path) -> ProfileSummary:
    """Raises what `read_profile` raises."""
    contents = read_profile(path)
    return ProfileSummary(contents.created_at, contents.program, summarize(contents.learned))


def import_profile(repository: Repository, path: Path, replace: bool = False) -> ImportOutcome:
    """All or nothing; see `Repository.add_learned`. Raises what `read_profile` raises, and StoreUnusable."""
    return repository.add_learned(read_profile(path).learned, replace)


def summarize(learned: Learned) -> LearnedSummary:
    return LearnedSummary(
        ngrams={pair: len(records) for pair, records in learned.ngrams.items()},
        adapters={
            pair: tuple(_without_weights(record) for record in reversed(records))
            for pair, records in learned.adapters.items()
        },
        recall={
            vocabulary: RecallSize(len(texts), sum(map(len, texts))) for vocabulary, texts in learned.recall.items()
        },
        lessons={},
        target_names=learned.target_names,
        statistics=learned.statistics,
    )


def _without_weights(record: AdapterRecord) -> AdapterSummary:
    return AdapterSummary(**{field.name: getattr(record, field.name) for field in fields(AdapterSummary)})
