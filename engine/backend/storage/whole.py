"""Everything that was learned: read for a profile, merged with one, measured. The repository opens the transactions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, Connection, Select, func, literal_column, select, union_all
from sqlalchemy.dialects.sqlite import insert

from engine.backend.storage import adapters, lessons, ngrams, recall, scores
from engine.backend.storage.columns import read_time
from engine.backend.storage.connections import raw_rows
from engine.backend.storage.history import read_models, read_statistics
from engine.backend.storage.schema import Base, Holds, ImportedNameRow, VocabularyPairRow, VocabularyRow, rows_holding
from engine.values.learned import AdapterRecord, FingerprintPair, ImportOutcome, Learned, LearnedSummary, RecallText

_SINCE = """
SELECT fingerprint, min(since) FROM (
    SELECT target_fingerprint AS fingerprint, created_at AS since FROM adapters
    UNION ALL
    SELECT fingerprint, messages.created_at FROM lessons
    JOIN vocabularies ON vocabularies.id = vocabulary_id JOIN messages ON messages.id = message_id
) GROUP BY fingerprint
"""
_MOST_NAMES = 20  # of a vocabulary: those that were used last

# A target of the library has one name, whatever its copies are called; one that left it is known from its lessons.
_USED = """
SELECT vocabulary, name, last_used_at FROM targets
JOIN target_files ON target_files.id = (SELECT min(id) FROM target_files WHERE target_id = targets.id)
WHERE vocabulary <> '' AND typeof(vocabulary) = 'text'
UNION ALL
SELECT fingerprint, target_name, max(messages.created_at) FROM lessons
JOIN vocabularies ON vocabularies.id = vocabulary_id JOIN messages ON messages.id = lessons.message_id
WHERE typeof(target_name) = 'text' GROUP BY fingerprint, target_name
ORDER BY 3 DESC, 2
"""
_IMPORTED = """
SELECT fingerprint, name FROM imported_names JOIN vocabularies ON vocabularies.id = vocabulary_id
WHERE typeof(name) = 'text' ORDER BY name
"""
_OF_CHATS = "SELECT DISTINCT fingerprint FROM recall JOIN vocabularies ON vocabularies.id = vocabulary_id"


def read_all(connection: Connection, recall_tokens: int) -> Learned:
    """Reads at most `recall_tokens` of recall for each vocabulary."""
    ngrams_of = {pair: ngrams.read_ngrams(connection, pair) for pair in ngrams.count_ngrams(connection)}
    adapters_of = {pair: adapters.read_adapters(connection, pair) for pair in adapters.read_pairs(connection)}
    texts_of = {
        vocabulary: _texts(recall.read_recall(connection, vocabulary, recall_tokens, None))
        for vocabulary in recall.read_sizes(connection)
    }
    return Learned(
        ngrams={pair: found for pair, found in ngrams_of.items() if found},
        adapters={pair: found for pair, found in adapters_of.items() if found},
        recall={vocabulary: found for vocabulary, found in texts_of.items() if found},
        statistics=read_statistics(connection),
        target_names=read_target_names(connection),
    )


def summarize(connection: Connection) -> LearnedSummary:
    target_names = read_target_names(connection)
    models, statistics = read_models(connection, datetime.now().astimezone().date(), target_names)
    return LearnedSummary(
        ngrams=ngrams.count_ngrams(connection),
        adapters={
            pair: tuple(found)
            for pair in adapters.read_pairs(connection)
            if (found := adapters.read_summaries(connection, pair))
        },
        recall=recall.read_sizes(connection),
        lessons=lessons.count_lessons(connection),
        target_names=target_names,
        used_here=_read_used_here(connection),
        statistics=statistics,
        models=models,
        num_bytes=_read_sizes(connection),
        since=_read_since(connection),
        self_distilled=lessons.count_self_distilled(connection),
        self_distilled_read=lessons.count_read(connection),
        benefits=scores.read_benefits(connection),
        scored=scores.count_scores(connection),
    )


def add_all(connection: Connection, learned: Learned) -> ImportOutcome:
    """Merges a profile into the store; a second time changes nothing. Its statistics are left out: they are about
    replies in another store."""
    num_ngrams = num_adapters = num_published = num_texts = 0
    for pair, imported in learned.ngrams.items():
        changed = ngrams.changes_by(imported, ngrams.read_ngrams(connection, pair))
        if changed:
            ngrams.write_ngrams(connection, pair, changed)
        num_ngrams += len(changed)
    for pair, found in learned.adapters.items():
        added, published = _add_adapters(connection, pair, found)
        num_adapters += added
        num_published += published
    for vocabulary, texts in learned.recall.items():
        num_texts += recall.add_imported(connection, vocabulary, texts)
    known = read_target_names(connection)
    for vocabulary, called in learned.target_names.items():
        if vocabulary not in known:
            _add_imported_names(connection, vocabulary, called)
    return ImportOutcome(num_ngrams, num_adapters, num_published, num_texts)


def _read_sizes(connection: Connection) -> dict[str, int]:
    """Roughly how many bytes everything takes that was learned for a target's vocabulary, by its fingerprint."""
    sizes: dict[str, int] = defaultdict(int)
    measured = union_all(*(_sizes_in(row) for row in rows_holding(Holds.LEARNED) if row.num_bytes))
    for fingerprint, num_bytes in connection.execute(measured):
        sizes[fingerprint] += int(num_bytes or 0)
    return dict(sizes)


def _sizes_in(row: type[Base]) -> Select[str, int]:
    columns = row.__table__.columns
    num_bytes: ColumnElement[int] = func.sum(literal_column(row.num_bytes or "0"))
    if "target_fingerprint" in columns:
        return select(columns.target_fingerprint, num_bytes).group_by(columns.target_fingerprint)
    is_pair = "pair_id" in columns
    fingerprint = VocabularyPairRow.target_fingerprint if is_pair else VocabularyRow.fingerprint
    return select(fingerprint, num_bytes).join_from(row, fingerprint.class_).group_by(fingerprint)


def _read_since(connection: Connection) -> dict[str, datetime]:
    """The time of the oldest lesson or adapter in a target's vocabulary, by its fingerprint."""
    moments = {
        fingerprint: read_time(since) if isinstance(since, str) else None
        for fingerprint, since in connection.exec_driver_sql(_SINCE)
    }
    return {fingerprint: since for fingerprint, since in moments.items() if since is not None}


def _texts(found: tuple[RecallText, ...]) -> tuple[npt.NDArray[np.int32], ...]:
    """Leaves out empty and damaged ones."""
    return tuple(text.tokens for text in found if len(text.tokens) and int(text.tokens.min()) >= 0)


def _add_adapters(connection: Connection, pair: FingerprintPair, imported: Sequence[AdapterRecord]) -> tuple[int, bool]:
    """How many were new, and whether one of them is in use now: only if none was, because the store's own adapter was
    judged by its user's chats."""
    numbers = adapters.read_digests(connection, pair)
    num_known = len(numbers)
    chosen = None
    for adapter in imported:
        digest = adapters.digest_of(adapter.weights)
        if digest not in numbers:
            new = replace(adapter, is_published=False)
            numbers[digest] = adapters.write_adapter(connection, pair, new, adapter.weights).number
        if adapter.is_published:
            chosen = numbers[digest]
        del adapter  # before the next one is read: it may take much memory
    publishes = chosen is not None and adapters.published_number(connection, pair) is None
    if publishes:
        adapters.publish(connection, pair, chosen)
    return len(numbers) - num_known, publishes


def read_target_names(connection: Connection) -> dict[str, tuple[str, ...]]:
    """Names of targets by vocabulary: those used here, last used first; if none was, those in a profile."""
    used = _by_vocabulary(connection, _USED)
    return _by_vocabulary(connection, _IMPORTED) | used


def _read_used_here(connection: Connection) -> frozenset[str]:
    """The vocabularies of targets that read or wrote chats here, or are in the library and were loaded."""
    return frozenset(_by_vocabulary(connection, _USED)) | {name for (name,) in raw_rows(connection, _OF_CHATS)}


def _add_imported_names(connection: Connection, fingerprint: str, names: Sequence[str]) -> None:
    vocabulary_id = recall.id_of(connection, VocabularyRow, fingerprint=fingerprint)
    rows = [{"vocabulary_id": vocabulary_id, "name": name} for name in names]
    if rows:
        connection.execute(insert(ImportedNameRow).on_conflict_do_nothing(), rows)


def _by_vocabulary(connection: Connection, statement: str) -> dict[str, tuple[str, ...]]:
    names: dict[str, dict[str, None]] = defaultdict(dict)
    for fingerprint, name, *_ in raw_rows(connection, statement):
        names[fingerprint][name] = None
    return {fingerprint: tuple(found)[:_MOST_NAMES] for fingerprint, found in names.items()}
